package bgp_test

import "testing"

func TestReversePeering(t *testing.T) {
	nodes := node("a", "rack: r1", `ipv4Address: 192.0.2.1/24, ipv6Address: "2001:db8::1/64"`) +
		node("b", "rack: r2", `ipv4Address: 192.0.2.2/24, ipv6Address: "2001:db8::2/64"`) +
		node("c", "rack: r2", "ipv4Address: 192.0.2.3/24, asNumber: 65003") + config(meshOff)
	for _, c := range []struct {
		name, node, text string
		v4, v6           []string
		problems         []string
	}{
		{name: "peerSelector: the selected node peers back, in both families", node: "a",
			text: peer("p", "nodeSelector: rack == 'r2', peerSelector: rack == 'r1'"),
			v4: []string{
				"Node_192_0_2_2 as 64512 source 192.0.2.1 is b",
				"Node_192_0_2_3 as 65003 external source 192.0.2.1 is c",
			},
			v6: []string{"Node_2001_db8__2 as 64512 source 2001:db8::1 is b"}},
		{name: "peerIP: the node with that address peers back, in that family only", node: "a",
			text: peer("p", "node: b, peerIP: 192.0.2.1, asNumber: 64512"),
			v4:   []string{"Node_192_0_2_2 as 64512 source 192.0.2.1 is b"}},
		{name: "peerIP in another spelling is the same address", node: "a",
			text: peer("p", `node: b, peerIP: "2001:0DB8:0::1", asNumber: 64512`),
			v6:   []string{"Node_2001_db8__2 as 64512 source 2001:db8::1 is b"}},
		{name: "peerIP with another AS number is somebody else", node: "a", text: peer("p", "node: b, peerIP: 192.0.2.1, asNumber: 65009")},
		{name: "peerIP without AS number means the cluster's", node: "a", text: peer("p", "node: b, peerIP: 192.0.2.1"),
			v4: []string{"Node_192_0_2_2 as 64512 source 192.0.2.1 is b"}},
		{name: "the node's own AS number counts", node: "c", text: peer("p", "node: a, peerIP: 192.0.2.3, asNumber: 65003"),
			v4: []string{"Node_192_0_2_1 as 64512 external source 192.0.2.3 is a"}},
		{name: "a peer of every node is Node on the way back", node: "b", text: peer("p", "peerIP: 192.0.2.2, asNumber: 64512"),
			v4: []string{"Node_192_0_2_1 as 64512 source 192.0.2.2 is a", "Node_192_0_2_3 as 65003 external source 192.0.2.2 is c"}},
		{name: "Manual means no way back", node: "a", text: peer("p", "nodeSelector: rack == 'r2', peerSelector: rack == 'r1', reversePeering: Manual")},
		{name: "Manual means no way back by address", node: "a", text: peer("p", "node: b, peerIP: 192.0.2.1, asNumber: 64512, reversePeering: Manual")},
		{name: "node that is not there peers with nobody", node: "a", text: peer("p", "node: z, peerIP: 192.0.2.1, asNumber: 64512")},
		{name: "both sides get what secures the session", node: "a",
			text: peer("p", "node: b, peerSelector: rack == 'r1', password: {secretKeyRef: {name: s, key: k}}, ttlSecurity: 1, keepaliveTime: 9s, maxRestartTime: 60s") +
				secret("s", "k", "hunter2"),
			v4: []string{"Node_192_0_2_2 as 64512 source 192.0.2.1 ttl 1 password hunter2 restart 1m0s keepalive 9s is b"},
			v6: []string{"Node_2001_db8__2 as 64512 source 2001:db8::1 ttl 1 password hunter2 restart 1m0s keepalive 9s is b"}},
		// The gateway to this node means something on the other side only (F-9), and so do
		// the local AS number and the number of times it may be in a path (F-10).
		{name: "reachableBy, localASNumber and numAllowedLocalASNumbers stay on their side", node: "a",
			text:     peer("p", "node: b, peerIP: 192.0.2.1, asNumber: 64512, reachableBy: 192.0.2.254, localASNumber: 65000, numAllowedLocalASNumbers: 1"),
			v4:       []string{"Node_192_0_2_2 as 64512 source 192.0.2.1 is b"},
			problems: []string{"warning peer-mismatch BGPPeer/p: (b), which has AS number 65000, not 64512"}},
		{name: "localASNumber towards a node is reported, as the other side knows nothing of it", node: "b",
			text:     peer("p", "node: b, peerIP: 192.0.2.1, asNumber: 64512, localASNumber: 65000"),
			v4:       []string{"Node_192_0_2_1 as 64512 local 65000 external source 192.0.2.2 is a"},
			problems: []string{"warning local-as BGPPeer/p spec.localASNumber: node a of this cluster, whose side of the session expects this node's own AS number, not 65000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, c.node, nodes+c.text)
			for _, p := range r.problems { // that the AS number is missing is for another test
				if p.Rule == "peer-as" {
					r.problems = nil
				}
			}
			wantProblems(t, r, c.problems...)
			wantPeers(t, r.IPv4, c.v4...)
			wantPeers(t, r.IPv6, c.v6...)
			if c.node == "a" && len(r.IPv4.Gateways) > 0 {
				t.Errorf("there are gateways: %v", r.IPv4.Gateways)
			}
		})
	}
}

