// Package templates embeds the built-in template sets, one directory each.
package templates

import "embed"

// FS holds bird1, for BIRD 1.6: two daemons, bird and bird6, with three files each.
//
//go:embed bird1
var FS embed.FS
