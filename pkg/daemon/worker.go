package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/recovery"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// job is a set of files to be applied.
type job struct {
	files    []apply.File
	rendered []render.File
	input    render.Input
	made     made
	// causes say what has changed since the set before, and id identifies the set once that
	// was asked for; both are the loop's.
	causes []string
	id     string
	// basis is what the set was made for. The loop may replace it by a newer one.
	basis atomic.Pointer[basis]
}

// basis is what a set was made for: a daemon in some state, and what was in place.
type basis struct {
	apply.Conditions
	inPlace *job // nil for what was found at the start
}

// mergeJobs keeps the causes of a set that is replaced before anybody has applied it. The
// job stays the one that the loop knows; only the loop looks at causes.
func mergeJobs(old *job, j **job) { (*j).causes = mergeCauses(old.causes, (*j).causes) }

// report is what a worker tells after each attempt, and once when it has taken its target.
type report struct {
	of *target
	// job is nil in the first report.
	job      *job
	started  time.Time
	took     time.Duration
	result   apply.Result
	err      error
	failures int
	retryAt  time.Time
	// applied and appliedAt are from the record of the run before, in the first report.
	applied   string
	appliedAt time.Time
	// reconfirmed tells why an attempt was made although no file changed.
	reconfirmed bool
	// again tells that it was made only to look whether all is well, maintained that it was
	// not about the newest set but about what was applied before; then there is no job.
	again, maintained bool
	fingerprint       func([]apply.File) string
}

// placed tells that the set of an attempt is in place.
func (r *report) placed() bool {
	return r.job != nil && !errors.Is(r.err, recovery.ErrMoved) && r.result.Outcome != apply.Rejected && r.result.Outcome != apply.RolledBack
}

// worker applies sets to one target, always the newest.
type worker struct {
	target apply.Target
	jobs   *mailbox[*job]
	// These have an element when the daemon has come up, when the worker is to look whether
	// all is well, and when it is to try again at once what failed.
	up, look, hurry chan struct{}
	every           time.Duration // see Options.LookEvery
	report          func(report)
	done            chan struct{}
	inPlace         *job // nil until one was put in place
	// after are closed when the workers have ended that had the files before.
	after []<-chan struct{}
}

func newWorker(t apply.Target, every time.Duration, tell func(report)) *worker {
	return &worker{target: t, every: every, jobs: newMailbox[*job](), up: make(chan struct{}, 1), look: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		report: tell, done: make(chan struct{})}
}

// cameUp tells the worker that the daemon may run anything.
func (w *worker) cameUp() { poke(w.up) }

// lookNow makes the worker make sure that the files are still what they should be.
func (w *worker) lookNow() { poke(w.look) }

// tryNow makes it try again at once what failed, and otherwise look as well.
func (w *worker) tryNow() { poke(w.hurry) }

// poke puts an element into a channel that holds one, unless there is one already.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run works until the context ends. A transaction that is under way then is finished or
// given up within the target's grace.
func (w *worker) run(ctx context.Context) {
	defer close(w.done)
	for _, done := range w.after {
		<-done
	}
	applier := w.open(ctx)
	if applier == nil {
		return
	}
	defer applier.Close()
	applied, at := applier.Last()
	w.report(report{applied: applied, appliedAt: at, fingerprint: applier.Fingerprint})

	var now *job
	var last report // of the attempt before
	retry := time.NewTimer(time.Hour)
	retry.Stop()
	defer retry.Stop()
	look := time.NewTicker(w.every)
	defer look.Stop()
	for {
		reconfirm, again := false, false
		select {
		case <-ctx.Done():
			return
		case <-w.jobs.C:
			if j, ok := w.jobs.take(); ok {
				now, last = j, report{}
				retry.Stop()
			}
			select {
			case <-w.up: // one reload will do
				applier.Distrust()
			default:
			}
			if now != nil && applier.Undone(now.files) {
				last = report{job: now, started: time.Now(), failures: 1, err: &apply.Error{Stage: apply.StageReload, Err: apply.ErrUndone},
					result: apply.Result{Outcome: apply.RolledBack, Desired: applier.Fingerprint(now.files)}}
				last.result.Applied, _ = applier.Last()
				w.report(last)
				continue
			}
		case <-w.hurry:
			again = last.err == nil
		case <-retry.C:
		case <-w.up:
			applier.Distrust()
			if j, ok := w.jobs.take(); ok {
				now, last = j, report{}
			}
			reconfirm = true
		case <-w.look:
			again = true
		case <-look.C:
			if last.err != nil && !last.leftAlone() {
				continue // that is tried again anyway
			}
			applier.Suspect()
			again = true
		}
		if now == nil {
			continue
		}
		if (again || reconfirm) && last.leftAlone() {
			w.maintain(ctx, applier)
			continue
		}
		r := w.attempt(ctx, applier, now)
		if ctx.Err() != nil && r.err != nil && errors.Is(r.err, context.Cause(ctx)) {
			return // given up before anything was done; the loop tells what is left undone
		}
		if again && last.err == nil && len(r.result.Changed) == 0 && (r.err == nil && r.result.Outcome == apply.Unchanged || isDown(r.err)) {
			continue // nothing is new
		}
		r.reconfirmed, r.again = reconfirm, again
		retry.Stop()
		if r.err != nil {
			r.failures = last.failures + 1
			if !r.undone() {
				wait := backoff(r.failures)
				if errors.Is(r.err, recovery.ErrMoved) {
					r.failures, wait = last.failures, movedRetry
				}
				r.retryAt = time.Now().Add(wait)
				retry.Reset(wait)
			}
		}
		last = r
		w.report(r)
	}
}

