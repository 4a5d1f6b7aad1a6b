package daemon

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/recovery"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// render makes all targets' files of the newest snapshot and hands over those that differ.
func (l *loop) render() {
	cluster := l.snapshot.Cluster
	if cluster != l.computed {
		l.causes = mergeCauses(l.causes, causesOf(l.computed, cluster))
	}
	views, problems := bgp.Compute(cluster, l.o.Node, l.o.Compute)
	l.computed, l.views = cluster, views
	l.logReadiness()
	l.renders++
	l.log.Debug("computed", "nodes", len(cluster.Nodes), "peers", len(cluster.Peers), "problems", len(problems), "cause", strings.Join(l.causes, "; "))
	for _, t := range l.targets {
		l.renderTarget(t, l.causes)
	}
	l.renderProblems = append(problems, l.snapshot.Problems...)
	l.causes = nil
	l.tellPeers()
}

// renderTarget makes one target's files, for the state that its daemon is in. Without them
// what was applied before stays.
func (l *loop) renderTarget(t *target, causes []string) {
	if t.watcher != nil && t.state.Condition == recovery.Unseen {
		return // it is being looked for
	}
	if !t.config.ReadyFor(l.views) {
		t.rendered.problems = nil // Compute says why
		l.withhold(t)
		l.reuse(t, causes)
		return
	}
	before := t.plan
	t.plan = l.planFor(t)
	// The guard has to look at sessions that are leaving although no file changes yet.
	leaving := len(t.plan.Leaving) > 0 && !slices.Equal(before.Leaving, t.plan.Leaving)
	if len(t.plan.Deferred) > 0 && !slices.Equal(before.Deferred, t.plan.Deferred) {
		l.log.Warn("changes of sessions wait until BIRD has recovered from its start, which waits for them",
			"target", t.config.Name, "sessions", someOf(t.plan.Deferred))
	}
	views := t.plan.Views
	in := l.input(t, views)
	if !leaving && t.rendersTheSame(in) {
		t.allow(t.sent)
		t.clearPending() // it may have been withheld meanwhile
		return
	}
	if t.rests(time.Now()) {
		l.withhold(t)
		l.reuse(t, causes)
		return
	}
	started := time.Now()
	files, problems := t.config.Set.Render(t.config.Target, in)
	if took := time.Since(started); files == nil && took > slowFailure {
		t.restUntil = started.Add(took * restFactor)
		l.log.Warn("templates took long to fail, so they are not tried all the time", "target", t.config.Name,
			"took", took.Round(time.Millisecond), "again_at", t.restUntil.Format(time.RFC3339))
	}
	t.rendered = rendered{set: t.config.Set, files: t.config.Files, input: in, problems: problems}
	if files == nil {
		l.withhold(t)
		l.reuse(t, causes)
		return
	}
	t.withheld = false
	j := &job{files: ApplyFiles(files), rendered: files, input: in, causes: causes,
		made: made{t.config.Set, t.config.Target, l.input(t, l.views.Only(t.config.Families))}}
	t.allow(j)
	if !leaving && t.sent != nil && t.held == nil && t.awaits == nil && sameFiles(t.sent.files, j.files) {
		t.allow(t.sent)
		t.clearPending() // it may have been held back or withheld meanwhile
		return
	}
	held := t.held
	if held != nil {
		j.causes = mergeCauses(held.job.causes, j.causes)
	}
	if t.hold(l.o.Guard, j, time.Now()) {
		t.awaits = nil
		t.markPending()
		if held == nil || held.Since != t.held.Since {
			l.log.Error(t.held.Reason, "target", t.config.Name, "lost", t.held.some, "cause", strings.Join(j.causes, "; "),
				"until", t.held.Until.Format(time.RFC3339), "hint", heldHint)
		}
		l.reuse(t, causes)
		return
	}
	if held != nil {
		l.log.Info("the configuration is no longer held back", "target", t.config.Name)
	}
	if !l.await(t, j) {
		l.dispatch(t, j)
	}
}

// made is what a set was made of, before it was made for a daemon in some state.
type made struct {
	set    *render.Set
	target render.Target
	input  render.Input
}

