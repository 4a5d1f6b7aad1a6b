package kube_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live/livetest"
	"github.com/birdconfd/birdconfd/test/backend"
)

// A resource that is removed takes all its objects along, on the server.
func TestRemovedResource(t *testing.T) {
	eachGroup(t, func(t *testing.T, k *backend.Kube, group string) {
		var text, want strings.Builder
		for i := range 20 {
			text.WriteString(peer(group, fmt.Sprintf("p%02d", i), "192.0.2.1"))
			fmt.Fprintf(&want, "p%02d=192.0.2.1 ", i)
		}
		k.Apply(t, text.String())
		all := strings.TrimSpace(want.String())
		o := in(group, k.Admin())
		o.HoldEmpty = 15 * time.Second
		w := watch(t, o, live.Needs{})
		w.PeersAre(all)
		k.RemoveCRD(t, group, "bgppeers")
		w.PeersAre(all + " not-installed")
		if s, _ := w.Last(); !strings.Contains(problem(s, calico.RuleNotInstalled), "the 20 that are known stay in use") {
			t.Error(problem(s, calico.RuleNotInstalled))
		}
		w.Lost()
		// It is made anew, and is empty at first: that is not believed for a while.
		k.InstallCRDs(t, group, "bgppeers")
		w.Is("emptied", func(s datastore.Snapshot) bool {
			return strings.HasPrefix(livetest.Peers(s), all) && problem(s, calico.RuleEmptied) != ""
		})
		k.Apply(t, peer(group, "p00", "192.0.2.99"))
		w.PeersAre("p00=192.0.2.99")
		w.Found()
		for _, s := range w.All() {
			if n := len(s.Cluster.Peers); n != 20 && n != 1 {
				t.Errorf("a snapshot with %d peers", n)
			}
		}
	})
}

// An older Calico lacks some resources. That is no reason to do nothing.
func TestResourceThatNeverWas(t *testing.T) {
	k := backend.SharedKube(t)
	k.Clear(t)
	k.InstallCRDs(t, backend.GroupV1, "bgpconfigurations", "bgppeers", "ippools", "blockaffinities")
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.1"))
	w := watch(t, impatient(k.Admin()), live.Needs{})
	w.PeersAre("a=192.0.2.1 not-installed")
	if s, _ := w.Last(); !strings.Contains(problem(s, calico.RuleNotInstalled), "warning: the API server does not have bgpfilters.crd.projectcalico.org") {
		t.Error(problem(s, calico.RuleNotInstalled))
	}
	k.InstallCRDs(t, backend.GroupV1, "bgpfilters")
	k.Apply(t, resource(backend.GroupV1, "BGPFilter", "f", "exportV4: [{action: Reject}]"))
	w.Is("the filter", func(s datastore.Snapshot) bool {
		return len(s.Cluster.Filters) == 1 && problem(s, calico.RuleNotInstalled) == ""
	})
}

func TestRestart(t *testing.T) {
	t.Parallel()
	k := backend.StartKube(t)
	k.InstallCRDs(t, backend.GroupV1, backend.CalicoPlurals...)
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.1")+peer(backend.GroupV1, "b", "192.0.2.2"))
	w := watch(t, impatient(k.Admin()), live.Needs{Services: true})
	w.PeersAre("a=192.0.2.1 b=192.0.2.2")
	k.Kill()
	w.Lost()
	w.PeersAre("a=192.0.2.1 b=192.0.2.2")
	k.Start(t)
	k.Delete(t, backend.GroupV1, "BGPPeer", "", "b")
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.3"))
	w.PeersAre("a=192.0.2.3")
	w.Found()
	// Once, or twice when parts notice one after the other, but not with each attempt.
	if a, b := w.Log.Count("cannot be watched any more"), w.Log.Count("watching Kubernetes"); a > 2 || b != a+1 {
		t.Errorf("%d lines of the loss, %d of connections; log:\n%s", a, b, w.Log)
	}
}

