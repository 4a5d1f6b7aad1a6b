package bgp_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

func TestWants(t *testing.T) {
	nodes := node("a", "rack: r1", "ipv4Address: 192.0.2.1/24") + node("b", "rack: r2", "ipv4Address: 192.0.2.2/24")
	password := func(name string) string { return ", password: {secretKeyRef: {name: " + name + ", key: k}}" }
	for name, c := range map[string]struct {
		text string
		want bgp.Wants
	}{
		"nothing":           {nodes, bgp.Wants{}},
		"an unknown node":   {node4("b", "192.0.2.2/24") + config("nodeMeshPassword: "+keyRef), bgp.Wants{}},
		"the mesh password": {nodes + config("nodeMeshPassword: "+keyRef), bgp.Wants{Secrets: []string{"s"}}},
		"passwords of this node's peers, each once": {nodes +
			peer("p1", "nodeSelector: rack == 'r1', peerIP: 198.51.100.1, asNumber: 64501"+password("rack-1")) +
			peer("p2", "node: a, peerIP: 198.51.100.2, asNumber: 64501"+password("rack-1")) +
			peer("p3", "node: a, peerIP: 198.51.100.3, asNumber: 64501"+password("other")), bgp.Wants{Secrets: []string{"other", "rack-1"}}},
		"not those of other nodes' peers": {nodes +
			peer("p1", "nodeSelector: rack == 'r2', peerIP: 198.51.100.1, asNumber: 64501"+password("rack-2")), bgp.Wants{}},
		"Services for any range": {nodes + config("serviceExternalIPs: [{cidr: 203.0.113.7/32}]"), bgp.Wants{Services: true}},
		"no Services for a node that announces none": {node("a", "node.kubernetes.io/exclude-from-external-load-balancers: 'true'", "ipv4Address: 192.0.2.1/24") +
			config("serviceExternalIPs: [{cidr: 203.0.113.0/28}]"), bgp.Wants{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := gocmp.Diff(c.want, bgp.WantsOf(decode(t, c.text), "a", bgp.Options{})); diff != "" {
				t.Error(diff)
			}
		})
	}
	got := bgp.WantsOf(decode(t, nodes), "a", bgp.Options{AdvertiseClusterIPs: "10.96.0.0/12"})
	if diff := gocmp.Diff(bgp.Wants{Services: true}, got); diff != "" {
		t.Error("the variable:", diff)
	}
}