// A peer of every node that is a node itself is passive on the side where its address
// sorts higher, as in the mesh, but only when it really connects from there (F-12).
func TestGlobalPeerThatIsANode(t *testing.T) {
	nodes := node("a", "", "ipv4Address: 192.0.2.1/24") + node("b", "role: hub", "ipv4Address: 192.0.2.2/24")
	off := config(meshOff)
	const passive = "Global_192_0_2_2 as 64512 source 192.0.2.1 passive is b"
	const active = "Global_192_0_2_2 as 64512 source 192.0.2.1 is b"
	const hub = "peerIP: 192.0.2.2, asNumber: 64512"
	for _, c := range []struct {
		name, text, want string
	}{
		{"the reverse connects", off + peer("p", hub), passive},
		{"nobody connects from there", off + peer("p", hub+", reversePeering: Manual"), active},
		{"the mesh connects", peer("p", hub+", reversePeering: Manual"), passive},
		{"another peer of that node's connects", off + peer("p", hub+", reversePeering: Manual") + peer("q", "node: b, peerIP: 192.0.2.1, asNumber: 64512"), passive},
		{"another selector connects", off + peer("p", hub+", reversePeering: Manual") + peer("q", "nodeSelector: role == 'hub', peerSelector: all()"), passive},
		{"another reverse connects", off + peer("p", hub+", reversePeering: Manual") + peer("q", "node: a, peerSelector: role == 'hub'"), passive},
		{"another peer is the other node's with somebody else", off + peer("p", hub+", reversePeering: Manual") + peer("q", "node: b, peerIP: 192.0.2.77, asNumber: 64512"), active},
		{"the AS number is another, so there is no way back", off + peer("p", "peerIP: 192.0.2.2, asNumber: 65001"), "Global_192_0_2_2 as 65001 external source 192.0.2.1 is b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantEqual(t, "peer", describe(find(t, compute(t, "a", nodes+c.text).IPv4, "Global_192_0_2_2")), c.want)
			for _, p := range compute(t, "b", nodes+c.text).IPv4.Peers {
				if p.Passive {
					t.Errorf("both sides are passive: %s", describe(p))
				}
			}
		})
	}
	// Addresses are compared as text, as in the mesh of every Calico (F-14).
	nines := node4("a", "192.0.2.9/24") + node4("b", "192.0.2.10/24") + off
	wantPeers(t, compute(t, "a", nines+peer("p", "peerIP: 192.0.2.10, asNumber: 64512")).IPv4, "Global_192_0_2_10 as 64512 source 192.0.2.9 is b")
	wantPeers(t, compute(t, "b", nines+peer("p", "peerIP: 192.0.2.9, asNumber: 64512")).IPv4, "Global_192_0_2_9 as 64512 source 192.0.2.10 passive is a")
	// The lower side of such a session is always the one that connects.
	r := compute(t, "b", nodes+off+peer("p", "peerIP: 192.0.2.1, asNumber: 64512"))
	wantPeers(t, r.IPv4, "Global_192_0_2_1 as 64512 source 192.0.2.2 is a")
}

func TestRouteReflectors(t *testing.T) {
	rr := func(name, address, cluster string) string {
		return node(name, `rr: "yes"`, "ipv4Address: "+address+"/24, routeReflectorClusterID: "+cluster)
	}
	nodes := node("n1", "", "ipv4Address: 192.0.2.1/24") + node("n2", "", "ipv4Address: 192.0.2.2/24") + rr("rr", "192.0.2.9", "192.0.2.249")
	selectors := peer("to-rr", "nodeSelector: '!has(rr)', peerSelector: has(rr)")
	for _, c := range []struct {
		name, node, text string
		peers            []string
	}{
		{"reflector has the others as clients under its own cluster id", "rr", selectors, []string{
			"Node_192_0_2_1 as 64512 source 192.0.2.9 client of 192.0.2.249 is n1",
			"Node_192_0_2_2 as 64512 source 192.0.2.9 client of 192.0.2.249 is n2",
		}},
		{"a client says nothing about it and keeps its mesh", "n1", selectors, []string{
			"Mesh_192_0_2_2 as 64512 source 192.0.2.1 passive is n2",
			"Node_192_0_2_9 as 64512 source 192.0.2.1 is rr",
		}},
		{"reflector of the same cluster is no client", "rr", rr("rr2", "192.0.2.10", "192.0.2.249") + peer("p", "nodeSelector: has(rr), peerSelector: has(rr)"),
			[]string{"Node_192_0_2_10 as 64512 source 192.0.2.9 is rr2"}},
		{"reflector of another cluster is one", "rr", rr("rr2", "192.0.2.10", "192.0.2.250") + peer("p", "nodeSelector: has(rr), peerSelector: has(rr)"),
			[]string{"Node_192_0_2_10 as 64512 source 192.0.2.9 client of 192.0.2.249 is rr2"}},
		// Calico does not know who is behind an address, and takes everyone for a client (F-11).
		{"reflector of the same cluster given by address is no client", "rr",
			rr("rr2", "192.0.2.10", "192.0.2.249") + peer("p", "node: rr, peerIP: 192.0.2.10, asNumber: 64512"),
			[]string{"Node_192_0_2_10 as 64512 source 192.0.2.9 is rr2"}},
		{"stranger of our AS is a client", "rr", peer("p", "node: rr, peerIP: 192.0.2.77, asNumber: 64512"),
			[]string{"Node_192_0_2_77 as 64512 source 192.0.2.9 client of 192.0.2.249"}},
		{"external peer is none", "rr", peer("p", "node: rr, peerIP: 192.0.2.77, asNumber: 65001"),
			[]string{"Node_192_0_2_77 as 65001 external source 192.0.2.9"}},
		{"external by local AS is none", "rr", peer("p", "node: rr, peerIP: 192.0.2.77, asNumber: 64512, localASNumber: 65002"),
			[]string{"Node_192_0_2_77 as 64512 local 65002 external source 192.0.2.9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, c.node, nodes+c.text)
			wantProblems(t, r)
			wantPeers(t, r.IPv4, c.peers...)
		})
	}
}

