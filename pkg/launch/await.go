// Package launch decides when BIRD can be started, and whether it is to preserve the routes
// that the kernel has. In go the names of files and of BIRD's program; out come decisions,
// with their reasons in words for people. It starts nothing and writes nothing.
package launch

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
)

// Set is the set of files that BIRD is to be started with.
type Set struct {
	// Config is the main file, an absolute path.
	Config string
	// StateDir is where birdconfd keeps its records; see apply.Target.StateDir.
	StateDir string
}

// lookEvery is how often files are looked at that are not current yet.
const lookEvery = 100 * time.Millisecond

// Await waits until the set is current (see apply.Inspect), and tells each reason why it is
// not. When it is not within limit, it makes do with a complete set, and tells so; without
// one that is an error. So is the end of the context.
func (s Set) Await(ctx context.Context, limit time.Duration, tell func(string)) error {
	over := time.NewTimer(limit)
	defer over.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for told := ""; ; {
		p, err := apply.Inspect(filepath.Dir(s.Config), s.StateDir, filepath.Base(s.Config))
		why := p.Why
		if err != nil {
			why = err.Error()
		} else if p.Current {
			return nil
		}
		if why != told {
			tell(fmt.Sprintf("waiting, for %s in all, for a current set of %s: %s", limit, s.Config, why))
			told = why
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-over.C:
			if err != nil || !p.Whole {
				return fmt.Errorf("there is no complete set of %s after %s: %s", s.Config, limit, why)
			}
			tell(fmt.Sprintf("warning: going on with an OLD set of %s, as none is current after %s: %s; BIRD may wait for peers that are gone", s.Config, limit, why))
			return nil
		}
	}
}
