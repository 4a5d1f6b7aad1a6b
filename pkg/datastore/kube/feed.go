package kube

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
)

// longestRetry bounds how long to wait before something is tried again.
const longestRetry = 30 * time.Second

// Feed fills the parts of a store. It implements live.Feed.
type Feed struct {
	o       Options
	log     *slog.Logger
	store   *live.Store
	clients *clients
	calico  []*watcher // of Calico's resources
	nodes   *watcher
	prune   chan struct{}

	mu      sync.Mutex
	ctx     context.Context // nil before Run
	running sync.WaitGroup
	needed  map[string]*needed
	away    map[*watcher]bool // those that cannot watch
	since   time.Time         // since when there are any
	reasons live.Reasons      // why there are some, as far as it was logged
	greeted bool              // whether there have ever been none
}

// needed is a watcher that may be stopped.
type needed struct {
	*watcher
	stop func() // nil before it runs
}

var quietKlog = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// NewFeed adds the parts that are always read to a store. It connects to nothing. The error
// says what is wrong with the configuration.
func NewFeed(store *live.Store, o Options) (*Feed, error) {
	quietKlog() // what the libraries have to say is said in other words, by this package
	o = o.complete()
	c, err := newClients(o.Config)
	if err != nil {
		return nil, err
	}
	f := &Feed{o: o, log: o.Logger, store: store, clients: c, prune: make(chan struct{}, 1), needed: map[string]*needed{},
		away: map[*watcher]bool{}, since: time.Now()}
	if o.Calico {
		for _, r := range calicoResources(o) {
			w := f.newWatcher(r)
			f.calico = append(f.calico, w)
			f.away[w] = true
		}
		f.nodes = f.newWatcher(nodes)
		f.away[f.nodes] = true
	}
	return f, nil
}

// Run implements live.Feed.
func (f *Feed) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.mu.Lock()
	f.ctx = ctx
	for _, n := range f.needed {
		f.start(n)
	}
	if f.nodes != nil {
		f.running.Go(func() { f.runOne(ctx, f.nodes) })
		f.running.Go(func() { f.runCalico(ctx) })
	}
	f.mu.Unlock()
	<-ctx.Done()
	f.mu.Lock()
	f.ctx = nil
	f.mu.Unlock()
	f.running.Wait()
}

// runCalico finds out where Calico's resources are, and watches them.
func (f *Feed) runCalico(ctx context.Context) {
	var gv groupVersion
	for wait := f.o.Retry; ; wait = min(2*wait, longestRetry) {
		var err error
		if gv, err = f.clients.choose(ctx, f.o.Group); err == nil {
			break
		}
		if ctx.Err() != nil {
			return
		}
		for _, w := range f.calico {
			w.lost(fmt.Errorf("find Calico's resources: %w", plainError(err)))
		}
		if !live.Sleep(ctx, live.Jitter(wait, 0.5)) {
			return
		}
	}
	f.running.Go(func() { f.watchPruning(ctx, gv) })
	for _, w := range f.calico {
		w.gv, w.lister = gv, f.clients.custom(gv.WithResource(w.plural))
		f.running.Go(func() { w.run(ctx) })
	}
}

func (f *Feed) runOne(ctx context.Context, w *watcher) {
	w.lister = w.list(f.clients)
	w.run(ctx)
}

// Need implements live.Feed.
func (f *Feed) Need(n live.Needs) bool {
	wanted := map[string]resource{}
	if n.Services {
		for _, r := range services {
			wanted[r.name] = r
		}
	}
	for _, name := range n.Secrets {
		r := secret(f.o.SecretNamespace, name)
		wanted[r.name] = r
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := false
	for name, have := range f.needed {
		if _, still := wanted[name]; still {
			continue
		}
		if have.stop != nil {
			have.stop()
		}
		have.part.Drop()
		delete(f.needed, name)
		f.back(have.watcher)
		changed = true
	}
	for name, r := range wanted {
		if f.needed[name] != nil {
			continue
		}
		f.needed[name] = &needed{watcher: f.newWatcher(r)}
		f.start(f.needed[name])
		changed = true
	}
	return changed
}

// start has something that is needed watched, if the feed runs.
func (f *Feed) start(n *needed) {
	if f.ctx == nil {
		return
	}
	var ctx context.Context
	ctx, n.stop = context.WithCancel(f.ctx)
	f.running.Go(func() { f.runOne(ctx, n.watcher) })
}

// lost and found log the loss of the server, or of a part of what it has, once.
func (f *Feed) lost(w *watcher, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.needed[w.name]; w.optional && (n == nil || n.watcher != w) {
		return
	}
	switch news := f.reasons.New(err); {
	case len(f.away) == 0:
		f.since = time.Now()
		f.log.Warn("Kubernetes cannot be watched any more, at least in part; what is known stays in use", "part", w.name, "error", err)
	case news && f.greeted:
		f.log.Warn("Kubernetes still cannot be watched, at least in part", "part", w.name, "error", err)
	case news:
		f.log.Warn("Kubernetes cannot be read yet, at least in part", "part", w.name, "error", err)
	}
	f.away[w] = true
}

func (f *Feed) found(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.back(w)
}

// back notes that something is watched, or need not be any more.
func (f *Feed) back(w *watcher) {
	if !f.away[w] {
		return
	}
	if delete(f.away, w); len(f.away) == 0 {
		f.reasons.Clear()
		f.greeted = true
		f.log.Info("watching Kubernetes", "away", time.Since(f.since).Round(time.Millisecond), "objects", f.objects())
	}
}

// objects counts what is known, as in "BGPPeers 3, Nodes 120".
func (f *Feed) objects() string {
	var out []string
	add := func(w *watcher) { out = append(out, fmt.Sprintf("%s %d", w.name, w.part.Len())) }
	for _, w := range f.calico {
		add(w)
	}
	if f.nodes != nil {
		add(f.nodes)
	}
	for _, name := range slices.Sorted(maps.Keys(f.needed)) {
		add(f.needed[name].watcher)
	}
	return strings.Join(out, ", ")
}
