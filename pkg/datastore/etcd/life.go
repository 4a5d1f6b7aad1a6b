package etcd

import (
	"context"
	"fmt"
	"math"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
)

// sign is a sign of life.
type sign struct {
	identity
	// known is what was known before it was asked for: what comes in over the watches
	// meanwhile may be newer, which does not make the sign one of an older etcd.
	known identity
	err   error
}

// listen asks for a sign of life, of etcd and of the stream with the watches. Of etcd it is a
// linearizable read, which needs a majority.
//
// With several members the read may be answered by another one than that with the stream, and
// there have been versions whose streams starved while reads went on (etcd issue 15402). So
// one more watch is begun on the stream, of a key that nobody writes, until the member there
// knows what the read knew. Asking for progress would be simpler, but before 3.4.25 and 3.5.8
// the answer could overtake events (etcd issue 15220), and the client, which goes by it when
// it mends a stream, would then leave those out.
func (f *Feed) listen(ctx context.Context, client *clientv3.Client) sign {
	key := f.kinds[0].prefix
	r, err := get(ctx, client, f.o.Timeout, key, clientv3.WithCountOnly())
	if err != nil {
		return sign{err: fmt.Errorf("ask for a sign of life: %w", err)}
	}
	now := identityOf(r.Header)
	ctx, cancel := context.WithTimeout(ctx, f.o.Timeout)
	defer cancel()
	for pause := time.Millisecond; ; pause *= 2 {
		switch revision, err := begin(ctx, client, key); {
		case err != nil:
			return sign{err: fmt.Errorf("watch: there was no sign of life for %s, while etcd can be read", f.o.Timeout)}
		case revision >= now.revision:
			return sign{identity: now}
		case !live.Sleep(ctx, pause):
			return sign{err: fmt.Errorf("watch: the member of etcd is behind the others, by %d revisions after %s",
				now.revision-revision, f.o.Timeout)}
		}
	}
}

// begin begins a watch and ends it again, and returns the revision of the member that answers.
func begin(ctx context.Context, client *clientv3.Client, key string) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, ok := <-client.Watch(ctx, key, clientv3.WithCreatedNotify())
	if (!ok || r.Canceled) && ctx.Err() == nil {
		// It is refused, as when the login that the stream began with has run out, which is an
		// answer as good as any. If the stream had ended, all the other watches had, too.
		return math.MaxInt64, nil
	}
	return r.Header.GetRevision(), ctx.Err()
}

// hear takes in a sign of life.
func (f *Feed) hear(s sign) error {
	if s.err != nil {
		return s.err
	}
	if f.other(s.known, s.identity) {
		return errAnew
	}
	for _, k := range f.kinds {
		k.part.Seen("")
	}
	return nil
}
