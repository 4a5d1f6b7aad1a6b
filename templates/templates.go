// Package templates embeds the built-in template sets, one directory each, and in Shared what
// they have in common.
package templates

import "embed"

// FS holds bird1, for BIRD 1.6: two daemons, bird and bird6, with three files each; and
// bird2, for BIRD 2 and 3: one daemon.
//
//go:embed bird1 bird2 shared
var FS embed.FS

// Shared is the directory of the templates that belong to each set.
const Shared = "shared"
