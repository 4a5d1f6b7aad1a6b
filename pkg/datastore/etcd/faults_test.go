package etcd_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/birdconfd/birdconfd/test/backend"
)

// W3: etcd compacts what happened while the watch was away.
func TestCompactionInTheGap(t *testing.T) {
	eachVersion(t, func(t *testing.T, e *backend.Etcd, c *clientv3.Client) {
		for name, deletes := range map[string]bool{"with deletions": true, "without deletions": false} {
			t.Run(name, func(t *testing.T) {
				proxy := backend.NewProxy(t, e.Address(0))
				for i := range 3 {
					name := fmt.Sprint(i)
					e.Put(t, c, peerKey(name), peer(name, "192.0.2.1"))
				}
				w := watch(t, direct("http://"+proxy.Address()), impatient())
				w.PeersAre("0=192.0.2.1 1=192.0.2.1 2=192.0.2.1")
				proxy.Refuse()
				w.Lost()
				e.Put(t, c, peerKey("1"), peer("1", "192.0.2.2"))
				want := "0=192.0.2.1 1=192.0.2.2 2=192.0.2.1"
				if deletes {
					e.Delete(t, c, peerKey("0"))
					want = "1=192.0.2.2 2=192.0.2.1"
				}
				e.Put(t, c, "/other", "x")
				e.Compact(t, c)
				proxy.Open()
				w.PeersAre(want)
				w.Found()
				if s := w.Source.Status(); s.Reads != 12 { // six lists, twice
					t.Errorf("%d lists read, want 12", s.Reads)
				}
				if n := w.Log.Count("compacted changes"); n != 1 {
					t.Errorf("%d warnings of the compaction, log:\n%s", n, w.Log)
				}
				e.Delete(t, c, peerKey(""), clientv3.WithPrefix())
				w.PeersAre("")
			})
		}
	})
}

// Going on after an interruption needs no list, if nothing was compacted.
func TestAnInterruptionCostsNoList(t *testing.T) {
	eachVersion(t, func(t *testing.T, e *backend.Etcd, c *clientv3.Client) {
		proxy := backend.NewProxy(t, e.Address(0))
		e.Put(t, c, peerKey("a"), peer("a", "192.0.2.1"))
		w := watch(t, direct("http://"+proxy.Address()), impatient())
		w.PeersAre("a=192.0.2.1")
		certain := w.Source.Status().SyncedAt
		w.Until("certain again", func() bool { return w.Source.Status().SyncedAt.After(certain) }) // a heartbeat
		proxy.Refuse()
		w.Lost()
		e.Delete(t, c, peerKey("a"))
		e.Put(t, c, peerKey("b"), peer("b", "192.0.2.2"))
		w.PeersAre("a=192.0.2.1") // what is known stays in use
		lost := w.Source.Status()
		if !lost.Synced || lost.Connected {
			t.Errorf("status %+v", lost)
		}
		proxy.Open()
		w.PeersAre("b=192.0.2.2")
		w.Found()
		w.Until("certain again", func() bool { return w.Source.Status().SyncedAt.After(lost.SyncedAt) })
		if s := w.Source.Status(); s.Reads != 6 {
			t.Errorf("%d lists read, want 6", s.Reads)
		}
		if a, b := w.Log.Count("cannot be watched any more"), w.Log.Count("watching etcd"); a != 1 || b != 2 {
			t.Errorf("%d lines of the loss, %d of connections; log:\n%s", a, b, w.Log)
		}
	})
}

// W5: a connection over which nothing comes any more, without anybody closing it.
func TestHalfOpenConnection(t *testing.T) {
	eachVersion(t, func(t *testing.T, e *backend.Etcd, c *clientv3.Client) {
		proxy := backend.NewProxy(t, e.Address(0))
		e.Put(t, c, peerKey("a"), peer("a", "192.0.2.1"))
		o := impatient()
		o.Timeout = time.Second
		w := watch(t, direct("http://"+proxy.Address()), o)
		w.PeersAre("a=192.0.2.1")
		proxy.Pause()
		e.Put(t, c, peerKey("a"), peer("a", "192.0.2.2"))
		w.Lost()
		proxy.Resume()
		w.PeersAre("a=192.0.2.2")
		w.Found()
	})
}

// W6: etcd is not there yet, and W7: waiting for it is no work.
func TestAbsentAtStart(t *testing.T) {
	e := backend.StartEtcd(t, backend.EtcdOptions{})
	c := e.Client(t)
	e.Put(t, c, peerKey("a"), peer("a", "192.0.2.1"))
	proxy := backend.NewProxy(t, e.Address(0))
	proxy.Refuse()
	w := watch(t, direct("http://"+proxy.Address()), impatient())
	w.Lost()
	w.Until("some attempts", func() bool { return w.Source.Status().Parts[0].LastError != "" })
	if s := w.Source.Status(); s.Synced || s.Connected || !s.SyncedAt.IsZero() {
		t.Errorf("status %+v", s)
	}
	if _, n := w.Last(); n != 0 {
		t.Errorf("%d snapshots of nothing", n)
	}
	if n := w.Log.Count("etcd cannot be read yet"); n != 1 {
		t.Errorf("log:\n%s", w.Log)
	}
	proxy.Open()
	w.PeersAre("a=192.0.2.1")
	w.Found()
}

