package datastore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/test/backend"
	"github.com/birdconfd/birdconfd/test/fromtext"
)

// TestRandomChangesInKubernetes changes Services, their EndpointSlices, peers and Secrets at
// random, in any order, and cuts connections meanwhile. In the end a source that has watched it
// all knows what one knows that starts anew.
func TestRandomChangesInKubernetes(t *testing.T) {
	k := backend.SharedKube(t)
	k.Both(t)
	proxy := backend.NewProxy(t, k.Address())
	r := reach{kubeconfig: k.KubeconfigThrough(t, k.AdminToken, "https://"+proxy.Address()), group: backend.GroupV3, node: "n0",
		compute: bgp.Options{SecretNamespace: "kube-system"}}
	k.Load(t, backend.GroupV3, "apiVersion: projectcalico.org/v3\nkind: Node\nmetadata: {name: n0}\nspec: {bgp: {ipv4Address: 10.0.0.1/16}}\n---\n"+
		"apiVersion: projectcalico.org/v3\nkind: BGPConfiguration\nmetadata: {name: default}\nspec: {serviceExternalIPs: [{cidr: 203.0.113.0/24}], serviceClusterIPs: [{cidr: 10.96.0.0/12}]}\n")

	source := r.source(t)
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(context.Background())
	var mu sync.Mutex
	var last *calico.Cluster
	ended := make(chan error, 1)
	go func() {
		ended <- source.Run(ctx, func(s datastore.Snapshot) {
			mu.Lock()
			defer mu.Unlock()
			last = s.Cluster
		})
	}()
	defer func() { cancel(over); <-ended }()

	random := rand.New(rand.NewPCG(11, 11))
	for i := range 150 {
		change(t, k, random)
		if i%40 == 39 {
			proxy.Cut()
		}
	}
	files := func(c *calico.Cluster) map[string]string {
		return (&fromtext.Cluster{Cluster: c}).With(r.compute).Render(t, r.node).Files
	}
	want := files(r.first(t).Cluster)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(deadline)
	for {
		mu.Lock()
		now := last
		mu.Unlock()
		diff := "there is no snapshot"
		if now != nil {
			diff = cmp.Diff(want, files(now))
		}
		if diff == "" {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("(-new source +old one):\n%s", diff)
		}
	}
}

// change makes one random change of a few objects.
func change(t *testing.T, k *backend.Kube, r *rand.Rand) {
	t.Helper()
	n, ready := r.IntN(4), r.IntN(2) == 0
	remove := func(version, kind, namespace, name string) {
		for _, have := range k.Names(t, version, kind, namespace) {
			if have == name {
				k.Delete(t, version, kind, namespace, name)
			}
		}
	}
	switch service, slice := fmt.Sprintf("s%d", n), fmt.Sprintf("s%d-x", r.IntN(4)); r.IntN(7) {
	case 0, 1:
		policy := []string{"Local", "Cluster"}[r.IntN(2)]
		k.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: shop}\nspec: {type: LoadBalancer, externalTrafficPolicy: %s, ports: [{port: 80}], externalIPs: [203.0.113.%d]}\n",
			service, policy, 1+r.IntN(9)))
	case 2:
		remove("v1", "Service", "shop", service)
	case 3, 4:
		k.Apply(t, fmt.Sprintf("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: %s, namespace: shop, labels: {kubernetes.io/service-name: %s}}\naddressType: IPv4\nendpoints: [{addresses: [10.244.1.9], nodeName: n%d, conditions: {ready: %t}}]\n",
			slice, service, r.IntN(2), ready))
	case 5:
		remove("discovery.k8s.io/v1", "EndpointSlice", "shop", slice)
	default:
		password := ""
		if ready {
			password = fmt.Sprintf(", password: {secretKeyRef: {name: pw%d, key: k}}", n)
			k.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: pw%d, namespace: kube-system}\nstringData: {k: word-%d}\n", n, r.IntN(3)))
		}
		k.Apply(t, fmt.Sprintf("apiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata: {name: p%d}\nspec: {peerIP: 192.0.2.%d, asNumber: %d%s}\n", n, n+1, 65000+r.IntN(100), password))
	}
}
