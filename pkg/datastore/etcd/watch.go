package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/connectivity"

	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
)

// word is what one of the watches says.
type word struct {
	kind *kind
	clientv3.WatchResponse
	closed bool
}

var errCut = errors.New("the connection to etcd is cut")

// watch watches all kinds until that fails.
func (f *Feed) watch(ctx context.Context, client *clientv3.Client) error {
	var running sync.WaitGroup
	defer running.Wait()
	// All watches share a stream, as their contexts ask for the same.
	ctx, stop := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer stop()
	words := make(chan word)
	for _, k := range f.kinds {
		watch := client.Watch(ctx, k.prefix, clientv3.WithPrefix(), clientv3.WithRev(k.next), clientv3.WithProgressNotify(), clientv3.WithCreatedNotify())
		running.Go(func() { forward(ctx, k, watch, words) })
	}
	signs := make(chan sign, 1)
	running.Go(func() { f.listen(ctx, client, signs) })
	waiting := len(f.kinds)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case s := <-signs:
			if s.err != nil {
				return fmt.Errorf("ask for a sign of life: %w", s.err)
			}
			if f.other(s.identity) {
				return errAnew
			}
			for _, k := range f.kinds {
				k.part.Seen("")
			}
		case w := <-words:
			if err := f.take(w); err != nil {
				return err
			}
			if w.Created {
				if waiting--; waiting == 0 {
					f.find()
				}
			}
		}
	}
}

// forward brings together what the watches say.
func forward(ctx context.Context, k *kind, watch clientv3.WatchChan, words chan<- word) {
	for {
		r, ok := <-watch
		select {
		case words <- word{k, r, !ok}:
		case <-ctx.Done():
			return
		}
		if !ok {
			return
		}
	}
}

// broken returns when the connection breaks, or cannot be made. The client would mend it by
// itself, but then nobody would know that there is none.
func broken(ctx context.Context, client *clientv3.Client) error {
	connection := client.ActiveConnection()
	was := false
	for state := connection.GetState(); ; state = connection.GetState() {
		if state == connectivity.TransientFailure || was && state != connectivity.Ready {
			return errCut
		}
		was = was || state == connectivity.Ready
		if !connection.WaitForStateChange(ctx, state) {
			return context.Cause(ctx)
		}
	}
}

// sign is a sign of life.
type sign struct {
	identity
	err error
}

// listen asks for signs of life. A linearizable read is one that needs a majority, and that
// works in all versions: before 3.4.25 and 3.5.8 the answer to a request for progress could
// overtake events (etcd issue 15220).
func (f *Feed) listen(ctx context.Context, client *clientv3.Client, signs chan<- sign) {
	for live.Sleep(ctx, live.Jitter(f.o.Heartbeat, 0.2)) {
		r, err := get(ctx, client, f.o.Timeout, f.kinds[0].prefix, clientv3.WithCountOnly())
		s := sign{err: err}
		if err == nil {
			s.identity = identityOf(r.Header)
		}
		select {
		case signs <- s:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// take takes in what a watch says.
func (f *Feed) take(w word) error {
	if w.CompactRevision != 0 {
		f.log.Warn("etcd has compacted changes that were not seen yet; everything is read anew",
			"wanted", w.kind.next, "compacted", w.CompactRevision)
		return errAnew
	}
	if err := w.Err(); err != nil {
		return f.refused(w.kind, fmt.Errorf("watch %s: %w", w.kind.prefix, err))
	}
	if w.closed {
		return fmt.Errorf("watch %s: %w", w.kind.prefix, errCut)
	}
	// A member may be behind others in terms and revisions, but not in another cluster.
	if now := (identity{w.Header.ClusterId, f.store.term, max(w.Header.Revision, f.store.revision)}); f.other(now) {
		return errAnew
	}
	// The header of a response with events may be ahead of events that are still to come.
	for _, e := range w.Events {
		w.kind.event(e)
	}
	if w.IsProgressNotify() {
		w.kind.next = w.Header.Revision + 1
		w.kind.part.Seen(decimal(w.Header.Revision))
	}
	return nil
}

// event takes in one change. Where to go on is told by the revision of the change itself,
// which for a deletion is not that of the value which is gone.
func (k *kind) event(e *clientv3.Event) {
	k.next = e.Kv.ModRevision + 1
	key, revision := string(e.Kv.Key), decimal(e.Kv.ModRevision)
	switch {
	case !k.ours(key):
	case e.Type == mvccpb.DELETE:
		k.part.Remove(key, revision)
	default:
		k.part.Put(live.Item{Key: key, Data: e.Kv.Value}, revision)
	}
}