// W8: changes leave nothing behind.
func TestManyChanges(t *testing.T) {
	e := backend.StartEtcd(t, backend.EtcdOptions{})
	c := e.Client(t)
	e.Put(t, c, peerKey("a"), peer("a", "192.0.2.1"))
	o := impatient()
	o.UsePodCIDR = true
	w := watch(t, direct(e.Endpoints()[0]), o)
	w.PeersAre("a=192.0.2.1")
	if n := len(w.Source.Status().Parts); n != 5 {
		t.Errorf("%d parts with pod CIDRs, want 5", n)
	}
	change := func(n int) {
		for i := range n {
			e.Put(t, c, peerKey("a"), peer("a", fmt.Sprintf("192.0.%d.%d", i/200%200, i%200+1)))
		}
		e.Put(t, c, peerKey("a"), peer("a", "198.51.100.1"))
		w.PeersAre("a=198.51.100.1")
		w.Forget()
	}
	change(500)
	goroutines, heap := runtime.NumGoroutine(), inUse()
	change(10_000)
	if now := runtime.NumGoroutine(); now > goroutines+5 {
		t.Errorf("%d goroutines, before %d", now, goroutines)
	}
	if now := inUse(); now > heap+5<<20 {
		t.Errorf("%d bytes in use, before %d", now, heap)
	}
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestRestart(t *testing.T) {
	eachVersion(t, func(t *testing.T, e *backend.Etcd, c *clientv3.Client) {
		e.Put(t, c, peerKey("a"), peer("a", "192.0.2.1"))
		w := watch(t, direct(e.Endpoints()[0]), impatient())
		w.PeersAre("a=192.0.2.1")
		e.Kill(0)
		w.Lost()
		e.Start(t, 0)
		w.Found()
		e.Put(t, c, peerKey("b"), peer("b", "192.0.2.2"))
		w.PeersAre("a=192.0.2.1 b=192.0.2.2")
	})
}

// W12: etcd lost everything. It is the same cluster by its name, so that a watch from the
// revision that was known would wait for ever.
func TestWipedData(t *testing.T) {
	eachVersion(t, func(t *testing.T, e *backend.Etcd, c *clientv3.Client) {
		for i := range 20 {
			e.Put(t, c, peerKey("a"), peer("a", fmt.Sprintf("192.0.2.%d", i+1)))
		}
		e.Put(t, c, peerKey("b"), peer("b", "192.0.2.99"))
		o := impatient()
		o.HoldEmpty = 5 * time.Second
		w := watch(t, direct(e.Endpoints()[0]), o)
		w.PeersAre("a=192.0.2.20 b=192.0.2.99")
		e.Wipe(t, 0)
		w.Lost()
		e.Start(t, 0)
		w.PeersAre("a=192.0.2.20 b=192.0.2.99 emptied")
		e.Put(t, c, peerKey("a"), peer("a", "192.0.2.50")) // it is being restored
		w.PeersAre("a=192.0.2.50 b=192.0.2.99 emptied")
		w.PeersAre("a=192.0.2.50") // and what is not restored by then is gone
		if n := w.Log.Count("gone back to an older state") + w.Log.Count("another etcd cluster"); n != 1 {
			t.Errorf("log:\n%s", w.Log)
		}
	})
}

// Data that went back while the connection held: as when another member answers, or a
// proxy leads somewhere else.
func TestAnotherCluster(t *testing.T) {
	one, two := backend.StartEtcd(t, backend.EtcdOptions{}), backend.StartEtcd(t, backend.EtcdOptions{})
	c := one.Client(t)
	for i := range 5 {
		one.Put(t, c, peerKey("a"), peer("a", fmt.Sprintf("192.0.2.%d", i+1)))
	}
	d := two.Client(t)
	for i := range 50 {
		two.Put(t, d, peerKey("a"), peer("a", fmt.Sprintf("192.0.2.%d", i+100)))
	}
	proxy := backend.NewProxy(t, one.Address(0))
	w := watch(t, direct("http://"+proxy.Address()), impatient())
	w.PeersAre("a=192.0.2.5")
	proxy.Lead(two.Address(0))
	proxy.Cut()
	w.PeersAre("a=192.0.2.149")
	if n := w.Log.Count("another etcd cluster"); n != 1 {
		t.Errorf("log:\n%s", w.Log)
	}
}

// A majority is lost, and comes back. One member is no trouble at all.
func TestLossOfMembers(t *testing.T) {
	e := backend.StartEtcd(t, backend.EtcdOptions{Members: 3})
	c := e.Client(t)
	e.Put(t, c, peerKey("a"), peer("a", "192.0.2.1"))
	connection := direct("")
	connection.Endpoints = e.Endpoints()
	o := impatient()
	o.Timeout = 2 * time.Second
	w := watch(t, connection, o)
	w.PeersAre("a=192.0.2.1")
	e.Kill(0)
	e.Put(t, c, peerKey("a"), peer("a", "192.0.2.2"))
	w.PeersAre("a=192.0.2.2")
	w.Found()
	e.Kill(1) // now there is no leader
	w.Lost()
	e.Start(t, 1)
	w.Found()
	e.Put(t, c, peerKey("a"), peer("a", "192.0.2.3"))
	w.PeersAre("a=192.0.2.3")
	e.Start(t, 0)
	e.Kill(2)
	e.Put(t, c, peerKey("b"), peer("b", "192.0.2.4"))
	w.PeersAre("a=192.0.2.3 b=192.0.2.4")
	if s := w.Source.Status(); s.Reads != 6 {
		t.Errorf("%d lists read, want 6", s.Reads)
	}
}
