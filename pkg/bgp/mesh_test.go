package bgp_test

import "testing"

const mesh3 = `---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: a}
spec: {bgp: {ipv4Address: 192.0.2.9/24, ipv6Address: "2001:db8::9/64"}}
---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: b}
spec: {bgp: {ipv4Address: 192.0.2.10/24, ipv6Address: "2001:db8::a/64"}}
---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: c}
spec: {bgp: {ipv4Address: 192.0.2.2/24}}
`

func TestMesh(t *testing.T) {
	for _, c := range []struct {
		name, node, text string
		v4, v6           []string
	}{
		{name: "a peer is passive when its address sorts higher as text", node: "a", text: mesh3,
			v4: []string{ // "192.0.2.10" < "192.0.2.2" < "192.0.2.9"
				"Mesh_192_0_2_10 as 64512 source 192.0.2.9 is b",
				"Mesh_192_0_2_2 as 64512 source 192.0.2.9 is c",
			},
			v6: []string{"Mesh_2001_db8__a as 64512 source 2001:db8::9 passive is b"}},
		{name: "the other side is not", node: "b", text: mesh3,
			v4: []string{
				"Mesh_192_0_2_2 as 64512 source 192.0.2.10 passive is c",
				"Mesh_192_0_2_9 as 64512 source 192.0.2.10 passive is a",
			},
			v6: []string{"Mesh_2001_db8__9 as 64512 source 2001:db8::a is a"}},
		{name: "node with no address in a family is left out of it", node: "c", text: mesh3,
			v4: []string{
				"Mesh_192_0_2_10 as 64512 source 192.0.2.2 is b",
				"Mesh_192_0_2_9 as 64512 source 192.0.2.2 passive is a",
			}},
		{name: "no mesh when it is switched off", node: "a", text: mesh3 + config("nodeToNodeMeshEnabled: false")},
		{name: "mesh when it is switched on", node: "c", text: mesh3 + config("nodeToNodeMeshEnabled: true, asNumber: 64500"),
			v4: []string{
				"Mesh_192_0_2_10 as 64500 source 192.0.2.2 is b",
				"Mesh_192_0_2_9 as 64500 source 192.0.2.2 passive is a",
			}},
		{name: "route reflector is in nobody's mesh", node: "c",
			text: mesh3 + node("rr", "", "ipv4Address: 192.0.2.3/24, routeReflectorClusterID: 192.0.2.255"),
			v4: []string{
				"Mesh_192_0_2_10 as 64512 source 192.0.2.2 is b",
				"Mesh_192_0_2_9 as 64512 source 192.0.2.2 passive is a",
			}},
		{name: "route reflector has no mesh", node: "rr",
			text: mesh3 + node("rr", "", "ipv4Address: 192.0.2.3/24, routeReflectorClusterID: 192.0.2.255")},
		// Calico takes this node's own number (F-1), and the session never comes up.
		{name: "peer without own AS number has the cluster's, not this node's", node: "d",
			text: mesh3 + config("asNumber: 64500") + node("d", "", "ipv4Address: 192.0.2.1/24, asNumber: 65001"),
			v4: []string{
				"Mesh_192_0_2_10 as 64500 external source 192.0.2.1 passive is b",
				"Mesh_192_0_2_2 as 64500 external source 192.0.2.1 passive is c",
				"Mesh_192_0_2_9 as 64500 external source 192.0.2.1 passive is a",
			}},
		{name: "port is the node's own, else the cluster's, and never in the name", node: "c",
			text: mesh3 + config("listenPort: 1790") + configOf("a", "listenPort: 1791"),
			v4: []string{
				"Mesh_192_0_2_10 as 64512 port 1790 source 192.0.2.2 is b",
				"Mesh_192_0_2_9 as 64512 port 1791 source 192.0.2.2 passive is a",
			}},
		{name: "BGP's own port is left out", node: "c", text: mesh3 + config("listenPort: 1790") + configOf("a", "listenPort: 179"),
			v4: []string{
				"Mesh_192_0_2_10 as 64512 port 1790 source 192.0.2.2 is b",
				"Mesh_192_0_2_9 as 64512 source 192.0.2.2 passive is a",
			}},
		{name: "restart time is the mesh's", node: "c", text: mesh3 + config("nodeMeshMaxRestartTime: 1m"),
			v4: []string{
				"Mesh_192_0_2_10 as 64512 source 192.0.2.2 restart 1m0s is b",
				"Mesh_192_0_2_9 as 64512 source 192.0.2.2 restart 1m0s passive is a",
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, c.node, c.text)
			wantProblems(t, r)
			wantPeers(t, r.IPv4, c.v4...)
			wantPeers(t, r.IPv6, c.v6...)
			for _, p := range append(r.IPv4.Peers, r.IPv6.Peers...) {
				wantEqual(t, p.Name+" is there because of", p.Why, "node-to-node mesh")
			}
		})
	}
}

