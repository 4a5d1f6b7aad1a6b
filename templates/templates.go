// Package templates embeds the built-in template sets, one directory each.
package templates

import "embed"

// FS holds bird1, for BIRD 1.6: two daemons, bird and bird6, with three files each; and
// bird2, for BIRD 2 and 3: one daemon.
//
//go:embed bird1 bird2
var FS embed.FS
