package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/render"
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
	// computed is the snapshot of which the targets have been rendered.
	computed *calico.Cluster
	targets  []*target
	loading  ConfigStatus
	pace     pace
	causes   []string
	renders  uint64
	// problems by where they come from: loading, and computing with rendering.
	loadProblems, renderProblems []calico.Problem
	known                        map[string]bool // problems that were logged
	ready                        bool
}

func newLoop(o *Options) *loop {
	o.Settle = cmp.Or(o.Settle, DefaultSettle)
	o.Longest = cmp.Or(o.Longest, DefaultLongest)
	o.SocketTimeout = cmp.Or(o.SocketTimeout, DefaultSocketTimeout)
	o.Shutdown = cmp.Or(o.Shutdown, DefaultShutdown)
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
		case <-l.pings:
		case <-watchdog.C:
			l.notifier.Alive()
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
	for _, t := range l.targets {
		if t.held != nil && (next.IsZero() || t.held.Until.Before(next)) {
			next = t.held.Until
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
	if due, ok := l.pace.due(); ok && !due.After(now) && l.canRender() {
		l.pace.act(now)
		l.render()
	}
	for _, t := range l.targets {
		if t.held != nil && !t.held.Until.After(now) {
			l.release(t, "it has stayed the same for "+l.o.Guard.Hold.String())
		}
	}
}

// render makes all targets' files of the newest snapshot and hands over those that differ.
func (l *loop) render() {
	cluster := l.snapshot.Cluster
	if cluster != l.computed {
		l.causes = mergeCauses(l.causes, causesOf(l.computed, cluster))
	}
	views, problems := bgp.Compute(cluster, l.o.Node, l.o.Compute)
	l.computed = cluster
	l.renders++
	l.log.Debug("computed", "nodes", len(cluster.Nodes), "peers", len(cluster.Peers), "problems", len(problems), "cause", strings.Join(l.causes, "; "))
	for _, t := range l.targets {
		problems = append(problems, l.renderTarget(t, views.Of(t.config.Family))...)
	}
	l.renderProblems = append(problems, l.snapshot.Problems...)
	l.causes = nil
}

// renderTarget makes one target's files. Without them what was applied before stays.
func (l *loop) renderTarget(t *target, view *bgp.View) []calico.Problem {
	if view == nil {
		l.withhold(t)
		return nil // Compute says why
	}
	files, problems := t.config.Set.Render(t.config.Target, view)
	if files == nil {
		l.withhold(t)
		return problems
	}
	t.withheld = false
	j := &job{files: applyFiles(files), rendered: files, view: view, causes: l.causes}
	if t.sent != nil && t.held == nil && sameFiles(t.sent.files, j.files) {
		t.view = view
		t.clearPending() // it may have been held back or withheld meanwhile
		return problems
	}
	before := t.held
	if t.hold(l.o.Guard, j, time.Now()) {
		t.markPending()
		if before == nil || before.Since != t.held.Since {
			l.log.Error(t.held.Reason, "target", t.config.Name, "lost", t.held.some, "cause", strings.Join(j.causes, "; "),
				"until", t.held.Until.Format(time.RFC3339), "hint", heldHint)
		}
		return problems
	}
	if before != nil {
		l.log.Info("the configuration is no longer held back", "target", t.config.Name)
	}
	l.dispatch(t, j)
	return problems
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

// withhold leaves a target as it is, because there is nothing to apply.
func (l *loop) withhold(t *target) {
	if !t.withheld {
		l.log.Error("nothing can be rendered, so what was applied before stays in use", "target", t.config.Name)
	}
	t.withheld, t.held = true, nil
}

// dispatch hands a set to the target's worker, unless it is what that has already.
func (l *loop) dispatch(t *target, j *job) {
	t.view = j.view
	if t.sent != nil && sameFiles(t.sent.files, j.files) {
		t.clearPending()
		return
	}
	t.sent = j
	t.markPending()
	t.worker.jobs.put(j, mergeJobs)
}

// override applies what the guard holds back.
func (l *loop) override() {
	for _, t := range l.targets {
		switch {
		case t.held != nil:
			l.release(t, "as asked")
		case t.failures > 0:
			l.log.Info("trying again, as asked", "target", t.config.Name)
			t.worker.lookNow()
		default:
			l.log.Info("nothing is held back and nothing has failed; looking at the files, as asked", "target", t.config.Name)
			t.worker.lookNow()
		}
	}
}

func (l *loop) release(t *target, why string) {
	l.log.Warn("applying what was held back", "target", t.config.Name, "why", why, "lost", t.held.Lost, "before", t.held.Before)
	held := t.held
	t.held, t.sessions = nil, held.names
	l.dispatch(t, held.job)
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

// load loads conf.d and the templates. What was loaded before stays if that fails.
func (l *loop) load(ctx context.Context) {
	l.notifier.Reloading()
	defer l.notifier.Reloaded()
	l.loading.Loads++
	config, problems := l.o.Load()
	l.loadProblems = problems
	if config == nil {
		l.loading.OK = false
		l.loading.Failures++
		l.log.Error("configuration or templates do not load; what was loaded before stays in use", "problems", len(problems))
		return
	}
	l.loading.OK, l.loading.LoadedAt = true, time.Now()
	if l.loading.Loads > 1 {
		l.log.Info("loaded configuration and templates", "targets", len(config.Targets))
	}
	l.adopt(ctx, config)
	if l.computed != nil {
		l.causes = mergeCauses(l.causes, []string{"configuration or templates loaded anew"})
	}
	if l.snapshot != nil {
		l.pace.change(time.Now())
	}
}

// adopt makes the targets those of a configuration. Workers whose target stays the same go
// on, with other templates perhaps.
func (l *loop) adopt(ctx context.Context, config *render.Config) {
	old := l.targets
	l.targets = make([]*target, len(config.Targets))
	for i, c := range config.Targets {
		l.targets[i] = takeTarget(&old, c)
	}
	for _, t := range old {
		what := "the target is no longer taken care of; its files stay as they are"
		if slices.ContainsFunc(config.Targets, func(c render.TargetConfig) bool { return c.Name == t.config.Name }) {
			what = "the target is described in another way now"
		}
		l.log.Info(what, "target", t.config.Name, "directory", t.config.Directory)
		t.stop()
	}
	for i, c := range config.Targets {
		if l.targets[i] == nil {
			l.targets[i] = l.startTarget(ctx, c, old)
		}
		l.targets[i].config = c
	}
}
