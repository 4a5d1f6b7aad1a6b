package kube_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
	"github.com/birdconfd/birdconfd/test/backend"
)

// A resource that an older Calico lacks is asked for again and again, and never watched. That is
// not a watch that was lost.
func TestResourceThatNeverWasIsNotLost(t *testing.T) {
	t.Parallel()
	k := backend.StartKube(t)
	k.InstallCRDs(t, backend.GroupV1, "bgpconfigurations", "bgppeers", "ippools", "blockaffinities")
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.1"))
	w := watch(t, impatient(k.Admin()), live.Needs{})
	w.PeersAre("a=192.0.2.1 not-installed")
	w.Found()
	// By then there has been a gap between two questions that is longer than one without a watch may be.
	first := w.Source.Status().Reads
	w.Until("asked again", func() bool { return w.Source.Status().Reads >= first+5 })
	if said := w.Log.String(); strings.Contains(said, "cannot be watched any more") {
		t.Errorf("log:\n%s", said)
	}
	if s := w.Source.Status(); !s.Connected || s.Reconnects > 0 {
		t.Errorf("status %+v", s)
	}
}

// Without an answer to whether a resource stays, a deletion waits, and so does a list that lacks
// something. With one, all is well again.
func TestDeletionWithoutDiscovery(t *testing.T) {
	t.Parallel()
	k := backend.StartKube(t)
	k.InstallCRDs(t, backend.GroupV1)
	k.Apply(t, `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: [crd.projectcalico.org], resources: ["*"], verbs: [list, watch]}
- {apiGroups: [""], resources: [nodes], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: kube-system}]
`)
	const discovery = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: system:discovery}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:discovery}
