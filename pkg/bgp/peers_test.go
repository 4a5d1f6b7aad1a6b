package bgp_test

import "testing"

const (
	ab      = "---\napiVersion: projectcalico.org/v3\nkind: Node\nmetadata: {name: a}\nspec: {bgp: {ipv4Address: 192.0.2.1/24, ipv6Address: \"2001:db8::1/64\"}}\n" + "---\napiVersion: projectcalico.org/v3\nkind: Node\nmetadata: {name: b}\nspec: {bgp: {ipv4Address: 192.0.2.2/24, ipv6Address: \"2001:db8::2/64\"}}\n"
	meshOff = "nodeToNodeMeshEnabled: false"
)

// meshless is two nodes of both families without a mesh, so that only explicit peers show.
var meshless = ab + config(meshOff)

func TestPeersByAddress(t *testing.T) {
	const tor = "peerIP: 192.0.2.254, asNumber: 64501"
	for _, c := range []struct {
		name, text string
		v4, v6     []string
		problems   []string
	}{
		{name: "peer of every node is Global", text: peer("p", tor),
			v4: []string{"Global_192_0_2_254 as 64501 external source 192.0.2.1"}},
		{name: "peer of this node is Node", text: peer("p", "node: a, "+tor),
			v4: []string{"Node_192_0_2_254 as 64501 external source 192.0.2.1"}},
		{name: "peer of another node is not ours", text: peer("p", "node: b, "+tor)},
		{name: "nodeSelector all() is Node all the same", text: peer("p", "nodeSelector: all(), "+tor),
			v4: []string{"Node_192_0_2_254 as 64501 external source 192.0.2.1"}},
		{name: "IPv6 address in a name", text: peer("p", `peerIP: "2001:DB8:0::fE", asNumber: 64501`),
			v6: []string{"Global_2001_db8__fe as 64501 external source 2001:db8::1"}},
		{name: "port in a name", text: peer("p", `peerIP: "[2001:db8::fe]:50", asNumber: 64501`),
			v6: []string{"Global_2001_db8__fe_port_50 as 64501 port 50 external source 2001:db8::1"}},
		{name: "port 179 is in no name", text: peer("p", `peerIP: "192.0.2.254:179", asNumber: 64501`),
			v4: []string{"Global_192_0_2_254 as 64501 external source 192.0.2.1"}},
		{name: "the cluster's own listen port is not a stranger's", text: configOf("a", "listenPort: 1790") + peer("p", tor),
			v4: []string{"Global_192_0_2_254 as 64501 external source 192.0.2.1"}},
		{name: "no asNumber means the cluster's", text: peer("p", "peerIP: 192.0.2.254"),
			v4:       []string{"Global_192_0_2_254 as 64512 source 192.0.2.1"},
			problems: []string{"warning peer-as BGPPeer/p spec.asNumber: the cluster's AS number 64512 is used"}},
		{name: "peer AS equal to our local one is internal", text: peer("p", tor+", localASNumber: 64501"),
			v4: []string{"Global_192_0_2_254 as 64501 local 64501 source 192.0.2.1"}},
		{name: "peer AS equal to the node's but not to the local one is external", text: peer("p", "peerIP: 192.0.2.254, asNumber: 64512, localASNumber: 64501"),
			v4: []string{"Global_192_0_2_254 as 64512 local 64501 external source 192.0.2.1"}},
		{name: "next hop self", text: peer("p", tor+", nextHopMode: Self"),
			v4: []string{"Global_192_0_2_254 as 64501 external source 192.0.2.1 next hop self"}},
		{name: "next hop keep, to internal peers too", text: peer("p", "peerIP: 192.0.2.254, asNumber: 64512, nextHopMode: Keep"),
			v4: []string{"Global_192_0_2_254 as 64512 source 192.0.2.1 next hop keep"}},
		{name: "next hop auto says nothing", text: peer("p", tor+", nextHopMode: Auto"),
			v4: []string{"Global_192_0_2_254 as 64501 external source 192.0.2.1"}},
		{name: "the older field keeps the next hop of external peers", text: peer("p", tor+", keepOriginalNextHop: true"),
			v4: []string{"Global_192_0_2_254 as 64501 external source 192.0.2.1 next hop keep"}},
		{name: "the older field means nothing to internal peers", text: peer("p", "peerIP: 192.0.2.254, asNumber: 64512, keepOriginalNextHop: true"),
			v4: []string{"Global_192_0_2_254 as 64512 source 192.0.2.1"}},
		{name: "the older field goes by the local AS", text: peer("p", tor+", localASNumber: 64501, keepOriginalNextHop: true"),
			v4: []string{"Global_192_0_2_254 as 64501 local 64501 source 192.0.2.1"}},
		{name: "no source address", text: peer("p", tor+", sourceAddress: None"),
			v4: []string{"Global_192_0_2_254 as 64501 external"}},
		{name: "TTL, timers, own AS in paths",
			text: peer("p", tor+", ttlSecurity: 2, maxRestartTime: 4095s, keepaliveTime: 10s, numAllowedLocalASNumbers: 3"),
			v4:   []string{"Global_192_0_2_254 as 64501 external source 192.0.2.1 ttl 2 restart 1h8m15s keepalive 10s allow local as 3"}},
		{name: "our own address is nobody", text: peer("p", "peerIP: 192.0.2.1, asNumber: 64500")},
		{name: "our own address in the other family's text is nobody", text: peer("p", `peerIP: "2001:db8:0:0::1", asNumber: 64500`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, "a", meshless+c.text)
			wantProblems(t, r, c.problems...)
			wantPeers(t, r.IPv4, c.v4...)
			wantPeers(t, r.IPv6, c.v6...)
		})
	}
}

