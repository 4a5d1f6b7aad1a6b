package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/recovery"
)

// loop owns the daemon's state. Its fields are used by run's goroutine only, but for those
// that are made for handing something over.
type loop struct {
	o        *Options
	log      *slog.Logger
	inbox    *mailbox[datastore.Snapshot]
	config   chan struct{} // templates or conf.d have changed
	reports  chan report
	seen     chan seen
	pings    chan struct{}
	status   atomic.Pointer[Status]
	workers  sync.WaitGroup
	notifier *Notifier

	started  time.Time
	snapshot *datastore.Snapshot
	// views are those of the computed snapshot, for daemons that have started.
	views bgp.Views
	// computed is the snapshot of which the targets have been rendered.
	computed *calico.Cluster
	targets  []*target
	loading  ConfigStatus
	pace     pace
	causes   []string
	renders  uint64
	// believes tells that what is known of nodes' readiness is new enough.
	believes bool
	notReady []string // names of the nodes that are not ready
	// problems by where they come from: loading, and computing. Targets have theirs.
	loadProblems, renderProblems []calico.Problem
	known                        map[string]bool // problems that were logged
	ready                        bool
}

func newLoop(o *Options) *loop {
	o.Settle = cmp.Or(o.Settle, DefaultSettle)
	o.Longest = cmp.Or(o.Longest, DefaultLongest)
	o.SocketTimeout = cmp.Or(o.SocketTimeout, DefaultSocketTimeout)
	o.LookEvery = cmp.Or(o.LookEvery, DefaultLookEvery)
	o.Shutdown = cmp.Or(o.Shutdown, DefaultShutdown)
	o.ReadinessAge = cmp.Or(o.ReadinessAge, recovery.DefaultMaxAge)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &loop{o: o, log: o.Logger, inbox: newMailbox[datastore.Snapshot](), config: make(chan struct{}, 1),
		reports: make(chan report), seen: make(chan seen), pings: make(chan struct{}), notifier: NewNotifier(o.Logger),
		started: time.Now(), pace: pace{settle: o.Settle, longest: o.Longest}, known: map[string]bool{}}
}

// deliver takes a snapshot from the source.
func (l *loop) deliver(s datastore.Snapshot) { l.inbox.put(s, nil) }

// configChanged takes the news that conf.d or templates may have changed.
func (l *loop) configChanged() {
	select {
	case l.config <- struct{}{}:
	default:
	}
}

// alive returns nil when the loop comes round.
func (l *loop) alive(ctx context.Context) error {
	select {
	case l.pings <- struct{}{}: // nobody but the loop takes it
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// run is the loop. It ends with the context, when all workers have ended.
func (l *loop) run(ctx context.Context) error {
	defer l.finish()
	watchdog := l.notifier.Tick()
	defer watchdog.Stop()
	know := time.NewTicker(l.o.LookEvery)
	defer know.Stop()
	l.load(ctx)
	l.publish()
	for {
		wake, stop := l.nextWake()
		select {
		case <-ctx.Done():
			stop()
			return nil
		case <-l.inbox.C:
			if s, ok := l.inbox.take(); ok {
				l.log.Debug("the source has delivered", "problems", len(s.Problems))
				l.snapshot = &s
				l.pace.change(time.Now())
			}
		case <-l.config:
			l.load(ctx)
		case <-l.o.Reload:
			l.log.Info("loading configuration and templates anew, as asked")
			l.load(ctx)
			for _, t := range l.targets {
				t.worker.lookNow()
			}
		case <-l.o.Override:
			l.override()
		case r := <-l.reports:
			l.take(r)
		case s := <-l.seen:
			l.see(s)
		case <-l.pings: // that it is taken is all
			stop()
			continue
		case <-watchdog.C:
			l.notifier.Alive()
		case <-know.C:
			l.tellPeers()
		case <-wake:
		}
		stop()
		l.act()
		l.publish()
		if l.o.Once {
			if err := l.once(); err != nil {
				return err
			}
		}
	}
}

// nextWake returns a channel that fires when the next thing is due that nobody announces.
func (l *loop) nextWake() (<-chan time.Time, func()) {
	var next time.Time
	if due, ok := l.pace.due(); ok && l.canRender() {
		next = due
	}
	dues := []time.Time{l.doubtsAt(), l.readyAt()}
	for _, t := range l.targets {
		dues = append(dues, t.restUntil)
		if t.held != nil {
			dues = append(dues, t.held.Until)
		}
	}
	for _, due := range dues {
		if !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	if next.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(time.Until(next))
	return timer.C, func() { timer.Stop() }
}

// canRender tells that there is something to render, and something to render it for.
func (l *loop) canRender() bool { return l.snapshot != nil && len(l.targets) > 0 }

// act does what is due.
func (l *loop) act() {
	now := time.Now()
	l.doubt()
	for _, t := range l.targets {
		if !t.restUntil.IsZero() && !t.restUntil.After(now) {
			t.restUntil = time.Time{}
			l.pace.change(now)
		}
	}
	if due, ok := l.pace.due(); ok && !due.After(now) && l.canRender() {
		l.pace.act(now)
		l.render()
	}
	l.tellReady()
	for _, t := range l.targets {
		if t.held != nil && !t.held.Until.After(now) {
			l.release(t, "it has stayed the same for "+l.o.Guard.Hold.String())
		}
	}
}

// finish stops all workers and tells what is left undone.
func (l *loop) finish() {
	l.notifier.Stopping()
	for _, t := range l.targets {
		t.stop()
	}
	done := make(chan struct{})
	go func() { l.workers.Wait(); close(done) }()
	for {
		select {
		case r := <-l.reports:
			l.take(r)
			continue
		case <-l.seen:
			continue
		case <-done:
		}
		break
	}
	for _, t := range l.targets {
		if !t.pendingSince.IsZero() {
			l.log.Warn("stopped before the newest configuration was applied; the next start goes on with it", "target", t.config.Name)
		}
	}
	l.publish()
}

// once returns what ends a run that is not to go on: errDone, or what is not applied. It is
// nil as long as that is open.
func (l *loop) once() error {
	if l.renders == 0 {
		if !l.loading.OK {
			return errors.New("the configuration does not load")
		}
		return nil
	}
	var errs []error
	if !l.loading.OK {
		errs = append(errs, errors.New("a part of the configuration does not load"))
	}
	for _, t := range l.targets {
		switch {
		case t.withheld:
			errs = append(errs, fmt.Errorf("%s: nothing can be rendered", t.config.Name))
		case t.held != nil:
			errs = append(errs, fmt.Errorf("%s: %s; a run with --once does not wait for that: --guard-hold 0 turns it off", t.config.Name, t.held.Reason))
		case t.failures > 0 && t.last != nil:
			errs = append(errs, fmt.Errorf("%s: %s", t.config.Name, t.last.Error))
		case t.sent != t.done || t.sent == nil:
			return nil
		}
	}
	return cmp.Or(errors.Join(errs...), errDone)
}
