package file

import (
	"encoding/json"
	"slices"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// format is what files hold.
type format struct {
	suits func(name string) bool // in a directory
	most  int64                  // size
	// decode gives what the file holds, or what is wrong with it as a whole.
	decode func(path string, data []byte) (d *decoded, broken []calico.Problem)
}

var resourceFormat = format{suits: isResourceFile, most: maxSize,
	decode: func(path string, data []byte) (*decoded, []calico.Problem) {
		objects, problems := calico.Decode(path, data)
		var broken []calico.Problem
		for _, p := range problems {
			if p.Rule == calico.RuleSyntax {
				broken = append(broken, p)
			}
		}
		return &decoded{objects: objects, problems: slices.Clip(problems)}, broken
	}}

var statusFormat = format{suits: anyFile, most: maxStatusSize,
	decode: func(path string, data []byte) (*decoded, []calico.Problem) {
		w, problems := calico.DecodeEndpointStatus(path, data)
		if !json.Valid(data) {
			return nil, problems
		}
		d := &decoded{problems: problems}
		if w != nil {
			d.workloads = append(d.workloads, *w)
		}
		return d, nil
	}}
