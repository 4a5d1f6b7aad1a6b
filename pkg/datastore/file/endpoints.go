package file

import (
	"errors"
	"io/fs"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// maxStatusSize is how much is read of one endpoint-status file.
const maxStatusSize = 1 << 20

// LoadEndpointStatus reads the endpoint-status files of a directory. A directory that
// does not exist is as good as an empty one, since the agent makes it when it has
// something to say, but it may also be a slip, hence the warning. What is hidden or in
// directories below does not count.
func LoadEndpointStatus(dir string) ([]calico.WorkloadEndpoint, []calico.Problem) {
	files, _, err := list(dir, anyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, []calico.Problem{noEndpointStatus(dir)}
	}
	if err != nil {
		return nil, []calico.Problem{unreadable(dir, err)}
	}
	var endpoints []calico.WorkloadEndpoint
	var problems []calico.Problem
	for _, f := range files {
		data, err := readAll(openFile(f.path), maxStatusSize)
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone since the directory was listed
		}
		if err != nil {
			problems = append(problems, unreadable(f.path, err))
			continue
		}
		w, found := calico.DecodeEndpointStatus(f.path, data)
		if w != nil {
			endpoints = append(endpoints, *w)
		}
		problems = append(problems, found...)
	}
	return endpoints, problems
}

func noEndpointStatus(dir string) calico.Problem {
	return calico.Problem{Severity: calico.Warning, Rule: calico.RuleEndpointStatus, Position: calico.Position{File: dir},
		Message: "there is no such directory, so no workload is a peer"}
}
