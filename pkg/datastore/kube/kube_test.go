package kube_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live/livetest"
	"github.com/birdconfd/birdconfd/pkg/datastore/kube"
	"github.com/birdconfd/birdconfd/test/backend"
)

func TestEverythingIsRead(t *testing.T) {
	eachGroup(t, func(t *testing.T, k *backend.Kube, group string) {
		k.Apply(t, resource(group, "BGPConfiguration", "default", "asNumber: 64600")+peer(group, "tor", "192.0.2.254")+
			resource(group, "BGPFilter", "f", "exportV4: [{action: Reject}]")+resource(group, "IPPool", "p", "cidr: 10.244.0.0/16")+
			node("alpha", "192.0.2.1/24", "True")+node("bravo", "192.0.2.2/24", "Unknown"))
		affinity := func(name, node, cidr, labels string) {
			deleted := `"false"`
			if group == backend.GroupV3 {
				deleted = "false"
			}
			k.Apply(t, fmt.Sprintf("apiVersion: %s\nkind: BlockAffinity\nmetadata: {name: %s, labels: {%s}}\nspec: {node: %s, cidr: %s, state: confirmed, deleted: %s}",
				group, name, labels, node, cidr, deleted))
		}
		affinity("one", "alpha", "10.244.1.0/26", "")
		affinity("two", "bravo", "10.244.2.0/26", "")
		w := watch(t, in(group, k.Admin()), live.Needs{})
		w.PeersAre("tor=192.0.2.254")
		s, _ := w.Last()
		if c := s.Cluster; c.Default().ASNumber != 64600 || len(c.Filters) != 1 || len(c.Pools) != 1 || len(c.Services) != 0 {
			t.Errorf("%+v", c)
		}
		a, b := s.Cluster.Node("alpha"), s.Cluster.Node("bravo")
		if a == nil || b == nil || a.IPv4.String() != "192.0.2.1/24" || a.Labels["rack"] != "r1" || a.NotReady || !b.NotReady || len(a.PodCIDRs) != 1 {
			t.Errorf("nodes %+v %+v", a, b)
		}
		// Affinities without labels are found while there are none with.
		if list := s.Cluster.Affinities; len(list) != 1 || list[0].CIDR.String() != "10.244.1.0/26" {
			t.Errorf("affinities %+v", list)
		}
		hash := "projectcalico.org/hostname-hash: "
		affinity("three", "alpha", "10.244.3.0/26", hash+"E4MHR6FJE62FM2WJKH6ICWYY36WY2AYC2YORDWAMXYK3PI5AK2XQ")
		affinity("four", "bravo", "10.244.4.0/26", hash+"X")
		w2 := watch(t, in(group, k.Admin()), live.Needs{})
		w2.Is("affinities", func(s datastore.Snapshot) bool { return len(s.Cluster.Affinities) == 1 })
		status := w.Source.Status()
		if !status.Connected || !status.Synced || status.SyncedAt.IsZero() || len(status.Parts) != 6 {
			t.Errorf("status %+v", status)
		}
	})
}

// With pod CIDRs the blocks come from the nodes.
func TestPodCIDRs(t *testing.T) {
	k := backend.SharedKube(t)
	k.Both(t)
	k.Apply(t, node("alpha", "192.0.2.1/24", "True"))
	o := impatient(k.Admin())
	o.UsePodCIDR = true
	w := watch(t, o, live.Needs{})
	w.Is("the node", func(s datastore.Snapshot) bool { return len(s.Cluster.Node("alpha").PodCIDRs) == 1 })
	for _, p := range w.Source.Status().Parts {
		if p.Name == "BlockAffinities" {
			t.Error("affinities are read all the same")
		}
	}
}

// The value in the specification of Calico's labels.
func TestHostnameHash(t *testing.T) {
	if got := kube.HostnameHash("worker-1"); got != "CPU5J3TPSNHFA66J45DG4Z5C3PSJAZ36LD46JZLYEGZSTAWBUCUA" {
		t.Error(got)
	}
}

func TestChangesArrive(t *testing.T) {
	eachGroup(t, func(t *testing.T, k *backend.Kube, group string) {
		w := watch(t, in(group, k.Admin()), live.Needs{})
		w.PeersAre("")
		k.Apply(t, peer(group, "a", "192.0.2.1"))
		w.PeersAre("a=192.0.2.1")
		k.Apply(t, peer(group, "a", "192.0.2.2")+peer(group, "b", "192.0.2.3"))
		w.PeersAre("a=192.0.2.2 b=192.0.2.3")
		// W10: deleted and made anew, at once and one after the other.
		k.Delete(t, group, "BGPPeer", "", "a")
		k.Apply(t, peer(group, "a", "192.0.2.4"))
		w.PeersAre("a=192.0.2.4 b=192.0.2.3")
		k.Delete(t, group, "BGPPeer", "", "b")
		w.PeersAre("a=192.0.2.4")
		k.Apply(t, peer(group, "b", "192.0.2.5"))
		w.PeersAre("a=192.0.2.4 b=192.0.2.5")
		k.Delete(t, group, "BGPPeer", "", "a")
		k.Delete(t, group, "BGPPeer", "", "b") // the last one: that was meant
		w.PeersAre("")
	})
}

