package etcd_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live/livetest"
	"github.com/birdconfd/birdconfd/test/backend"
)

func TestEverythingIsRead(t *testing.T) {
	eachVersion(t, func(t *testing.T, e *backend.Etcd, c *clientv3.Client) {
		put := func(key, value string) { e.Put(t, c, key, value) }
		put(peerKey("tor"), peer("tor", "192.0.2.254"))
		put(resources+"bgpconfigurations/default", `{"kind":"BGPConfiguration","apiVersion":"projectcalico.org/v3","metadata":{"name":"default"},"spec":{"asNumber":64600,"gracefulRestartWait":"20s"}}`)
		put(resources+"bgpfilters/f", `{"kind":"BGPFilter","apiVersion":"projectcalico.org/v3","metadata":{"name":"f"},"spec":{"exportV4":[{"action":"Reject"}]}}`)
		put(resources+"ippools/p", `{"kind":"IPPool","apiVersion":"projectcalico.org/v3","metadata":{"name":"p"},"spec":{"cidr":"10.244.0.0/16"}}`)
		for i := range 7 { // more than two pages
			put(node(fmt.Sprintf("node-%d", i), fmt.Sprintf("192.0.2.%d/24", i+1)))
		}
		put(affinityKey("alpha", "ipv4/block/10.244.1.0-26"), `{"state":"confirmed","deleted":false}`)
		put(affinityKey("alpha", "ipv6/block/fd00:10:244::40-122"), "")
		put(affinityKey("alpha", "ipv4/block/10.244.2.0-26"), `{"state":"pending","deleted":false}`)
		put(affinityKey("alpha", "ipv4/block/10.244.3.0-26"), `{"state":"confirmed","deleted":true}`)
		put(affinityKey("alpha-2", "ipv4/block/10.244.4.0-26"), `{"state":"confirmed","deleted":false}`)
		put(affinityKey("alpha", "something/else"), "x")
		put(resources+"bgppeers/with/slash", "x")
		put(resources+"clusterinformations/default", "x")

		o := impatient()
		o.Page = 3
		w := watch(t, direct(e.Endpoints()[0]), o)
		w.PeersAre("tor=192.0.2.254")
		s, _ := w.Last()
		var nodes, blocks []string
		for _, n := range s.Cluster.Nodes {
			nodes = append(nodes, n.Name+" "+n.IPv4.String()+" "+n.Labels["rack"])
		}
		for _, a := range s.Cluster.Affinities {
			blocks = append(blocks, a.Node+" "+a.CIDR.String())
		}
		if len(nodes) != 7 || nodes[6] != "node-6 192.0.2.7/24 r1" {
			t.Errorf("nodes %q", nodes)
		}
		slices.Sort(blocks)
		same(t, "affinities", blocks, []string{"alpha 10.244.1.0/26", "alpha fd00:10:244::40/122"})
		if d := s.Cluster.Default(); d.ASNumber != 64600 || d.GracefulRestartWait == nil {
			t.Errorf("configuration %+v", d)
		}
		if len(s.Cluster.Filters) != 1 || len(s.Cluster.Pools) != 1 || len(s.Problems) != 0 {
			t.Errorf("filters %v, pools %v, problems %v", s.Cluster.Filters, s.Cluster.Pools, s.Problems)
		}
		status := w.Source.Status()
		if !status.Connected || !status.Synced || len(status.Parts) != 6 || status.Parts[0].Revision == "" || status.SyncedAt.IsZero() {
			t.Errorf("status %+v", status)
		}
	})
}

func TestChangesArrive(t *testing.T) {
	eachVersion(t, func(t *testing.T, e *backend.Etcd, c *clientv3.Client) {
		w := watch(t, direct(e.Endpoints()[0]), impatient())
		w.PeersAre("")
		e.Put(t, c, peerKey("a"), peer("a", "192.0.2.1"))
		w.PeersAre("a=192.0.2.1")
		e.Put(t, c, peerKey("a"), peer("a", "192.0.2.2"))
		e.Put(t, c, peerKey("b"), peer("b", "192.0.2.3"))
		w.PeersAre("a=192.0.2.2 b=192.0.2.3")
		// W10: deleted and made anew, at once and one after the other.
		e.Delete(t, c, peerKey("a"))
		e.Put(t, c, peerKey("a"), peer("a", "192.0.2.4"))
		w.PeersAre("a=192.0.2.4 b=192.0.2.3")
		e.Delete(t, c, peerKey("b"))
		w.PeersAre("a=192.0.2.4")
		e.Put(t, c, peerKey("b"), peer("b", "192.0.2.5"))
		w.PeersAre("a=192.0.2.4 b=192.0.2.5")
		e.Delete(t, c, resources, clientv3.WithPrefix()) // each by itself: that was meant
		w.PeersAre("")
	})
}