func TestPeersBySelector(t *testing.T) {
	nodes := node("a", "rack: r1", `ipv4Address: 192.0.2.1/24, ipv6Address: "2001:db8::1/64"`) +
		node("b", "rack: r1", `ipv4Address: 192.0.2.2/24, ipv6Address: "2001:db8::2/64", asNumber: 64501`) +
		node("c", "rack: r2", "ipv4Address: 192.0.2.3/24") +
		configOf("c", "listenPort: 1790") + config(meshOff+", asNumber: 64500")
	for _, c := range []struct {
		name, node, text string
		v4, v6           []string
		problems         []string
	}{
		{name: "all nodes but ourselves, in the families they have, with their own AS numbers and ports", node: "a",
			text: peer("p", "nodeSelector: rack == 'r1', peerSelector: all()"),
			v4: []string{
				"Node_192_0_2_2 as 64501 external source 192.0.2.1 is b",
				"Node_192_0_2_3_port_1790 as 64500 port 1790 source 192.0.2.1 is c",
			},
			v6: []string{"Node_2001_db8__2 as 64501 external source 2001:db8::1 is b"}},
		{name: "fields that need peerIP have no effect", node: "a",
			text:     peer("p", "node: a, peerSelector: rack == 'r2', localASNumber: 65000, numAllowedLocalASNumbers: 2"),
			v4:       []string{"Node_192_0_2_3_port_1790 as 64500 port 1790 source 192.0.2.1 is c"},
			problems: []string{"warning local-as BGPPeer/p spec.localASNumber: only with peerIP", "warning local-as BGPPeer/p spec.numAllowedLocalASNumbers: only with peerIP"}},
		{name: "the others have", node: "a",
			text: peer("p", "node: a, peerSelector: rack == 'r2', ttlSecurity: 1, keepaliveTime: 5s, maxRestartTime: 0s, nextHopMode: Self, sourceAddress: None"),
			v4:   []string{"Node_192_0_2_3_port_1790 as 64500 port 1790 ttl 1 restart 0s keepalive 5s next hop self is c"}},
		{name: "without nodeSelector they are Global, and active on both sides", node: "a", text: peer("p", "peerSelector: rack == 'r2'"),
			v4: []string{"Global_192_0_2_3_port_1790 as 64500 port 1790 source 192.0.2.1 is c"}},
		{name: "nothing is selected", node: "a", text: peer("p", "nodeSelector: rack == 'r9', peerSelector: all()")},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, c.node, nodes+c.text)
			wantProblems(t, r, c.problems...)
			wantPeers(t, r.IPv4, c.v4...)
			wantPeers(t, r.IPv6, c.v6...)
		})
	}
}