// What the API server admits and the decoding does not spoils only itself.
func TestObjectsThatCannotBeRead(t *testing.T) {
	eachGroup(t, func(t *testing.T, k *backend.Kube, group string) {
		k.Apply(t, peer(group, "a", "192.0.2.1")+peer(group, "b", "192.0.2.2"))
		for i, spec := range []string{"ttlSecurity: 300", "asNumber: -1", "maxRestartTime: abc", `peerIP: {}`} {
			k.Apply(t, resource(group, "BGPPeer", fmt.Sprint("bad-", i), "peerIP: 192.0.2.9, "+spec))
		}
		w := watch(t, in(group, k.Admin()), live.Needs{})
		w.Is("the good ones", func(s datastore.Snapshot) bool {
			return strings.HasPrefix(livetest.Peers(s), "a=192.0.2.1 b=192.0.2.2 ") && len(s.Problems) >= 4
		})
		k.Apply(t, resource(group, "BGPPeer", "a", "peerIP: nonsense, asNumber: 64512"))
		w.Is("the last good one", func(s datastore.Snapshot) bool {
			return strings.Contains(problem(s, calico.RuleAddress), "stays in use")
		})
		if s, _ := w.Last(); !strings.HasPrefix(livetest.Peers(s), "a=192.0.2.1 b=192.0.2.2 ") {
			t.Error(livetest.Peers(s))
		}
	})
}

// The metadata that Calico folds into an annotation.
func TestFoldedMetadata(t *testing.T) {
	k := backend.SharedKube(t)
	k.Both(t)
	k.Apply(t, `apiVersion: crd.projectcalico.org/v1
kind: BGPConfiguration
metadata:
  name: default
  annotations:
    projectcalico.org/metadata: '{"labels":{"team":"net"},"annotations":{"birdconfd/graceful-restart-wait":"20s"}}'
spec: {asNumber: 64512}
`)
	w := watch(t, impatient(k.Admin()), live.Needs{})
	w.Is("the annotation", func(s datastore.Snapshot) bool {
		d := s.Cluster.Default()
		return d.GracefulRestartWait != nil && d.GracefulRestartWait.Seconds() == 20 && d.Labels["team"] == "net"
	})
}

// What the kubelet reports all the time, and what changes without meaning anything, is dropped.
func TestHeartbeatsChangeNothing(t *testing.T) {
	eachGroup(t, func(t *testing.T, k *backend.Kube, group string) {
		k.Apply(t, node("alpha", "192.0.2.1/24", "True"))
		w := watch(t, in(group, k.Admin()), live.Needs{})
		w.Is("the node", func(s datastore.Snapshot) bool { return s.Cluster.Node("alpha") != nil })
		w.Until("pruning is known", func() bool { s, _ := w.Last(); return problem(s, calico.RulePruned) != "" })
		_, before := w.Last()
		for i := range 20 {
			k.Apply(t, strings.ReplaceAll(node("alpha", "192.0.2.1/24", "True"), "message: x", fmt.Sprintf("message: beat %d", i)))
		}
		k.Apply(t, node("bravo", "192.0.2.2/24", "True"))
		w.Is("the next change", func(s datastore.Snapshot) bool { return s.Cluster.Node("bravo") != nil })
		if _, after := w.Last(); after > before+2 { // a node and then its readiness
			t.Errorf("%d snapshots for one new node", after-before)
		}
		k.Apply(t, node("alpha", "192.0.2.1/24", "False"))
		w.Is("it is not ready", func(s datastore.Snapshot) bool { return s.Cluster.Node("alpha").NotReady })
	})
}

