// Package livetest runs sources that watch a server, for tests: it keeps what they deliver and
// log, and waits for what must become of them.
package livetest

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
	"github.com/birdconfd/birdconfd/test/shared"
)

// Deadline is how long a test waits for what must happen.
const Deadline = 100 * time.Second

// Watching is a source that runs.
type Watching struct {
	testing.TB
	Source *live.Source
	Log    *shared.Log

	mu        sync.Mutex
	needs     live.Needs
	snapshots []datastore.Snapshot
}

// Watch runs a source of one feed until the test ends.
func Watch(t testing.TB, kind string, needs live.Needs, feed func(*live.Store, *slog.Logger) live.Feed) *Watching {
	t.Helper()
	w := &Watching{TB: t, Log: &shared.Log{}, needs: needs}
	logger := slog.New(slog.NewTextHandler(w.Log, nil))
	store := live.NewStore(kind, logger)
	w.Source = &live.Source{Store: store, Feeds: []live.Feed{feed(store, logger)}, Needs: func(*calico.Cluster) live.Needs {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.needs
	}}
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Source.Run(ctx, w.deliver) }()
	t.Cleanup(func() {
		cancel(over)
		select {
		case err := <-ended:
			if !errors.Is(err, over) {
				t.Errorf("Run returned %v", err)
			}
		case <-time.After(Deadline):
			t.Error("Run does not return")
		}
	})
	return w
}

func (w *Watching) deliver(s datastore.Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.snapshots = append(w.snapshots, s)
}

// Need changes what is needed from the next snapshot on.
func (w *Watching) Need(n live.Needs) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.needs = n
}

// All are the snapshots so far.
func (w *Watching) All() []datastore.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.snapshots
}

// Forget drops the snapshots so far.
func (w *Watching) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.snapshots = nil
}

// Last is the newest snapshot, and how many there have been.
func (w *Watching) Last() (datastore.Snapshot, int) {
	all := w.All()
	if len(all) == 0 {
		return datastore.Snapshot{}, 0
	}
	return all[len(all)-1], len(all)
}

// Until waits for something to be true.
func (w *Watching) Until(what string, is func() bool) {
	w.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(Deadline); !is(); {
		select {
		case <-tick.C:
		case <-limit:
			s, n := w.Last()
			w.Fatalf("%s: it never was; peers %q after %d snapshots, problems %v, status %+v, log:\n%s",
				what, Peers(s), n, s.Problems, w.Source.Status(), w.Log)
		}
	}
}

// Is waits for something about the newest snapshot.
func (w *Watching) Is(what string, true func(datastore.Snapshot) bool) {
	w.Helper()
	w.Until(what, func() bool { s, n := w.Last(); return n > 0 && true(s) })
}

// PeersAre waits for the peers, and the problems, to be these.
func (w *Watching) PeersAre(want string) {
	w.Helper()
	w.Until("peers "+want, func() bool { s, _ := w.Last(); return Peers(s) == want })
}

// Lost waits until the source says that it cannot be watched.
func (w *Watching) Lost() {
	w.Helper()
	w.Until("lost", func() bool { s := w.Source.Status(); return !s.Connected && s.LastError != "" })
}

// Found waits until it says that it can.
func (w *Watching) Found() {
	w.Helper()
	w.Until("connected", func() bool { s := w.Source.Status(); return s.Connected && s.LastError == "" })
}

// Peers describes the peers, as in "a=192.0.2.1 b=192.0.2.2", and the rules of problems, but
// for the one that fields are dropped.
func Peers(s datastore.Snapshot) string {
	if s.Cluster == nil {
		return "(nothing)"
	}
	var out []string
	for _, p := range s.Cluster.Peers {
		out = append(out, p.Name+"="+p.PeerIP.String())
	}
	for _, p := range s.Problems {
		if p.Rule != calico.RulePruned {
			out = append(out, p.Rule)
		}
	}
	return strings.Join(out, " ")
}
