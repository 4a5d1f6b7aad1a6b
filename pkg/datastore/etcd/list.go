package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
)

// list reads all kinds as of one revision, and hands them over when it has all of them.
func (f *Feed) list(ctx context.Context, client *clientv3.Client) error {
	f.store.revision = 0
	lists := make([][]live.Item, len(f.kinds))
	for i, k := range f.kinds {
		var err error
		if lists[i], err = f.page(ctx, client, k); errors.Is(err, rpctypes.ErrCompacted) {
			f.log.Warn("etcd has compacted what was being read; everything is read anew", "revision", f.store.revision)
			return errAnew
		} else if err != nil {
			return err
		}
	}
	for i, k := range f.kinds {
		k.next = f.store.revision + 1
		k.part.Replace(lists[i], decimal(f.store.revision))
	}
	f.listed = true
	return nil
}

// page reads a kind page by page, the first of all as of now and the rest as of then.
func (f *Feed) page(ctx context.Context, client *clientv3.Client, k *kind) ([]live.Item, error) {
	var items []live.Item
	end := clientv3.GetPrefixRangeEnd(k.prefix)
	for from := k.prefix; ; {
		options := []clientv3.OpOption{clientv3.WithRange(end), clientv3.WithLimit(f.o.Page), clientv3.WithRev(f.store.revision),
			clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend)}
		r, err := get(ctx, client, f.o.Timeout, from, options...)
		if err != nil {
			return nil, f.refused(k, fmt.Errorf("list %s: %w", k.prefix, err))
		}
		if f.store.revision == 0 {
			f.store = identityOf(r.Header)
		}
		for _, kv := range r.Kvs {
			if key := string(kv.Key); k.ours(key) {
				items = append(items, live.Item{Key: key, Data: kv.Value})
			}
		}
		if !r.More || len(r.Kvs) == 0 {
			return items, nil
		}
		from = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
}

func get(ctx context.Context, client *clientv3.Client, timeout time.Duration, key string, o ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return client.Get(ctx, key, o...)
}

// refused remembers which kind etcd does not let us read.
func (f *Feed) refused(k *kind, err error) error {
	// A watch that is refused has another code than a list, but the same words.
	if strings.Contains(err.Error(), rpctypes.ErrPermissionDenied.Error()) {
		f.denied[k] = calico.Problem{Severity: calico.Error, Rule: calico.RuleForbidden, Position: calico.Position{File: k.prefix},
			Message: fmt.Sprintf("etcd does not let this user read the keys below %s", k.prefix),
			Hint:    fmt.Sprintf("etcdctl role grant-permission --prefix=true ROLE read %s", k.prefix)}
	}
	return err
}

// refusals finds out which kinds etcd does not let us read either, once it is known that there
// is one: all of them are better said at once.
func (f *Feed) refusals(ctx context.Context, client *clientv3.Client) {
	if len(f.denied) == 0 {
		return
	}
	for _, k := range f.kinds {
		if _, known := f.denied[k]; known {
			continue
		}
		if _, err := get(ctx, client, f.o.Timeout, k.prefix, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly()); err != nil {
			_ = f.refused(k, err) // whatever else is wrong with it shows in the next round
		}
	}
}

func decimal(revision int64) string { return strconv.FormatInt(revision, 10) }
