package kube

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
)

// watcher keeps one part of the store in step with one resource. It is the store of a
// reflector, which lists, watches and goes on after interruptions.
type watcher struct {
	resource
	feed *Feed
	part *live.Part
	// lister and gv are set before it runs.
	lister lister
	gv     groupVersion
	// ask asks whether the server has the resource, for as long as the watcher runs.
	ask func() (presence, error)

	open   atomic.Int32 // watches that go on from something that was read
	absent atomic.Bool  // whether the server never had the resource, which counts as no objects
	// doubted tells that what is known is more than what the server says, so that nothing is
	// certain before there is a list that can be believed.
	doubted atomic.Bool
	// leaving tells that the server was removing the resource. That may take any time, and a watch
	// tells no more of what was deleted: all has to be read anew.
	leaving atomic.Bool
	current atomic.Pointer[counted] // the watch that goes on

	// What follows belongs to the reflector.
	initial *counted // the watch that it reads everything from, until it has
	futile  error    // why there is no use in asking for a list now

	mu sync.Mutex
	// doomed are objects that the server says were deleted, which is not believed yet.
	doomed map[string]time.Time
	judge  chan struct{} // wakes up who judges about them
	// dropped are the names of objects from which the server has dropped a field of ours.
	dropped map[string]bool
	// kept are the names of those in which it has kept one.
	kept map[string]bool
}

func (f *Feed) newWatcher(r resource) *watcher {
	w := &watcher{resource: r, feed: f, doomed: map[string]time.Time{}, dropped: map[string]bool{}, kept: map[string]bool{}, judge: make(chan struct{}, 1)}
	w.part = f.store.Part(live.PartOptions{Name: r.name, Optional: r.optional, HoldEmpty: f.holdEmpty(r), Vital: r.vital(),
		Decode: func(i live.Item) (calico.Object, []calico.Problem) { return calico.DecodeObject("", i.Data) }})
	return w
}

// holdEmpty is for resources that are never empty but by accident, or by being removed.
func (f *Feed) holdEmpty(r resource) time.Duration {
	if r.custom || r.plural == "nodes" {
		return f.o.HoldEmpty
	}
	return 0
}

// run watches until the context ends.
func (w *watcher) run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	w.ask = func() (presence, error) { return w.feed.clients.presence(ctx, w.gv, w.plural) }
	if w.custom {
		running.Go(func() { w.judgeDoomed(ctx) })
	}
	logger := logr.Discard() // what matters is reported by list and watch below
	running.Go(func() { w.beat(ctx) })
	r := cache.NewReflectorWithOptions(listWatch{w}, nil, w, cache.ReflectorOptions{Name: w.name, Logger: &logger, TypeDescription: w.name})
	r.RunWithContext(klog.NewContext(ctx, logger))
}

// longestGap is how long there may be no watch before it counts as lost. The library tries
// some failures again for a long time before it tells of them.
const longestGap = 5 * time.Second

var errGap = errors.New("the watch has ended, and the API server does not answer a new one")

// beat notes that what is known is the newest, as long as it is watched. Bookmarks tell that
// too, but only once in a while.
func (w *watcher) beat(ctx context.Context) {
	ended := time.Now()
	for live.Sleep(ctx, w.feed.o.Heartbeat) {
		switch now := time.Now(); {
		case w.open.Load() > 0:
			w.part.Seen("")
			ended = now
		case w.absent.Load(): // it is asked for again and again, and not watched
		case now.Sub(ended) > longestGap && w.part.Connected():
			w.lost(errGap)
		}
	}
}

// listWatch lists and watches for a reflector, and notes how that goes, which the reflector
// keeps to itself.
type listWatch struct{ w *watcher }

// IsWatchListSemanticsUnSupported has affinities listed, since those that have no labels can
// only be found that way.
func (l listWatch) IsWatchListSemanticsUnSupported() bool { return l.w.plural == "blockaffinities" }

func (l listWatch) restrict(o metav1.ListOptions) metav1.ListOptions {
	o.LabelSelector, o.FieldSelector = l.w.labels, l.w.field
	return o
}

// List implements cache.ListerWatcher.
func (l listWatch) List(o metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), o)
}

// Watch implements cache.ListerWatcher.
func (l listWatch) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), o)
}

// ListWithContext implements cache.ListerWatcherWithContext.
func (l listWatch) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if err := l.w.futile; err != nil {
		l.w.futile = nil
		return nil, err
	}
	list, err := l.w.lister.list(ctx, l.restrict(o))
	if err == nil && l.w.plural == "blockaffinities" && isEmpty(list) && o.Continue == "" {
		list, err = l.w.unlabelled(ctx, list)
	}
	if err != nil {
		l.w.failed(ctx, "list", err)
	}
	return list, err
}

