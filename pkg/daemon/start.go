package daemon

import (
	"slices"
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
)

// freshWait is how long a service manager is kept waiting for files that are made of the
// newest data, when there are those of an earlier run.
const freshWait = 10 * time.Second

// tellReady tells the service manager, once, that BIRD can be started: for each target a set
// is in place. If it takes too long, that of an earlier run will do.
func (l *loop) tellReady() {
	if !l.ready && !slices.ContainsFunc(l.targets, l.missing) {
		l.ready = true
		l.notifier.Ready()
	}
}

// missing tells that BIRD should not be started yet.
func (l *loop) missing(t *target) bool {
	if t.last != nil {
		return t.applied == "" && t.last.Outcome == apply.Rejected
	}
	return t.applied == "" || !t.withheld && t.held == nil && time.Since(l.started) < freshWait
}

// readyAt is when the service manager waits no longer; zero when it does not wait.
func (l *loop) readyAt() time.Time {
	if l.ready || time.Since(l.started) >= freshWait {
		return time.Time{}
	}
	return l.started.Add(freshWait)
}
