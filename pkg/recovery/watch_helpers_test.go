package recovery

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// patience is how long anything may take that should happen within a second or two.
const patience = 30 * time.Second

// watched is a Watcher that runs, with all that it has reported.
type watched struct {
	*Watcher
	t testing.TB

	mu     sync.Mutex
	states []State
}

// watch starts a Watcher, which ends with the test.
func watch(t testing.TB, client bird.Client, prepare func(*Watcher)) *watched {
	t.Helper()
	w := &watched{t: t}
	w.Watcher = NewWatcher(client, func(s State) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.states = append(w.states, s)
	})
	if prepare != nil {
		prepare(w.Watcher)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return w
}

// seen are all States so far.
func (w *watched) seen() []State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.states)
}

// until waits until the newest State is as it should be.
func (w *watched) until(what string, is func(State) bool) State {
	w.t.Helper()
	var last State
	within(w.t, what, func() bool {
		if all := w.seen(); len(all) > 0 {
			last = all[len(all)-1]
			return is(last)
		}
		return false
	})
	return last
}

// becomes waits for a Condition.
func (w *watched) becomes(c Condition) State {
	w.t.Helper()
	return w.until(string(c), func(s State) bool { return s.Condition == c })
}

// conditions are those that were seen, one after the other.
func (w *watched) conditions() []Condition {
	var out []Condition
	for _, s := range w.seen() {
		out = append(out, s.Condition)
	}
	return slices.Compact(out)
}

// within waits for something to become true.
func within(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !is() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// nobody is where no session can come up.
var nobody = birdtest.Speaker{Address: "127.0.0.7", Port: 1}

// alone starts a BIRD that recovers, with sessions with nobody, and more statements.
func alone(t testing.TB, version int, more string, sessions ...string) *birdtest.Daemon {
	t.Helper()
	s := birdtest.NewSpeaker(t, version, "127.0.0.1")
	for _, name := range sessions {
		more += s.Session(name, nobody, "passive;")
	}
	return s.Start(t, more, "-R")
}

// command has a BIRD do something.
func command(t testing.TB, d *birdtest.Daemon, text string) {
	t.Helper()
	conn := dial(t, d)
	defer conn.Close()
	if reply, err := conn.Ask(t.Context(), text); err != nil || reply.Code >= 8000 {
		t.Fatalf("%s: %v, %v", text, reply, err)
	}
}

func dial(t testing.TB, d *birdtest.Daemon) *bird.Conn {
	t.Helper()
	conn, err := bird.Client{Socket: d.Socket}.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// row is what a BIRD says of a session.
func row(t testing.TB, d *birdtest.Daemon, name string) bird.Detail {
	t.Helper()
	conn := dial(t, d)
	defer conn.Close()
	rows, err := conn.Details(t.Context(), name)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%s: %v, %v", name, rows, err)
	}
	return rows[0]
}