subjects: [{kind: Group, name: "system:authenticated", apiGroup: rbac.authorization.k8s.io}]
`
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.1")+peer(backend.GroupV1, "b", "192.0.2.2")+peer(backend.GroupV1, "c", "192.0.2.3"))
	proxy := backend.NewProxy(t, k.Address())
	w := watch(t, in(backend.GroupV1, backend.Through(k.As(k.ServiceAccountToken(t, "kube-system", "reader")), proxy)), live.Needs{})
	w.PeersAre("a=192.0.2.1 b=192.0.2.2 c=192.0.2.3")
	w.Found()

	k.Delete(t, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "system:discovery")
	k.Delete(t, backend.GroupV1, "BGPPeer", "", "a")
	w.Lost()
	w.PeersAre("a=192.0.2.1 b=192.0.2.2 c=192.0.2.3 forbidden")
	if s, _ := w.Last(); !strings.Contains(problem(s, calico.RuleForbidden), "what is deleted stays in use") {
		t.Error(problem(s, calico.RuleForbidden))
	}
	k.Apply(t, peer(backend.GroupV1, "b", "192.0.2.22")) // what is no deletion still arrives
	w.PeersAre("a=192.0.2.1 b=192.0.2.22 c=192.0.2.3 forbidden")
	k.Apply(t, discovery)
	w.PeersAre("b=192.0.2.22 c=192.0.2.3")
	w.Found() // although the watch has been there all the time

	// The same with a list, after the server has forgotten what was deleted.
	k.Delete(t, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "system:discovery")
	proxy.Refuse()
	w.Lost()
	k.Delete(t, backend.GroupV1, "BGPPeer", "", "c")
	k.Compact(t)
	k.Start(t)
	k.Delete(t, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "system:discovery") // a start makes it anew
	proxy.Open()
	w.PeersAre("b=192.0.2.22 c=192.0.2.3 forbidden")
	k.Apply(t, discovery)
	w.PeersAre("b=192.0.2.22")
	w.Found()
	for _, s := range w.All() {
		if text := problem(s, calico.RuleNotInstalled); text != "" {
			t.Errorf("said without having been told: %s", text)
		}
	}
}

// The removal of a resource hangs for as long as one of its objects has a finalizer. What is
// deleted already stays in use all that time, whatever becomes of the connection.
func TestRemovalThatHangs(t *testing.T) {
	eachGroup(t, func(t *testing.T, k *backend.Kube, group string) {
		k.Apply(t, peer(group, "a", "192.0.2.1")+peer(group, "b", "192.0.2.2")+
			strings.Replace(peer(group, "held", "192.0.2.3"), "name: held", "name: held, finalizers: [example.net/hold]", 1))
		proxy := backend.NewProxy(t, k.Address())
		w := watch(t, in(group, backend.Through(k.Admin(), proxy)), live.Needs{})
		const all = "a=192.0.2.1 b=192.0.2.2 held=192.0.2.3"
		w.PeersAre(all)
		name, _, _ := strings.Cut(group, "/")
		k.Delete(t, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "bgppeers."+name)
		w.PeersAre(all + " not-installed")
		w.Lost()
		for range 3 {
			n, lost := proxy.Accepted(), w.Source.Status().Reconnects
			proxy.Cut()
			w.Until("connected anew", func() bool { return proxy.Accepted() > n && w.Source.Status().Reconnects >= lost })
			k.Apply(t, node("alpha", "192.0.2.9/24", "True"))
			w.Is("a node", func(s datastore.Snapshot) bool { return s.Cluster.Node("alpha") != nil })
			k.Delete(t, "v1", "Node", "", "alpha")
			w.Is("no node", func(s datastore.Snapshot) bool {
				return s.Cluster.Node("alpha") == nil || problem(s, calico.RuleEmptied) != ""
			})
			for _, p := range w.Source.Status().Parts {
				if p.Name == "BGPPeers" && p.Connected {
					t.Fatalf("what is known counts as certain: %+v", p)
				}
			}
		}
		k.Apply(t, peer(group, "held", "192.0.2.3")) // without the finalizer
		k.RemoveCRD(t, group, "bgppeers")
		k.InstallCRDs(t, group, "bgppeers")
		k.Apply(t, peer(group, "a", "192.0.2.9"))
		w.PeersAre("a=192.0.2.9")
		w.Found()
	})
}

// answers gives answers of its own in place of the server's, for some paths.
type answers struct {
	http.RoundTripper
	path string
	left *atomic.Int32 // how many times
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == a.path && a.left.Add(-1) >= 0 {
		return &http.Response{StatusCode: http.StatusNotFound, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
			Body: io.NopCloser(strings.NewReader("404 page not found")), Request: r}, nil
	}
	return a.RoundTripper.RoundTrip(r)
}

// One wrong answer, as of an API server that has just started, does not keep what is deleted.
func TestWrongAnswerOfDiscovery(t *testing.T) {
	k := backend.SharedKube(t)
	k.Both(t)
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.1")+peer(backend.GroupV1, "b", "192.0.2.2")+peer(backend.GroupV1, "c", "192.0.2.3"))
	var left atomic.Int32
	c := k.Admin()
	c.Wrap(func(rt http.RoundTripper) http.RoundTripper { return answers{rt, "/apis/" + backend.GroupV1, &left} })
	w := watch(t, in(backend.GroupV1, c), live.Needs{})
	w.PeersAre("a=192.0.2.1 b=192.0.2.2 c=192.0.2.3")
	left.Store(1)
	k.Delete(t, backend.GroupV1, "BGPPeer", "", "a")
	w.PeersAre("b=192.0.2.2 c=192.0.2.3")
	w.Found()
	if left.Load() >= 1 {
		t.Error("the wrong answer was not given")
	}
	k.Delete(t, backend.GroupV1, "BGPPeer", "", "b")
	w.PeersAre("c=192.0.2.3")
	w.Found()
}

// A resource that every Calico has, and that is not there when birdconfd starts, is not one
// without objects: they may have been there before.
func TestResourceThatIsNotThereAtTheStart(t *testing.T) {
	k := backend.SharedKube(t)
	k.Clear(t)
	k.InstallCRDs(t, backend.GroupV1, "bgpconfigurations", "bgpfilters", "ippools", "blockaffinities")
	w := watch(t, impatient(k.Admin()), live.Needs{})
	w.Until("it is said", func() bool {
		return strings.Contains(w.Source.Status().LastError, "BGPPeers: the API server does not have bgppeers.crd.projectcalico.org, without which nothing is rendered")
	})
	if _, n := w.Last(); n != 0 {
		t.Errorf("%d snapshots without peers", n)
	}
	k.InstallCRDs(t, backend.GroupV1, "bgppeers")
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.1"))
	w.PeersAre("a=192.0.2.1")
}
