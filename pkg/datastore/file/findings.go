package file

import (
	"errors"
	"io/fs"
	"time"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// findings are what was found once everything was settled.
type findings struct {
	cluster  *calico.Cluster // nil when nothing has changed
	problems []calico.Problem
	// missing are the problems that leave out what must not be left out of a first snapshot.
	missing []calico.Problem
	// connected tells that everything can be read, and stale that something newer than what
	// is in the cluster cannot be used.
	connected, stale bool
	lastError        string
	reads            int
}

// again are the same findings when nothing has changed.
func (f *findings) again() *findings {
	same := *f
	same.cluster = nil
	return &same
}

// find makes a snapshot of all that is in use.
func (r *reader) find(s *survey, now time.Time) *findings {
	f := &findings{connected: true, reads: r.reads}
	var objects []calico.Object
	var workloads []calico.WorkloadEndpoint
	for i, p := range s.places {
		r.findPlace(f, &p, r.isStatus(i))
		for _, path := range p.files {
			c, seen := r.contents[contentKey{path, r.isStatus(i)}], r.sights[path]
			if c == nil || seen == nil {
				continue // new, and not settled yet
			}
			patient := r.synced && now.Sub(seen.unsettled) <= endless*r.o.Quiet
			inUse := r.synced && c.good != nil
			f.trouble(c.trouble(path, seen, !patient && !seen.settled(now, r.o.Quiet), inUse), inUse)
			if c.good == nil {
				continue
			}
			objects = append(objects, c.good.objects...)
			workloads = append(workloads, c.good.workloads...)
			f.problems = append(f.problems, c.good.problems...)
		}
	}
	var problems []calico.Problem
	f.cluster, problems = calico.NewCluster(objects, workloads)
	f.problems = append(f.problems, problems...)
	calico.SortProblems(f.problems)
	return f
}

// findPlace adds what there is to say about a path itself.
func (r *reader) findPlace(f *findings, p *place, status bool) {
	known, wasKnown := r.known[p.path]
	switch {
	case p.err == nil && p.dir && !status:
		f.problems = append(f.problems, notRead(p.below)...)
		if len(p.files) == 0 {
			f.empty(noFiles(p.path), r.synced)
		}
	case p.err == nil || !p.dir && !status: // the file's content says what is wrong
	case wasKnown:
		problem := unreadable(p.path, p.err)
		problem.Message += stays(known.at)
		f.trouble([]calico.Problem{problem}, true)
	case !status || !errors.Is(p.err, fs.ErrNotExist):
		f.trouble([]calico.Problem{unreadable(p.path, p.err)}, false)
	case r.o.EndpointStatusMust:
		problem := problem(p.path, "there is no such directory")
		problem.Hint = "check --endpoint-status"
		f.trouble([]calico.Problem{problem}, false)
	case !r.o.EndpointStatusQuiet:
		f.problems = append(f.problems, noEndpointStatus(p.path))
	}
}

// empty adds the problem that a directory can be read but holds nothing, which is only
// believed of one that once did.
func (f *findings) empty(p calico.Problem, synced bool) {
	f.problems = append(f.problems, p)
	f.note(p)
	if !synced {
		f.missing = append(f.missing, p)
	}
}

// trouble adds problems because of which the newest content is not in use, and tells
// whether an older one is.
func (f *findings) trouble(problems []calico.Problem, inUse bool) {
	f.problems = append(f.problems, problems...)
	for _, p := range problems {
		if p.Rule == calico.RuleEndpointStatus && !inUse {
			continue // one workload is not a peer: as little can be wrong with one resource
		}
		f.note(p)
		f.stale = true
		f.connected = f.connected && p.Rule != calico.RuleUnreadable
		if !inUse {
			f.missing = append(f.missing, p)
		}
	}
}

func (f *findings) note(p calico.Problem) {
	if f.lastError == "" {
		f.lastError = p.Position.String() + ": " + p.Message
	}
}
