package confd

import (
	"maps"
	"slices"
	"strings"
)

// FunctionNames lists the functions that templates can call, besides text/template's own.
func FunctionNames() []string {
	names := slices.Collect(maps.Keys(functions(&run{})))
	return slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, "birdconfd_") })
}
