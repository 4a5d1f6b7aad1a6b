package daemon

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/recovery"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// target is one BIRD daemon as the loop sees it.
type target struct {
	config render.TargetConfig
	worker *worker
	stop   context.CancelFunc

	// watcher keeps an eye on the daemon, and state is what it has seen; nil where there is no
	// socket.
	watcher *recovery.Watcher
	state   recovery.State
	policy  recovery.Policy
	// plan is what the newest set was made for, inPlace the set that is in place.
	plan    recovery.Plan
	inPlace recovery.InPlace
	// placedJob is that set, nil for what was found at the start.
	placedJob *job
	started   recovery.Started // zero when it is not known
	untold    error            // why the peers could not be kept
	// awaits are sessions because of which the newest set waits until the recovery is over.
	awaits  []string
	waiting *job // that set

	// sent is the set that the worker has or had last.
	sent *job
	// rendered is what the newest set was made of, and by which templates.
	rendered rendered
	// restUntil is when templates that took too long to fail are tried again; zero as a rule.
	restUntil time.Time
	// sessions are the names of the BGP sessions of the set that is in place, at the start of
	// the files that were found, or of a collapsed set that was let through.
	sessions []string
	// before are those of sets that were in place lately, believed those of a set that was let
	// through although it has few; nil once that is in place.
	before   []inPlace
	believed *[]string
	held     *heldSet
	withheld bool

	fingerprint  func([]apply.File) string
	applied      string
	appliedAt    time.Time
	pendingSince time.Time
	last         *Attempt
	failures     int
	retryAt      time.Time
	problem      *calico.Problem
	quiet        string // the last error that was logged and goes on
	bird         BIRDStatus
	// done is the set that was applied last by the worker.
	done     *job
	outcomes map[apply.Outcome]uint64
	released map[recovery.Reason]uint64
	reloads  map[string]uint64
}

// takeTarget takes the target out of a list whose worker can go on with a configuration;
// nil when there is none.
func takeTarget(from *[]*target, c render.TargetConfig) *target {
	for i, t := range *from {
		if sameTarget(t.config, c) {
			*from = slices.Delete(*from, i, i+1)
			return t
		}
	}
	return nil
}

// sameTarget compares all but the templates.
func sameTarget(a, b render.TargetConfig) bool {
	a.Set, b.Set = nil, nil
	a.Files, b.Files = nil, nil
	return reflect.DeepEqual(a, b)
}

// startTarget starts the goroutines of a target. Of those that were stopped just now one
// may have the same files, and a transaction under way.
func (l *loop) startTarget(parent context.Context, c render.TargetConfig, stopped []*target) *target {
	ctx, cancel := context.WithCancel(parent)
	t := &target{config: c, outcomes: map[apply.Outcome]uint64{}, released: map[recovery.Reason]uint64{}, reloads: map[string]uint64{}}
	files := filesOnDisk(c)
	t.sessions = sessionNames(files)
	t.placedSet(files, bgp.Views{})
	t.worker = newWorker(l.applyTarget(c), l.o.LookEvery, func(r report) { r.of = t; l.reports <- r })
	for _, old := range stopped {
		if old.config.Name == c.Name && len(old.sessions) > len(t.sessions) {
			t.sessions = old.sessions // it may only have moved
		}
		if old.config.Name == c.Name || old.config.Directory == c.Directory {
			t.worker.after = append(t.worker.after, old.worker.done)
		}
	}
	l.workers.Go(func() { t.worker.run(ctx) })
	if c.Socket != "" {
		t.bird.Watched = true
		t.watcher = recovery.NewWatcher(l.client(c), func(s recovery.State) { l.seen <- seen{t, s} })
		l.workers.Go(func() { t.watcher.Run(ctx) })
	}
	t.stop = cancel
	return t
}

// applyTarget turns a configuration into what package apply wants to know.
func (l *loop) applyTarget(c render.TargetConfig) apply.Target {
	t := apply.Target{Name: c.Name, Dir: c.Directory, StateDir: l.o.StateDir, Mode: c.Mode, Owner: ownerOf(c.Owner), Beside: c.Beside,
		Grace: l.o.Shutdown / 2, Logger: l.log}
	if c.Check != render.CheckOff {
		t.Check = newChecker(c, l.log).check
	}
	switch {
	case c.Socket != "":
		t.Reloader = &apply.SocketReloader{Confirm: l.o.Confirm,
			Client: l.client(c)}
	case c.Reload != nil && c.Reload.Signal != nil:
		s := c.Reload.Signal
		t.Reloader = &apply.SignalReloader{PIDFile: s.PIDFile, Process: s.Process, Signal: signalNames[s.Signal]}
	case c.Reload != nil:
		t.Reloader = &apply.CommandReloader{Argv: c.Reload.Command, Timeout: c.Reload.Timeout}
	}
	return t
}

