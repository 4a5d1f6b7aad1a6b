package recovery

import (
	"context"
	"errors"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

// How often a daemon is looked at.
const (
	// dialEvery is for one that is down, and how long a connection must last for the next
	// to be made at once.
	dialEvery = 500 * time.Millisecond
	// redialEvery is for one that hangs up at once.
	redialEvery = 50 * time.Millisecond
	// recoveringEvery is for one that recovers. Its sessions are looked at less often, as
	// that is work for a daemon with thousands of them.
	recoveringEvery = 250 * time.Millisecond
	sessionsEvery   = time.Second
	// steadyEvery is for the sessions of one that has recovered, while somebody wants to
	// know.
	steadyEvery = 2 * time.Second
	// share is the part of the time, one in so many, that looking at sessions may take.
	share = 20
)

// Watcher keeps an eye on a daemon. It holds a connection to the control socket, so that the
// daemon's end is seen at once.
type Watcher struct {
	client bird.Client
	report func(State)
	wake   chan struct{}

	mu      sync.Mutex
	policy  Policy
	follows map[string]bool

	// These are of the goroutine of Run.
	state  State
	gone   bool // the daemon was seen to be down since state.Start was counted
	boot   bird.Status
	upAt   time.Time
	ever   map[string]bool
	failed map[string]bool // releases that BIRD did not carry out
}

// NewWatcher makes a Watcher that reports each new State, from one goroutine.
func NewWatcher(client bird.Client, report func(State)) *Watcher {
	return &Watcher{client: client, report: report, wake: make(chan struct{}, 1), gone: true}
}

// Client asks the same daemon.
func (w *Watcher) Client() bird.Client { return w.client }

// Release changes when peers are released. It may be called by any goroutine.
func (w *Watcher) Release(p Policy) {
	w.mu.Lock()
	w.policy = p
	w.mu.Unlock()
	w.Look()
}

// Follow has sessions looked at while the daemon is steady. It may be called by any
// goroutine.
func (w *Watcher) Follow(names []string) {
	follows := make(map[string]bool, len(names))
	for _, name := range names {
		follows[name] = true
	}
	w.mu.Lock()
	same := maps.Equal(follows, w.follows)
	w.follows = follows
	w.mu.Unlock()
	if !same {
		w.Look()
	}
}

// Look has the daemon looked at at once. It may be called by any goroutine.
func (w *Watcher) Look() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *Watcher) asked() (Policy, map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.policy, w.follows
}

// Run watches until the context ends.
func (w *Watcher) Run(ctx context.Context) {
	var hungUp time.Time // when the last connection came to its end
	for ctx.Err() == nil {
		conn, err := w.client.Dial(ctx)
		if err == nil {
			began := time.Now()
			err = w.follow(ctx, conn)
			conn.Close()
			// A daemon that has ended refuses the next connection. BIRD 1.6 also hangs up
			// without ending.
			if err == nil {
				hungUp = time.Now()
				if hungUp.Sub(began) < dialEvery {
					w.pause(ctx, redialEvery)
				}
				continue
			}
		}
		// While its process ends, it may take one more connection, and closes that, too.
		if errors.Is(err, io.ErrUnexpectedEOF) && time.Since(hungUp) < dialEvery {
			w.pause(ctx, redialEvery)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		s := w.state
		s.At, s.Condition, s.Sessions, s.Recovery, s.Why = time.Now(), Silent, nil, bird.Recovery{}, err
		if errors.Is(err, bird.ErrNotRunning) {
			s.Condition, s.Why, w.gone = Down, nil, true
		}
		w.tell(s)
		w.pause(ctx, dialEvery)
	}
}

// tell reports a state, unless nothing is new.
func (w *Watcher) tell(s State) {
	fresh := w.state.Condition == Unseen || !w.state.same(s)
	w.state = s
	if fresh {
		w.report(s)
	}
}

// pause waits, unless the context ends or somebody asks for a look before.
func (w *Watcher) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.wake:
	case <-ctx.Done():
	}
}

// follow looks at a daemon until it hangs up, which is no error.
func (w *Watcher) follow(ctx context.Context, conn *bird.Conn) error {
	l := looker{Watcher: w, conn: conn}
	for {
		s, err := l.look(ctx)
		if err == nil {
			w.tell(s)
			err = l.release(ctx)
		}
		closed := errors.Is(err, io.ErrUnexpectedEOF)
		if err == nil {
			closed, err = w.idle(ctx, conn, l.next())
		}
		switch {
		case closed:
			return nil
		case err != nil:
			return err
		}
	}
}

// idle waits for so long, or for ever when that is zero. It returns early when somebody asks
// for a look, and true when the daemon hangs up.
func (w *Watcher) idle(ctx context.Context, conn *bird.Conn, d time.Duration) (closed bool, err error) {
	waiting, cancel := context.WithCancel(ctx)
	if d > 0 {
		defer time.AfterFunc(d, cancel).Stop()
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		select {
		case <-w.wake:
			cancel()
		case <-waiting.Done():
		}
	}()
	err = conn.Wait(waiting)
	early := waiting.Err() != nil
	cancel()
	<-asked // or it would take what is meant for the next time
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case early:
		return false, nil
	}
	return false, err
}
