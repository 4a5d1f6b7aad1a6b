package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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

// soon is when etcd is asked for the first sign of life.
const soon = 2 * time.Second

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
		from := k.next
		running.Go(func() {
			forward(ctx, k, client.Watch(ctx, k.prefix, clientv3.WithPrefix(), clientv3.WithRev(from),
				clientv3.WithProgressNotify(), clientv3.WithCreatedNotify()), words)
		})
	}
	signs := make(chan sign)
	limit := time.NewTimer(f.o.Timeout)
	defer limit.Stop()
	beat := time.NewTimer(0)
	beat.Stop()
	defer beat.Stop()
	waiting := len(f.kinds)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-limit.C:
			return fmt.Errorf("watch: etcd has not begun to within %s", f.o.Timeout)
		case <-beat.C:
			known := f.store
			running.Go(func() {
				s := f.listen(ctx, client)
				s.known = known
				select {
				case signs <- s:
				case <-ctx.Done():
				}
			})
		case s := <-signs:
			if err := f.hear(s); err != nil {
				return err
			}
			beat.Reset(live.Jitter(f.o.Heartbeat, 0.2))
		case w := <-words:
			if err := f.take(w); err != nil {
				return err
			}
			if w.Created {
				if waiting--; waiting == 0 {
					limit.Stop()
					f.find()
					// Soon, to know that an outage is over; but what was missed may take 100 ms to come.
					beat.Reset(live.Jitter(min(f.o.Heartbeat, soon), 0.2))
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
	if f.other(f.store, identity{w.Header.ClusterId, f.store.term, max(w.Header.Revision, f.store.revision)}) {
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