// Which group it is, is asked until it is known, and never guessed.
func TestGroup(t *testing.T) {
	t.Run("none is installed", func(t *testing.T) {
		k := backend.SharedKube(t)
		k.Clear(t)
		w := watch(t, impatient(k.Admin()), live.Needs{})
		w.Until("it says so", func() bool { return strings.Contains(fmt.Sprint(w.Source.Status()), "are not installed") })
		if _, n := w.Last(); n != 0 {
			t.Errorf("%d snapshots of nothing", n)
		}
		k.InstallCRDs(t, backend.GroupV3, backend.CalicoPlurals...)
		k.Apply(t, peer(backend.GroupV3, "a", "192.0.2.1"))
		w.PeersAre("a=192.0.2.1")
	})
	t.Run("both are", func(t *testing.T) {
		k := backend.SharedKube(t)
		k.Clear(t)
		k.InstallCRDs(t, backend.GroupV3, backend.CalicoPlurals...)
		k.InstallCRDs(t, backend.GroupV1, backend.CalicoPlurals...)
		k.Apply(t, peer(backend.GroupV3, "three", "192.0.2.3")+peer(backend.GroupV1, "one", "192.0.2.1"))
		for group, want := range map[string]string{"": "one=192.0.2.1", "v1": "one=192.0.2.1", "v3": "three=192.0.2.3"} {
			o := impatient(k.Admin())
			o.Group = group
			watch(t, o, live.Needs{}).PeersAre(want)
		}
	})
	t.Run("the server cannot be asked", func(t *testing.T) {
		k := backend.SharedKube(t)
		k.Clear(t)
		k.InstallCRDs(t, backend.GroupV3, backend.CalicoPlurals...)
		k.Apply(t, peer(backend.GroupV3, "a", "192.0.2.1"))
		proxy := backend.NewProxy(t, k.Address())
		proxy.Refuse()
		w := watch(t, impatient(backend.Through(k.Admin(), proxy)), live.Needs{})
		w.Lost()
		if n := w.Log.Count("Kubernetes cannot be read yet"); n != 1 {
			t.Errorf("log:\n%s", w.Log)
		}
		proxy.Open()
		w.PeersAre("a=192.0.2.1")
	})
}

func TestPrunedFields(t *testing.T) {
	eachGroup(t, func(t *testing.T, k *backend.Kube, group string) {
		w := watch(t, in(group, k.Admin()), live.Needs{})
		w.Is("it is said", func(s datastore.Snapshot) bool { return problem(s, calico.RulePruned) != "" })
		s, _ := w.Last()
		if text := problem(s, calico.RulePruned); !strings.Contains(text, "kubectl patch crd bgpconfigurations.") || strings.Count(text, "\n") != 1 {
			t.Error(text)
		}
		// Somebody has asked for it with kubectl, whose annotation shows that.
		k.Apply(t, strings.Replace(resource(group, "BGPConfiguration", "default", "asNumber: 64512"), "metadata: {name: default}",
			`metadata: {name: default, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"gracefulRestartWait":"20s"}}'}}`, 1))
		w1 := watch(t, in(group, k.Admin()), live.Needs{})
		w1.Is("it is a warning", func(s datastore.Snapshot) bool {
			return strings.Contains(problem(s, calico.RulePruned), "warning: BGPConfiguration/default spec.gracefulRestartWait") &&
				strings.Contains(problem(s, calico.RulePruned), "; it was asked for in default")
		})
		k.PatchCRD(t, group, "bgpconfigurations")
		t.Cleanup(func() { k.RemoveCRD(t, group, "bgpconfigurations") })
		k.Apply(t, resource(group, "BGPConfiguration", "default", "gracefulRestartWait: 30s, gracefulRestartWaitFor: AllPeers"))
		w2 := watch(t, in(group, k.Admin()), live.Needs{})
		w2.Is("it is there", func(s datastore.Snapshot) bool {
			return s.Cluster.Default().GracefulRestartWait != nil && s.Cluster.Default().GracefulRestartWaitFor == calico.WaitForAllPeers
		})
		for spec, fault := range map[string]string{
			`gracefulRestartWait: "30"`: "spec.gracefulRestartWait", `gracefulRestartWait: ""`: "spec.gracefulRestartWait",
			"gracefulRestartWait: 19h": "from 0s to 18h", "gracefulRestartWaitFor: Nobody": "spec.gracefulRestartWaitFor",
		} {
			if err := k.TryApply(t, resource(group, "BGPConfiguration", "default", spec)); err == nil || !strings.Contains(err.Error(), fault) {
				t.Errorf("%s: %v", spec, err)
			}
		}
		for _, wait := range []string{"0s", "18h", "1m30s", "17h59m60s"} {
			k.Apply(t, resource(group, "BGPConfiguration", "default", "gracefulRestartWait: "+wait))
		}
		if s, _ := w2.Last(); problem(s, calico.RulePruned) != "" {
			t.Error(problem(s, calico.RulePruned))
		}
	})
}

func names[T interface{ Common() *calico.Meta }](list []T) string {
	var out []string
	for _, o := range list {
		out = append(out, o.Common().Name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
