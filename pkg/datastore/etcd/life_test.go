package etcd_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/birdconfd/birdconfd/test/backend"
)

// What comes in over the watches while a sign of life is on its way is newer than that, which
// is no reason to think that etcd went back.
func TestSignsOfLifeAmongChanges(t *testing.T) {
	eachVersion(t, func(t *testing.T, e *backend.Etcd, c *clientv3.Client) {
		e.Put(t, c, peerKey("a"), peer("a", "192.0.2.1"))
		o := impatient()
		o.Heartbeat = time.Millisecond
		w := watch(t, direct(e.Endpoints()[0]), o)
		w.PeersAre("a=192.0.2.1")
		var writers sync.WaitGroup
		for g := range 4 {
			writers.Go(func() {
				for i := range 1500 {
					if _, err := c.Put(t.Context(), peerKey("a"), peer("a", fmt.Sprintf("192.%d.%d.%d", g, i/200, i%200+1))); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		writers.Wait()
		e.Put(t, c, peerKey("a"), peer("a", "192.0.2.2"))
		w.PeersAre("a=192.0.2.2")
		if s := w.Source.Status(); s.Reads != 6 || s.Reconnects != 0 {
			t.Errorf("%d lists read, want 6, and connected anew %d times; log:\n%s", s.Reads, s.Reconnects, w.Log)
		}
	})
}

// W5 with several members: one of them is silent, which the others are not. While the watches
// are with that one it is not certain that nothing is newer, whatever the others say.
func TestSilentMember(t *testing.T) {
	e := backend.StartEtcd(t, backend.EtcdOptions{Members: 3})
	c := e.Client(t)
	connection := direct("")
	connection.Endpoints = nil
	var proxies []*backend.Proxy
	for i := range 3 {
		proxies = append(proxies, backend.NewProxy(t, e.Address(i)))
		connection.Endpoints = append(connection.Endpoints, proxies[i].URL("http"))
	}
	e.Put(t, c, peerKey("a"), peer("a", "192.0.2.1"))
	o := impatient()
	o.Timeout = 2 * time.Second
	w := watch(t, connection, o)
	w.PeersAre("a=192.0.2.1")
	for i, proxy := range proxies {
		proxy.Pause()
		address := fmt.Sprintf("192.0.2.%d", i+2)
		r, err := c.Put(t.Context(), peerKey("a"), peer("a", address))
		if err != nil {
			t.Fatal(err)
		}
		certain := map[time.Time]bool{}
		w.Until("the change", func() bool {
			s := w.Source.Status()
			if s.Parts[1].Revision == fmt.Sprint(r.Header.Revision) {
				return true
			}
			certain[s.SyncedAt] = true
			return false
		})
		if len(certain) > 2 { // that from before, and one that was on its way
			t.Errorf("it was certain %d times that nothing was newer, when something was", len(certain)-1)
		}
		w.PeersAre("a=" + address)
		proxy.Resume()
		w.Found()
	}
	if s := w.Source.Status(); s.Reads != 6 {
		t.Errorf("%d lists read, want 6", s.Reads)
	}
}

// etcd compacts what is being read, again and again.
func TestCompactionDuringTheList(t *testing.T) {
	eachVersion(t, func(t *testing.T, e *backend.Etcd, c *clientv3.Client) {
		for i := range 200 {
			key, value := node(fmt.Sprintf("node-%d", i), "192.0.2.1/24")
			e.Put(t, c, key, value)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var writing sync.WaitGroup
		defer writing.Wait()
		writing.Go(func() {
			for ctx.Err() == nil {
				if r, err := c.Put(ctx, "/other", "x"); err == nil {
					_, _ = c.Compact(ctx, r.Header.Revision)
				}
			}
		})
		o := impatient()
		o.Page = 1
		w := watch(t, direct(e.Endpoints()[0]), o)
		w.Until("compacted", func() bool { return w.Log.Count("compacted what was being read") > 0 })
		stop()
		w.PeersAre("")
		if s, _ := w.Last(); len(s.Cluster.Nodes) != 200 {
			t.Errorf("%d nodes", len(s.Cluster.Nodes))
		}
		w.Found()
	})
}