func TestSharedAddresses(t *testing.T) {
	const shared = "192.0.2.7/24"
	for _, c := range []struct {
		name, node, text, says string
		peers                  []string
	}{
		{"one session for an address, with the first node that has it", "a",
			node4("a", "192.0.2.1/24") + node4("x", shared) + node4("y", shared),
			"warning node-address Node/y spec.bgp.ipv4Address: address 192.0.2.7 belongs to several nodes (x, y); there is at most one session with it",
			[]string{"Mesh_192_0_2_7 as 64512 source 192.0.2.1 passive is x"}},
		{"no session with a node that has our address", "x",
			node4("a", "192.0.2.1/24") + node4("x", shared) + node4("y", shared),
			"warning node-address Node/y spec.bgp.ipv4Address: it is also this node's own, so there is no session with the others",
			[]string{"Mesh_192_0_2_1 as 64512 source 192.0.2.7 is a"}},
		{"a route reflector does not take the address from the mesh", "a",
			node4("a", "192.0.2.1/24") + node("x", "", "ipv4Address: "+shared+", routeReflectorClusterID: 192.0.2.255") + node4("y", shared),
			"warning node-address Node/y spec.bgp.ipv4Address: several nodes (x, y)",
			[]string{"Mesh_192_0_2_7 as 64512 source 192.0.2.1 passive is y"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, c.node, c.text)
			wantProblems(t, r, c.says)
			wantPeers(t, r.IPv4, c.peers...)
		})
	}
}

func TestExplicitPeerBeatsMesh(t *testing.T) {
	nodes := node4("a", "192.0.2.1/24") + node4("b", "192.0.2.2/24") + node4("c", "192.0.2.3/24")
	const meshC = "Mesh_192_0_2_3 as 64512 source 192.0.2.1 passive is c"
	for _, c := range []struct {
		name, text string
		peers      []string
		problems   []string
	}{
		{"same address and port", peer("p", "node: a, peerIP: 192.0.2.2, asNumber: 64512"),
			[]string{meshC, "Node_192_0_2_2 as 64512 source 192.0.2.1 is b"},
			[]string{"info mesh-replaced BGPPeer/p: takes the place of the mesh session with b"}},
		{"another port is another session", peer("p", `node: a, peerIP: "192.0.2.2:1790", asNumber: 64512`),
			[]string{"Mesh_192_0_2_2 as 64512 source 192.0.2.1 passive is b", meshC, "Node_192_0_2_2_port_1790 as 64512 port 1790 source 192.0.2.1 is b"},
			[]string{"warning peer-mismatch BGPPeer/p spec.peerIP: (b), which listens on port 179, not 1790; this node cannot connect to it"}},
		{"a peer that is held back still keeps the mesh from its address",
			peer("p", "node: a, peerIP: 192.0.2.2, asNumber: 64512, password: {secretKeyRef: {name: none, key: k}}"),
			[]string{meshC},
			[]string{"error password BGPPeer/p spec.password.secretKeyRef: the peer is held back"}},
		{"one problem for all nodes of a selector", peer("p", "peerSelector: all()"),
			[]string{"Global_192_0_2_2 as 64512 source 192.0.2.1 is b", "Global_192_0_2_3 as 64512 source 192.0.2.1 is c"},
			[]string{"info mesh-replaced BGPPeer/p: mesh session with b, c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, "a", nodes+c.text)
			wantProblems(t, r, c.problems...)
			wantPeers(t, r.IPv4, c.peers...)
		})
	}
}