// input is what a target's files are made of, with Views made of the newest snapshot. The
// snapshot itself is kept only for templates that see it.
func (l *loop) input(t *target, views bgp.Views) render.Input {
	if !t.config.Set.IsConfd() {
		return render.Input{Views: views}
	}
	return render.Input{Views: views, All: l.views, Cluster: l.computed, Node: l.o.Node, Options: l.o.Compute, Getenv: os.LookupEnv}
}

// reuse makes the set that is in place anew for the state that the daemon is in, while nothing
// newer is to be applied: also then a daemon that starts must not wait for nodes that are not ready.
func (l *loop) reuse(t *target, causes []string) {
	if t.watcher == nil || t.placedJob == nil {
		return
	}
	l.watch(t)
	from := t.placedJob.made
	views := withReadiness(from.input.Views, l.computed)
	t.plan = recovery.Make(views, t.state, t.inPlace, l.believes)
	in := from.input
	in.Views = t.plan.Views
	files, _ := from.set.Render(from.target, in)
	if files == nil {
		return // a template that works only in the other phase; what is in place stays
	}
	j := &job{files: ApplyFiles(files), rendered: files, input: in, causes: causes, made: from}
	t.allow(j)
	if !l.await(t, j) {
		l.dispatch(t, j)
	}
}

// withReadiness gives the peers of Views the newest account of their nodes.
func withReadiness(views bgp.Views, c *calico.Cluster) bgp.Views {
	for _, v := range []**bgp.View{&views.IPv4, &views.IPv6} {
		if *v == nil {
			continue
		}
		view := **v
		view.Peers = slices.Clone(view.Peers)
		for i := range view.Peers {
			if n := c.Node(view.Peers[i].NodeName); n != nil {
				view.Peers[i].NodeNotReady = n.NotReady
			}
		}
		*v = &view
	}
	return views
}

// rendered is what a target's files were last made of.
type rendered struct {
	set      *render.Set
	files    []render.FileSpec
	input    render.Input
	problems []calico.Problem
}

// rendersTheSame tells that rendering would only give what is applied or under way already.
// It costs a tenth of rendering. Templates written for confd see all of the cluster, so that
// each change of it may be one for them.
func (t *target) rendersTheSame(in render.Input) bool {
	r := &t.rendered
	if t.config.Set.IsConfd() && r.input.Cluster != in.Cluster {
		return false
	}
	return t.sent != nil && t.held == nil && t.awaits == nil && !t.withheld && r.set == t.config.Set &&
		slices.Equal(r.files, t.config.Files) && reflect.DeepEqual(r.input.Views, in.Views)
}

// Templates that need longer than slowFailure to come to nothing may take a share of the time
// only, the reciprocal of restFactor: other targets have to be rendered too.
const (
	slowFailure = time.Second
	restFactor  = 10
)

// rests tells that the target's templates have to wait. Others are tried at once.
func (t *target) rests(now time.Time) bool {
	if t.restUntil.IsZero() || t.rendered.set != t.config.Set || !now.Before(t.restUntil) {
		t.restUntil = time.Time{}
		return false
	}
	return true
}

// withhold leaves a target as it is, because there is nothing to apply.
func (l *loop) withhold(t *target) {
	if !t.withheld {
		l.log.Error("nothing can be rendered, so what was applied before stays in use", "target", t.config.Name)
	}
	t.withheld, t.held, t.awaits = true, nil, nil
}

// dispatch hands a set to the target's worker, unless it is what that has already.
func (l *loop) dispatch(t *target, j *job) {
	if t.sent != nil && sameFiles(t.sent.files, j.files) {
		t.allow(t.sent)
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
			t.worker.tryNow()
		default:
			l.log.Info("nothing is held back and nothing has failed; looking at the files, as asked", "target", t.config.Name)
			t.worker.tryNow()
		}
	}
}

func (l *loop) release(t *target, why string) {
	l.log.Warn("applying what was held back", "target", t.config.Name, "why", why, "lost", t.held.Lost, "before", t.held.Before)
	held := t.held
	t.held, t.believed = nil, &held.names
	if !l.await(t, held.job) {
		l.dispatch(t, held.job)
	}
}