// A value that cannot be read any more keeps what it was, and mending it counts at once.
func TestMalformedValues(t *testing.T) {
	eachVersion(t, func(t *testing.T, e *backend.Etcd, c *clientv3.Client) {
		malformed := map[string]string{
			"cut off":        `{`,
			"empty":          ``,
			"another kind":   `{"kind":"IPPool","apiVersion":"projectcalico.org/v3","metadata":{"name":"a"},"spec":{"cidr":"10.0.0.0/8"}}`,
			"another name":   peer("other", "192.0.2.9"),
			"a wrong type":   `{"kind":"BGPPeer","apiVersion":"projectcalico.org/v3","metadata":{"name":"a"},"spec":{"peerIP":"192.0.2.1","asNumber":64512,"ttlSecurity":300}}`,
			"not even UTF-8": "\xff\xfe{}",
		}
		e.Put(t, c, peerKey("bad"), "{")
		e.Put(t, c, peerKey("a"), peer("a", "192.0.2.1"))
		w := watch(t, direct(e.Endpoints()[0]), impatient())
		w.PeersAre("a=192.0.2.1 syntax") // what was never good does not keep the rest from being used
		good := 2
		for name, value := range malformed {
			e.Put(t, c, peerKey("a"), value)
			w.Until(name, func() bool { s, _ := w.Last(); return len(s.Problems) == 2 })
			s, _ := w.Last()
			if got := livetest.Peers(s); !strings.HasPrefix(got, fmt.Sprintf("a=192.0.2.%d ", good-1)) {
				t.Errorf("%s: %s", name, got)
			}
			if text := fmt.Sprint(s.Problems); !strings.Contains(text, "stays in use") || !strings.Contains(text, peerKey("a")) {
				t.Errorf("%s: problems %s", name, text)
			}
			e.Put(t, c, peerKey("a"), peer("a", fmt.Sprintf("192.0.2.%d", good)))
			w.PeersAre(fmt.Sprintf("a=192.0.2.%d syntax", good))
			good++
		}
		e.Put(t, c, peerKey("bad"), peer("bad", "192.0.2.100"))
		w.PeersAre(fmt.Sprintf("a=192.0.2.%d bad=192.0.2.100", good-1))
		// Deleting a malformed one is nothing special.
		e.Put(t, c, peerKey("bad"), "{")
		e.Delete(t, c, peerKey("bad"))
		w.PeersAre(fmt.Sprintf("a=192.0.2.%d", good-1))
		if s := w.Source.Status(); s.Reads != 6 || s.Reconnects != 0 {
			t.Errorf("it was read %d times and connected anew %d times: nothing of this is a reason for that", s.Reads, s.Reconnects)
		}
	})
}

// Without the settings of all nodes nothing begins: there would be other AS numbers, and a mesh.
func TestDefaultThatCannotBeRead(t *testing.T) {
	e := backend.StartEtcd(t, backend.EtcdOptions{})
	c := e.Client(t)
	key := resources + "bgpconfigurations/default"
	e.Put(t, c, key, "{")
	e.Put(t, c, peerKey("a"), peer("a", "192.0.2.1"))
	w := watch(t, direct(e.Endpoints()[0]), impatient())
	w.Until("it is said", func() bool { return strings.Contains(w.Source.Status().LastError, key) })
	if _, n := w.Last(); n != 0 || w.Source.Status().Synced {
		t.Errorf("%d snapshots", n)
	}
	w.Until("it is logged", func() bool { return w.Log.Count("nothing is done before this is mended") == 1 })
	e.Put(t, c, key, `{"kind":"BGPConfiguration","apiVersion":"projectcalico.org/v3","metadata":{"name":"default"},"spec":{"asNumber":64600}}`)
	w.PeersAre("a=192.0.2.1")
	e.Put(t, c, key, "{") // later the last good one stays
	w.PeersAre("a=192.0.2.1 syntax")
}

// A deletion, and then a malformed value: nothing goes back to what it was before.
func TestNothingIsReplayed(t *testing.T) {
	eachVersion(t, func(t *testing.T, e *backend.Etcd, c *clientv3.Client) {
		proxy := backend.NewProxy(t, e.Address(0))
		e.Put(t, c, peerKey("gone"), peer("gone", "192.0.2.1"))
		e.Put(t, c, peerKey("third"), peer("third", "192.0.2.11"))
		w := watch(t, direct("http://"+proxy.Address()), impatient())
		w.PeersAre("gone=192.0.2.1 third=192.0.2.11")
		for _, address := range []string{"192.0.2.12", "192.0.2.13"} {
			e.Put(t, c, peerKey("third"), peer("third", address))
			w.PeersAre("gone=192.0.2.1 third=" + address)
		}
		e.Delete(t, c, peerKey("gone"))
		w.PeersAre("third=192.0.2.13")
		e.Put(t, c, peerKey("x"), "{")
		w.PeersAre("third=192.0.2.13 syntax")
		for range 3 { // and going on from there after an interruption does not either
			before := proxy.Accepted()
			proxy.Cut()
			w.Until("connected anew", func() bool { return proxy.Accepted() > before })
			w.Found()
		}
		e.Put(t, c, peerKey("x"), peer("x", "192.0.2.99"))
		w.PeersAre("third=192.0.2.13 x=192.0.2.99")
		same(t, "third", w.history("third"), []string{"192.0.2.11", "192.0.2.12", "192.0.2.13"})
		same(t, "gone", w.history("gone"), []string{"192.0.2.1", "absent"})
		if s := w.Source.Status(); s.Reads != 6 {
			t.Errorf("it was read %d times, although nothing was missed", s.Reads)
		}
	})
}