func TestWhyOfPeers(t *testing.T) {
	nodes := node("a", "rack: r1", "ipv4Address: 192.0.2.1/24") + node("b", "rack: r2", "ipv4Address: 192.0.2.2/24") + config(meshOff)
	for spec, want := range map[string]string{
		"peerIP: 192.0.2.254, asNumber: 64501":                                "BGPPeer/p via every node",
		"node: a, peerIP: 192.0.2.254, asNumber: 64501":                       "BGPPeer/p via node",
		"nodeSelector: rack == 'r1', peerIP: 192.0.2.254, asNumber: 64501":    "BGPPeer/p via nodeSelector",
		"nodeSelector: rack == 'r1', peerSelector: rack == 'r2'":              "BGPPeer/p via nodeSelector and peerSelector",
		"nodeSelector: rack == 'r2', peerSelector: rack == 'r1'":              "BGPPeer/p via reverse of peerSelector",
		"nodeSelector: rack == 'r2', peerIP: 192.0.2.1, asNumber: 64512":      "BGPPeer/p via reverse of peerIP",
		"node: b, peerIP: \"192.0.2.1:179\", asNumber: 64512, ttlSecurity: 1": "BGPPeer/p via reverse of peerIP",
	} {
		r := compute(t, "a", nodes+peer("p", spec))
		if len(r.IPv4.Peers) != 1 {
			t.Errorf("%s: %d peers", spec, len(r.IPv4.Peers))
			continue
		}
		wantEqual(t, spec, r.IPv4.Peers[0].Why, want)
	}
}

// Of resources that ask for one session the first wins: the peers of every node, then a
// node's own, then reverse peerings, and by name among equals.
func TestDuplicatePeers(t *testing.T) {
	nodes := node("a", "", "ipv4Address: 192.0.2.1/24") + node("b", "", "ipv4Address: 192.0.2.2/24") + config(meshOff)
	const tor = "peerIP: 192.0.2.254, asNumber: "
	for _, c := range []struct {
		name, text string
		peers      []string
		problems   []string
	}{
		{"by name", peer("y", "node: a, "+tor+"64502") + peer("x", "node: a, "+tor+"64501"),
			[]string{"Node_192_0_2_254 as 64501 external source 192.0.2.1"},
			[]string{"warning duplicate-peer BGPPeer/y: BGPPeer/x asks for the same session, with 192.0.2.254, and comes first"}},
		{"the peers of every node first", peer("x", "node: a, "+tor+"64501") + peer("y", tor+"64502"),
			[]string{"Global_192_0_2_254 as 64502 external source 192.0.2.1"},
			[]string{"warning duplicate-peer BGPPeer/x: BGPPeer/y"}},
		{"another port is another session", peer("x", tor+"64501") + peer("y", `peerIP: "192.0.2.254:1790", asNumber: 64502`),
			[]string{"Global_192_0_2_254 as 64501 external source 192.0.2.1", "Global_192_0_2_254_port_1790 as 64502 port 1790 external source 192.0.2.1"}, nil},
		{"own before reverse", peer("x", "node: b, peerIP: 192.0.2.1, asNumber: 64512, ttlSecurity: 1") + peer("y", "node: a, peerIP: 192.0.2.2, asNumber: 64512"),
			[]string{"Node_192_0_2_2 as 64512 source 192.0.2.1 is b"},
			[]string{"warning duplicate-peer BGPPeer/x: BGPPeer/y asks for the same session, with 192.0.2.2",
				"warning peer-mismatch BGPPeer/y spec.ttlSecurity: (b), which follows BGPPeer/x on its side, and only one of the two has TTL security"}},
		{"one resource in both directions asks once", peer("x", "nodeSelector: all(), peerSelector: all()"),
			[]string{"Node_192_0_2_2 as 64512 source 192.0.2.1 is b"}, nil},
		{"calico's own example: global and node-specific selectors", peer("x", "peerSelector: all()") + peer("y", "node: a, peerSelector: all()"),
			[]string{"Global_192_0_2_2 as 64512 source 192.0.2.1 is b"},
			[]string{"warning duplicate-peer BGPPeer/y: BGPPeer/x"}},
		{"many sessions, one problem", configOf("b", "listenPort: 1790") + node4("c", "192.0.2.3/24") + peer("x", "peerSelector: all()") + peer("y", "nodeSelector: all(), peerSelector: all()"),
			[]string{"Global_192_0_2_2_port_1790 as 64512 port 1790 source 192.0.2.1 is b", "Global_192_0_2_3 as 64512 source 192.0.2.1 is c"},
			[]string{"warning duplicate-peer BGPPeer/y: BGPPeer/x asks for 2 of the same sessions, one with 192.0.2.2 port 1790"}},
		{"the first to ask is held back, and nobody takes its place",
			peer("x", "node: a, "+tor+"64501, password: {secretKeyRef: {name: none, key: k}}") + peer("y", "node: a, "+tor+"64501"),
			nil,
			[]string{"error password BGPPeer/x spec.password.secretKeyRef: no such Secret", "warning duplicate-peer BGPPeer/y: BGPPeer/x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, "a", nodes+c.text)
			wantProblems(t, r, c.problems...)
			wantPeers(t, r.IPv4, c.peers...)
		})
	}
}
