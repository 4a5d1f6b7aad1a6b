package daemon

import (
	"fmt"
	"slices"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// maxCauses is how many causes are named.
const maxCauses = 5

// causesOf says in which resources two snapshots differ.
func causesOf(old, now *calico.Cluster) []string {
	if old == nil {
		return []string{"first complete read"}
	}
	changes := calico.Changes(old, now)
	var out []string
	for _, c := range changes[:min(len(changes), maxCauses)] {
		out = append(out, fmt.Sprintf("%s %s", c.ID, c.What))
	}
	if more := len(changes) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return out
}

// mergeCauses puts the causes of two changes together, each once and not too many.
func mergeCauses(a, b []string) []string {
	out := slices.Clone(a)
	for _, c := range b {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	if len(out) > 2*maxCauses {
		out = append(out[:2*maxCauses], "and others")
	}
	return out
}