func TestCutAndSilentConnections(t *testing.T) {
	k := backend.SharedKube(t)
	k.Both(t)
	k.Apply(t, peer(backend.GroupV3, "a", "192.0.2.1"))
	proxy := backend.NewProxy(t, k.Address())
	w := watch(t, in(backend.GroupV3, backend.Through(k.Admin(), proxy)), live.Needs{})
	w.PeersAre("a=192.0.2.1")
	for i, fault := range []func(){proxy.Cut, proxy.Refuse, proxy.Pause} {
		fault()
		if i > 0 {
			w.Lost()
		}
		k.Apply(t, peer(backend.GroupV3, "a", fmt.Sprintf("192.0.2.%d", 10+i)))
		proxy.Open()
		proxy.Resume()
		w.PeersAre(fmt.Sprintf("a=192.0.2.%d", 10+i))
		w.Found()
	}
}

// The server does not remember what was when the watch ended.
func TestExpiredWatch(t *testing.T) {
	t.Parallel()
	k := backend.StartKube(t)
	k.InstallCRDs(t, backend.GroupV1, backend.CalicoPlurals...)
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.1")+peer(backend.GroupV1, "b", "192.0.2.2"))
	proxy := backend.NewProxy(t, k.Address())
	w := watch(t, impatient(backend.Through(k.Admin(), proxy)), live.Needs{})
	w.PeersAre("a=192.0.2.1 b=192.0.2.2")
	proxy.Refuse()
	w.Lost()
	k.Delete(t, backend.GroupV1, "BGPPeer", "", "b")
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.3"))
	k.Compact(t)
	k.Start(t) // so that its cache does not remember either
	proxy.Open()
	w.PeersAre("a=192.0.2.3")
	w.Found()
}

// A server that cannot stream lists: what is read then is listed first.
func TestWithoutStreamingLists(t *testing.T) {
	t.Parallel()
	k := backend.StartKube(t, backend.KubeOptions{EtcdVersion: backend.Etcd34})
	k.InstallCRDs(t, backend.GroupV1, backend.CalicoPlurals...)
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.1")+node("alpha", "192.0.2.9/24", "True"))
	proxy := backend.NewProxy(t, k.Address())
	w := watch(t, impatient(backend.Through(k.Admin(), proxy)), live.Needs{Services: true})
	w.PeersAre("a=192.0.2.1")
	k.Apply(t, peer(backend.GroupV1, "b", "192.0.2.2"))
	w.PeersAre("a=192.0.2.1 b=192.0.2.2")
	proxy.Refuse()
	w.Lost()
	k.Delete(t, backend.GroupV1, "BGPPeer", "", "a")
	k.Apply(t, node("alpha", "192.0.2.9/24", "False"))
	proxy.Open()
	w.PeersAre("b=192.0.2.2")
	w.Is("not ready", func(s datastore.Snapshot) bool { return s.Cluster.Node("alpha").NotReady })
	w.Found()
}

// SyncedAt goes on while nothing happens, and stands still while nothing can be known.
func TestCertainty(t *testing.T) {
	k := backend.SharedKube(t)
	k.Both(t)
	proxy := backend.NewProxy(t, k.Address())
	w := watch(t, impatient(backend.Through(k.Admin(), proxy)), live.Needs{})
	w.PeersAre("")
	w.Found()
	first := w.Source.Status().SyncedAt
	w.Until("certain again", func() bool { return w.Source.Status().SyncedAt.After(first.Add(time.Second)) })
	proxy.Refuse()
	w.Lost()
	lost := w.Source.Status().SyncedAt
	w.Until("some attempts", func() bool { return w.Source.Status().Reconnects > 0 })
	if now := w.Source.Status().SyncedAt; !now.Equal(lost) {
		t.Errorf("certain at %s, and at %s without a connection", lost, now)
	}
}
