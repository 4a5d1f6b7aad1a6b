package bgp_test

import "testing"

// TestEndsThatDisagree renders the node whose side is asked for explicitly: it knows both
// sides, and says what keeps the session from coming up.
func TestEndsThatDisagree(t *testing.T) {
	nodes := node4("a", "192.0.2.1/24") + node4("b", "192.0.2.2/24")
	const mismatch = "warning peer-mismatch BGPPeer/"
	for _, c := range []struct {
		name, node, text string
		v4               []string
		problems         []string
	}{
		{"the node has another AS number", "a",
			peer("p", "peerIP: 192.0.2.2, asNumber: 65000"),
			[]string{"Global_192_0_2_2 as 65000 external source 192.0.2.1 passive is b"},
			[]string{mismatch + "p spec.asNumber: (b), which has AS number 64512, not 65000; the session cannot come up",
				"info mesh-replaced BGPPeer/p: session with b"}},
		{"nobody connects when the other side is held back", "a",
			config("nodeMeshPassword: {secretKeyRef: {name: none, key: k}}") + peer("p", "peerIP: 192.0.2.2, asNumber: 64512, reversePeering: Manual"),
			[]string{"Global_192_0_2_2 as 64512 source 192.0.2.1 is b"},
			[]string{"error password BGPConfiguration/default spec.nodeMeshPassword.secretKeyRef: all mesh sessions are held back"}},
		{"password of the mesh against that of a peer", "a",
			config("nodeMeshPassword: {secretKeyRef: {name: s, key: k}}") + secret("s", "k", "hunter2") + secret("t", "k", "hunter3") +
				peer("p", "node: a, peerIP: 192.0.2.2, asNumber: 64512, reversePeering: Manual, password: {secretKeyRef: {name: t, key: k}}"),
			[]string{"Node_192_0_2_2 as 64512 source 192.0.2.1 password hunter3 is b"},
			[]string{mismatch + "p spec.password: (b), which follows the node-to-node mesh on its side, where the password is another", "info mesh-replaced BGPPeer/p: session with b"}},
		{"each side follows a resource of its own", "a",
			secret("s", "k", "hunter2") + peer("x", "peerIP: 192.0.2.1, asNumber: 64512") +
				peer("y", "peerIP: 192.0.2.2, asNumber: 64512, password: {secretKeyRef: {name: s, key: k}}"),
			[]string{"Global_192_0_2_2 as 64512 source 192.0.2.1 password hunter2 passive is b"},
			[]string{"warning duplicate-peer BGPPeer/x: BGPPeer/y asks for the same session",
				mismatch + "y spec.password: (b), which follows BGPPeer/x on its side, where the password is another", "info mesh-replaced BGPPeer/y: session with b"}},
		{"one problem for all nodes, of both families", "a",
			node("c", "", `ipv4Address: 192.0.2.3/24, ipv6Address: "2001:db8::3/64"`) +
				peer("p", "node: a, peerSelector: all(), reversePeering: Manual, ttlSecurity: 1"),
			[]string{"Node_192_0_2_2 as 64512 source 192.0.2.1 ttl 1 is b", "Node_192_0_2_3 as 64512 source 192.0.2.1 ttl 1 is c"},
			[]string{mismatch + "p spec.ttlSecurity: (b, c), which follows the node-to-node mesh on its side, and only one of the two has TTL security",
				"info mesh-replaced BGPPeer/p: session with b, c"}},
		{"both sides follow one resource", "b",
			secret("s", "k", "hunter2") + peer("y", "peerIP: 192.0.2.2, asNumber: 64512, ttlSecurity: 1, password: {secretKeyRef: {name: s, key: k}}"),
			[]string{"Node_192_0_2_1 as 64512 source 192.0.2.2 ttl 1 password hunter2 is a"},
			[]string{"info mesh-replaced BGPPeer/y: session with a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, c.node, nodes+c.text)
			wantProblems(t, r, c.problems...)
			wantPeers(t, r.IPv4, c.v4...)
		})
	}
}