// WatchWithContext implements cache.ListerWatcherWithContext.
func (l listWatch) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	w, goesOn := l.w, o.SendInitialEvents == nil
	if goesOn && w.leaving.Load() {
		return nil, apierrors.NewResourceExpired("the resource was being removed")
	}
	stream, err := w.lister.watch(ctx, l.restrict(o))
	if err != nil {
		w.failed(ctx, "watch", err)
		if !goesOn && isFutile(err) {
			// Some of these the reflector waits out without noticing that it is to end. So it
			// gets another error and asks for a list, which gets this one: then it waits properly.
			w.futile = err
			return nil, errors.New(err.Error())
		}
		return nil, err
	}
	c := &counted{Interface: stream, w: w}
	if !goesOn { // it has to be read anew first
		w.initial = c
		return c, nil
	}
	c.begin()
	w.current.Store(c)
	if !w.doubted.Load() {
		w.found()
	}
	return c, nil
}

// isFutile tells from the failure of a watch that a list would fail just so.
func isFutile(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err) || apierrors.IsNotFound(err)
}

// counted is a watch that counts as long as it is open and all before it was read. It is for
// the goroutine of the reflector.
type counted struct {
	watch.Interface
	w      *watcher
	counts bool
}

func (c *counted) begin() {
	c.counts = true
	c.w.open.Add(1)
}

// Stop implements watch.Interface. Whoever watches calls it also when the watch has ended by
// itself.
func (c *counted) Stop() {
	if c.counts {
		c.counts = false
		c.w.open.Add(-1)
	}
	if c.w.initial == c {
		c.w.initial = nil
	}
	c.Interface.Stop()
}

// cut ends the watch that goes on, so that everything is read anew.
func (w *watcher) cut() {
	if c := w.current.Load(); c != nil {
		c.Interface.Stop() // not its own, which is for the reflector
	}
}

// failed reports that the server did not do what was asked.
func (w *watcher) failed(ctx context.Context, verb string, err error) {
	if ctx.Err() != nil {
		return
	}
	var problems []calico.Problem
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.IsInvalid(err):
		return // the reflector lists anew
	case apierrors.IsForbidden(err):
		problems = append(problems, w.forbidden(verb))
	case apierrors.IsNotFound(err) && w.custom:
		p, empty := w.notFound(ctx)
		if empty {
			w.part.Replace(nil, "")
			w.part.Note(p)
			w.absent.Store(true)
			w.feed.found(w)
			return
		}
		w.lost(errors.New(p.Message), p)
		return
	case apierrors.IsNotFound(err): // an old server
		problems = append(problems, calico.Problem{Severity: calico.Error, Rule: calico.RuleNotInstalled,
			Message: fmt.Sprintf("the API server does not have %s%s", w.fullName(), w.without)})
	}
	w.lost(fmt.Errorf("%s %s: %w", verb, w.plural, plainError(err)), problems...)
}

func (w *watcher) found() {
	w.part.Found()
	w.feed.found(w)
}

func (w *watcher) lost(err error, problems ...calico.Problem) {
	w.part.Lost(err, problems...)
	w.feed.lost(w, err)
}

// plainError takes out of an error what differs from one try to the next, or says little.
func plainError(err error) error {
	if apierrors.IsUnauthorized(err) {
		return errors.New("the API server does not accept the credentials (Unauthorized)")
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err // without the URL, which is long
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		return errors.New(status.Status().Message)
	}
	return err
}

// forbidden tells which permission is missing.
func (w *watcher) forbidden(verb string) calico.Problem {
	what := w.fullName()
	where := "ClusterRole in etc/rbac/birdconfd.yaml"
	if w.plural == "secrets" {
		what, where = fmt.Sprintf("%s (%s in namespace %s)", what, w.name, w.namespace), "Role in etc/rbac/passwords.yaml"
	}
	return calico.Problem{Severity: calico.Error, Rule: calico.RuleForbidden,
		Message: fmt.Sprintf("the API server does not let this account %s %s%s", verb, what, w.without),
		Hint:    "the " + where + " has what is needed"}
}

// fullName is the resource with its group, as kubectl has it.
func (w *watcher) fullName() string {
	group := w.group
	if w.custom {
		group = w.gv.Group
	}
	if group == "" {
		return w.plural
	}
	return w.plural + "." + group
}
