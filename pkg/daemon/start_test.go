package daemon

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
)

// TestReadyWaitsForFreshFiles goes through what a service manager is kept waiting for.
func TestReadyWaitsForFreshFiles(t *testing.T) {
	attempt := func(o apply.Outcome) *Attempt { return &Attempt{Outcome: o} }
	for _, tt := range []struct {
		rule    string
		targets []*target
		// ready is when it is told: at once, after freshWait, or never.
		ready time.Duration
	}{
		{"there are no targets", nil, 0},
		{"nothing was ever applied", []*target{{}}, -1},
		{"files of an earlier run, and nothing newer yet", []*target{{applied: "a"}}, freshWait},
		{"files of an earlier run, and there is nothing to apply", []*target{{applied: "a", withheld: true}}, 0},
		{"files of an earlier run, and the newest are held back", []*target{{applied: "a", held: &heldSet{}}}, 0},
		{"the newest are applied", []*target{{applied: "a", last: attempt(apply.Applied)}}, 0},
		{"the newest are in place, and BIRD is not there", []*target{{last: attempt(apply.Placed)}}, 0},
		{"the first were refused", []*target{{last: attempt(apply.Rejected)}}, -1},
		{"the newest were refused", []*target{{applied: "a", last: attempt(apply.Rejected)}}, 0},
		{"one of two is late", []*target{{applied: "a", last: attempt(apply.Applied)}, {applied: "b"}}, freshWait},
		{"one of two was never applied", []*target{{applied: "a", last: attempt(apply.Applied)}, {}}, -1},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Setenv("NOTIFY_SOCKET", "")
			synctest.Test(t, func(t *testing.T) {
				l := newLoop(&Options{})
				l.targets = tt.targets
				began := time.Now()
				l.tellReady()
				if at := l.readyAt(); at.IsZero() != l.ready || !l.ready && at.Sub(began) != freshWait {
					t.Errorf("ready: %v, and otherwise at %s", l.ready, at)
				}
				if l.ready != (tt.ready == 0) {
					t.Fatalf("ready at once: %v", l.ready)
				}
				wake, stop := l.nextWake()
				defer stop()
				if l.ready {
					return
				}
				<-wake
				l.tellReady()
				if took := time.Since(began); l.ready != (tt.ready > 0) || took != freshWait {
					t.Errorf("after %s ready: %v", took, l.ready)
				}
				if at := l.readyAt(); !at.IsZero() {
					t.Errorf("it would wait for %s", at)
				}
			})
		})
	}
}

// When it is ready the manager is told once.
func TestReadyIsToldOnce(t *testing.T) {
	noLeaks(t)
	conn := manager(t, filepath.Join(shortDir(t), "notify"))
	l := newLoop(&Options{})
	l.tellReady()
	l.tellReady()
	l.notifier.Stopping()
	for _, want := range []string{"READY=1", "STOPPING=1"} {
		if got := received(t, conn); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