func TestPorts(t *testing.T) {
	nodes := ab + config(meshOff+", listenPort: 1790") + configOf("b", "listenPort: 1791")
	free := ab + config(meshOff) // no port anywhere
	for _, c := range []struct {
		name, text, there, back string
	}{
		{"no port: the node's own", nodes + peer("p", "node: a, peerIP: 192.0.2.2, asNumber: 64512"),
			"Node_192_0_2_2_port_1791 as 64512 port 1791 source 192.0.2.1 is b", "Node_192_0_2_1_port_1790 as 64512 port 1790 source 192.0.2.2 is a"},
		{"no port, other AS: not that node, so no port", nodes + peer("p", "node: a, peerIP: 192.0.2.2, asNumber: 65009"),
			"Node_192_0_2_2 as 65009 external source 192.0.2.1 is b", ""},
		// The node's own port decides, and Calico compares with the cluster's too (F-7).
		{"own port written out", nodes + peer("p", `node: a, peerIP: "192.0.2.2:1791", asNumber: 64512`),
			"Node_192_0_2_2_port_1791 as 64512 port 1791 source 192.0.2.1 is b", "Node_192_0_2_1_port_1790 as 64512 port 1790 source 192.0.2.2 is a"},
		{"the cluster's port is not that of a node with its own", nodes + peer("p", `node: a, peerIP: "192.0.2.2:1790", asNumber: 64512`),
			"Node_192_0_2_2_port_1790 as 64512 port 1790 source 192.0.2.1 is b", ""},
		{"the cluster's port is that of a node without its own", ab + config(meshOff+", listenPort: 1790") + peer("p", `node: a, peerIP: "192.0.2.2:1790", asNumber: 64512`),
			"Node_192_0_2_2_port_1790 as 64512 port 1790 source 192.0.2.1 is b", "Node_192_0_2_1_port_1790 as 64512 port 1790 source 192.0.2.2 is a"},
		{"a node without any port matches each", free + peer("p", `node: a, peerIP: "192.0.2.2:1234", asNumber: 64512`),
			"Node_192_0_2_2_port_1234 as 64512 port 1234 source 192.0.2.1 is b", "Node_192_0_2_1 as 64512 source 192.0.2.2 is a"},
		{"selectors take the node's port", nodes + peer("p", "node: a, peerSelector: all()"),
			"Node_192_0_2_2_port_1791 as 64512 port 1791 source 192.0.2.1 is b", "Node_192_0_2_1_port_1790 as 64512 port 1790 source 192.0.2.2 is a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantPeers(t, compute(t, "a", c.text).IPv4, c.there)
			if c.back == "" {
				wantPeers(t, compute(t, "b", c.text).IPv4)
			} else {
				wantPeers(t, compute(t, "b", c.text).IPv4, c.back)
			}
		})
	}

	// One address under two ports is two sessions, and the higher address is passive.
	three := node4("a", "192.0.2.1/24") + node4("b", "192.0.2.2/24") + node4("c", "192.0.2.3/24") + config(meshOff+", listenPort: 150") +
		peer("x", "peerIP: 192.0.2.3, asNumber: 64512") + peer("y", `peerIP: "192.0.2.1:166", asNumber: 64512`) + peer("z", "peerIP: 192.0.2.1, asNumber: 64512")
	wantPeers(t, compute(t, "b", three).IPv4,
		"Global_192_0_2_1_port_150 as 64512 port 150 source 192.0.2.2 is a",
		"Global_192_0_2_1_port_166 as 64512 port 166 source 192.0.2.2 is a",
		"Global_192_0_2_3_port_150 as 64512 port 150 source 192.0.2.2 passive is c")
}
