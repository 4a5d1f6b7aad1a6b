package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
)

// Feed fills the parts of a store. It implements live.Feed.
type Feed struct {
	o     Options
	log   *slog.Logger
	kinds []*kind

	// What follows belongs to the goroutine of Run.
	store identity
	// listed tells that everything was read once, so that only what is newer matters.
	listed bool
	denied map[*kind]calico.Problem
	lost   time.Time // since when there is no connection; zero while there is one
	// reasons are why there is none, as far as it was logged.
	reasons live.Reasons
}

// identity tells one etcd from another, and one state of it from an older one: neither its
// term nor its revision ever gets smaller.
type identity struct {
	cluster, term uint64
	revision      int64
}

func identityOf(h *etcdserverpb.ResponseHeader) identity {
	return identity{h.ClusterId, h.RaftTerm, h.Revision}
}

// NewFeed adds the parts that etcd has to a store: those of Calico's resources and nodes, and
// of the node's block affinities.
func NewFeed(store *live.Store, o Options) *Feed {
	o = o.complete()
	return &Feed{o: o, log: o.Logger, kinds: kinds(store, o), denied: map[*kind]calico.Problem{}}
}

// Need implements live.Feed. Neither Services nor Secrets are in etcd.
func (f *Feed) Need(live.Needs) bool { return false }

// errAnew asks for everything to be read anew at once.
var errAnew = errors.New("everything must be read anew")

// Run implements live.Feed.
func (f *Feed) Run(ctx context.Context) {
	f.lost = time.Now()
	for failures := 0; ; {
		began := time.Now()
		err := f.round(ctx)
		if ctx.Err() != nil {
			return
		}
		if f.lost.IsZero() && time.Since(began) > 4*f.o.Retry { // it went well for some time
			failures = 0
		}
		if errors.Is(err, errAnew) {
			f.listed = false
			if failures == 0 {
				failures++
				continue
			}
		} else {
			f.lose(err)
		}
		wait := min(f.o.Retry<<min(failures, 10), longestRetry)
		failures++
		if !live.Sleep(ctx, live.Jitter(wait, 0.5)) {
			return
		}
	}
}

// round connects, reads what is missing, and watches until that fails.
func (f *Feed) round(ctx context.Context) error {
	client, err := f.o.Connection.Connect(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer client.Close()
	whole := ctx
	ctx, cut := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cut(nil)
	running.Go(func() { cut(broken(ctx, client)) })
	clear(f.denied)
	if err := f.use(ctx, client); err != nil && context.Cause(ctx) == nil {
		f.refusals(ctx, client)
		return err // the connection itself is sound
	}
	err = context.Cause(ctx)
	if errors.Is(err, errCut) {
		if found := f.o.Connection.diagnose(whole, client.Endpoints()); found != nil {
			err = found
		}
	}
	return err
}

// use reads what is missing, and watches until that fails.
func (f *Feed) use(ctx context.Context, client *clientv3.Client) error {
	if f.listed {
		if err := f.recognize(ctx, client); err != nil {
			return err
		}
	}
	if !f.listed {
		if err := f.list(ctx, client); err != nil {
			return err
		}
	}
	return f.watch(ctx, client)
}

// recognize asks whether this is still the etcd that was read, or one that knows less.
func (f *Feed) recognize(ctx context.Context, client *clientv3.Client) error {
	r, err := get(ctx, client, f.o.Timeout, f.kinds[0].prefix, clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("ask for the revision: %w", err)
	}
	if f.other(f.store, identityOf(r.Header)) {
		f.listed = false
	}
	return nil
}

// other tells whether an answer comes from another etcd than the one that was read, or from
// one that was put back to a state older than what was known when it was asked. What is newer
// is remembered.
func (f *Feed) other(known, now identity) bool {
	switch {
	case now.cluster != known.cluster:
		f.log.Warn("this is another etcd cluster than before; everything is read anew", "cluster_id", fmt.Sprintf("%x", now.cluster))
	case now.revision < known.revision || now.term < known.term:
		f.log.Warn("etcd has gone back to an older state; everything is read anew", "revision", now.revision, "known", known.revision)
	default:
		f.store = identity{now.cluster, max(now.term, f.store.term), max(now.revision, f.store.revision)}
		return false
	}
	return true
}

// lose reports that there is no connection.
func (f *Feed) lose(err error) {
	switch news := f.reasons.New(err); {
	case f.lost.IsZero():
		f.lost = time.Now()
		f.log.Warn("etcd cannot be watched any more; what is known stays in use", "error", err)
	case news && f.listed:
		f.log.Warn("etcd still cannot be watched", "error", err)
	case news:
		f.log.Warn("etcd cannot be read yet", "error", err)
	}
	for _, k := range f.kinds {
		if p, denied := f.denied[k]; denied && f.reasons.New(errors.New(p.Message)) {
			f.log.Error(p.Message, "hint", p.Hint)
		}
		if p, denied := f.denied[k]; denied {
			k.part.Lost(err, p)
			continue
		}
		k.part.Lost(err)
	}
}

// find reports that everything is watched.
func (f *Feed) find() {
	if f.lost.IsZero() {
		return
	}
	f.log.Info("watching etcd", "revision", f.store.revision, "away", time.Since(f.lost).Round(time.Millisecond))
	f.lost = time.Time{}
	f.reasons.Clear()
	for _, k := range f.kinds {
		k.part.Found()
	}
}