var signalNames = map[string]syscall.Signal{"": syscall.SIGHUP, "HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2}

// client is for asking a target's daemon.
func (l *loop) client(c render.TargetConfig) bird.Client {
	return bird.Client{Socket: c.Socket, Timeout: l.o.SocketTimeout}
}

// filesOnDisk are the files that are in place.
func filesOnDisk(c render.TargetConfig) []apply.File {
	var files []apply.File
	for _, f := range c.Files {
		if data, err := os.ReadFile(filepath.Join(c.Directory, f.Name)); err == nil {
			files = append(files, apply.File{Name: f.Name, Data: data})
		}
	}
	return files
}

// ApplyFiles gives rendered files to package apply, which knows nothing of rendering.
func ApplyFiles(files []render.File) []apply.File {
	var out []apply.File
	for _, f := range files {
		out = append(out, apply.File{Name: f.Name, Data: f.Data, Secret: f.HasSecret, Mode: f.Mode, Owner: ownerOf(f.Owner)})
	}
	return out
}

// ownerOf is an owner as package apply has it.
func ownerOf(o *render.Owner) *apply.Owner {
	if o == nil {
		return nil
	}
	return &apply.Owner{UID: o.UID, GID: o.GID}
}

func sameFiles(a, b []apply.File) bool {
	return slices.EqualFunc(a, b, func(x, y apply.File) bool {
		return x.Name == y.Name && x.Secret == y.Secret && x.Mode == y.Mode && sameOwner(x.Owner, y.Owner) && bytes.Equal(x.Data, y.Data)
	})
}

func sameOwner(a, b *apply.Owner) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// clearPending notes that nothing is left to do, if that is so.
func (t *target) clearPending() {
	if t.sent == t.done && t.held == nil {
		t.pendingSince = time.Time{}
	}
}

func (t *target) markPending() {
	if t.pendingSince.IsZero() {
		t.pendingSince = time.Now()
	}
}

// take takes what a worker tells.
func (l *loop) take(r report) {
	t := r.of
	if !slices.Contains(l.targets, t) {
		return // it is no longer taken care of
	}
	if r.fingerprint != nil {
		t.fingerprint, t.applied, t.appliedAt = r.fingerprint, r.applied, r.appliedAt
		t.failures, t.retryAt, t.problem = 0, time.Time{}, nil
		l.tellPeers()
		l.tellReady()
		return
	}
	if r.maintained {
		l.logMaintained(t, &r)
		return
	}
	if errors.Is(r.err, recovery.ErrMoved) {
		l.log.Debug("the configuration was made for another state than BIRD is in", "target", t.config.Name, "what", r.err.Error())
		t.markPending()
		t.watcher.Look()
		l.renderAgain(t, "BIRD has moved on")
		return
	}
	t.outcomes[r.result.Outcome]++
	if result := r.reloadResult(); result != "" {
		t.reloads[result]++
	}
	t.last = &Attempt{At: r.started, Duration: r.took, Outcome: r.result.Outcome,
		Words: conceal(&r, r.result.Verdict.Words), Confirmed: r.result.Verdict.Confirmed}
	t.failures, t.retryAt, t.problem = r.failures, r.retryAt, nil
	if r.result.Desired != "" {
		t.applied = r.result.Applied
	}
	if r.placed() {
		t.placed(l.o.Guard, sessionNames(r.job.files), time.Now())
		if t.placedJob != r.job {
			t.placedSet(r.job.files, r.job.input.Views)
			t.placedJob = r.job
			defer l.renderAgain(t, "another configuration is in place")
		}
	}
	if r.err == nil {
		if r.result.Outcome == apply.Applied {
			t.appliedAt = time.Now()
		}
		t.done = r.job
		t.clearPending()
	} else {
		t.done = nil
		t.markPending()
		t.last.Error = conceal(&r, r.err.Error())
		p := applyProblem(&r, t.last.Error)
		t.problem = &p
	}
	l.logAttempt(t, &r)
	l.tellReady()
}

// conceal makes what was said about a set safe to show. The passwords may be those of the
// set, of the one that has come after it, or of the one before it.
func conceal(r *report, text string) string {
	for _, j := range []*job{r.of.sent, r.job, r.of.done} {
		if j != nil {
			text = render.Conceal(j.input, text)
		}
	}
	return text
}

// isDown tells that an attempt failed because no daemon is there.
func isDown(err error) bool { return errors.Is(err, bird.ErrNotRunning) }