// leftAlone tells that after an attempt what was applied before is in place.
func (r *report) leftAlone() bool {
	return r.err != nil && (r.result.Outcome == apply.Rejected || r.result.Outcome == apply.RolledBack)
}

// undone tells that a trial has failed and was undone. It is not repeated by itself, since
// each time costs sessions.
func (r *report) undone() bool {
	_, collapsed := errors.AsType[*apply.CollapsedError](r.err)
	return collapsed && r.result.Outcome == apply.RolledBack
}

// maintain looks after what was applied before, while something newer cannot be.
func (w *worker) maintain(ctx context.Context, a *apply.Applier) {
	r := report{started: time.Now(), maintained: true}
	a.Under(apply.Conditions{})
	r.result, r.err = a.Maintain(ctx)
	r.took = time.Since(r.started)
	if r.err != nil && !isDown(r.err) || r.result.Outcome != apply.Unchanged {
		w.report(r)
	}
}

// movedRetry is how long to wait for the loop, which has heard that the daemon is in another
// state than it was.
const movedRetry = 200 * time.Millisecond

// lockedRetry is how long to wait at most for another process to let go of a target: it is
// about to end, or will never.
const lockedRetry = 2 * time.Second

// open takes the target, trying again until the context ends; nil then.
func (w *worker) open(ctx context.Context) *apply.Applier {
	for failures := 1; ; failures++ {
		started := time.Now()
		a, err := apply.Open(w.target)
		if err == nil {
			return a
		}
		wait := backoff(failures)
		if errors.Is(err, apply.ErrLocked) {
			wait = min(wait, lockedRetry)
		}
		w.report(report{started: started, err: &apply.Error{Stage: apply.StageWrite, Err: err},
			failures: failures, retryAt: time.Now().Add(wait), result: apply.Result{Outcome: apply.Rejected}})
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-w.hurry:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

func (w *worker) attempt(ctx context.Context, a *apply.Applier, j *job) report {
	r := report{job: j, started: time.Now()}
	if b := j.basis.Load(); b != nil {
		a.Under(b.Conditions)
		if b.inPlace != w.inPlace {
			r.result.Outcome, r.err = apply.Rejected, fmt.Errorf("%w: the files that were to be replaced have been replaced since", recovery.ErrMoved)
			return r
		}
	}
	r.result, r.err = a.Apply(ctx, j.files)
	r.took = time.Since(r.started)
	if r.placed() {
		w.inPlace = j
	}
	return r
}

// reloadResult names what became of a reload, for counting; "" when there was none.
func (r *report) reloadResult() string {
	switch {
	case !r.result.Reloaded:
		return ""
	case r.err == nil && r.result.Verdict.Confirmed:
		return "ok"
	case r.err == nil:
		return "unconfirmed"
	case r.result.Outcome == apply.RolledBack:
		return "refused"
	case errors.Is(r.err, bird.ErrNotRunning):
		return "unreachable"
	}
	return "unknown"
}
