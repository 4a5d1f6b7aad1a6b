package cases

import (
	"slices"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// The log leaves open whether a link-local peer is rendered; it is refused, because
// Calico's protocols are multihop and BIRD refuses the two together.
func TestC1LinkLocalPeerIsRefusedAlone(t *testing.T) {
	for value, says := range map[string]string{
		`"fe80::1%eth0"`: "zone",
		`"fe80::1"`:      "link-local",
	} {
		in := replace(t, input(t, "C1"), `"fe80::1%eth0"`, value)
		all := renderAll(t, in)
		for _, r := range all {
			wantProblems(t, in, r, want{calico.Error, calico.RuleAddress, "BGPPeer/ll", "spec.peerIP", value,
				[]string{says, "the peer is left out"}})
		}
		wantSessions(t, bird6(all["alpha"]), "Mesh_2001_db8_0_1__12", "Node_2001_db8_0_1__1")
		wantStatements(t, bird6(all["alpha"]).Session(t, "Node_2001_db8_0_1__1"), "neighbor 2001:db8:0:1::1 as 64501;")
		wantSessions(t, bird6(all["bravo"]), "Mesh_2001_db8_0_1__11")
	}
}

func TestC2NextHopKeepOnlyToExternalPeers(t *testing.T) {
	in := input(t, "C2")
	r := render(t, in, "alpha")
	wantProblems(t, in, r)
	wantSessions(t, bird(r), "Node_192_0_2_1", "Node_192_0_2_2")
	wantStatements(t, bird(r).Session(t, "Node_192_0_2_1"), "next hop keep;")
	wantNone(t, bird(r).Session(t, "Node_192_0_2_2"), "next hop")

	in = replace(t, in, "asNumber: 64501, keepOriginalNextHop: true", "asNumber: 64501, nextHopMode: Self, keepOriginalNextHop: true")
	r = render(t, in, "alpha")
	wantProblems(t, in, r, want{calico.Warning, calico.RuleConflict, "BGPPeer/edge", "spec.keepOriginalNextHop", "",
		[]string{"nextHopMode Self", "ignored"}})
	wantStatements(t, bird(r).Session(t, "Node_192_0_2_1"), "next hop self;")
	wantNone(t, bird(r).Session(t, "Node_192_0_2_1"), "next hop keep")
}

func TestC3NoSourceAddress(t *testing.T) {
	r := render(t, input(t, "C3"), "alpha")
	wantSessions(t, bird(r), "Mesh_192_0_2_12", "Mesh_192_0_2_13", "Node_203_0_113_1")
	wantNone(t, bird(r).Session(t, "Node_203_0_113_1"), "source address")
	for _, name := range []string{"Mesh_192_0_2_12", "Mesh_192_0_2_13"} {
		wantStatements(t, bird(r).Session(t, name), "source address 192.0.2.11;")
	}
}

func TestC4KeepaliveTimeInWholeSeconds(t *testing.T) {
	in := input(t, "C4")
	without := render(t, replace(t, in, ", keepaliveTime: 400ms", ""), "alpha")
	for value, rule := range map[string]string{
		"400ms": calico.RuleDuration, // rounded to 0 it would pass BIRD 1.6 and be refused by BIRD 2
		"0s":    calico.RuleRange, "1500ms": calico.RuleDuration, "65536s": calico.RuleRange,
	} {
		in := replace(t, in, "400ms", value)
		r := render(t, in, "alpha")
		wantProblems(t, in, r, want{calico.Error, rule, "BGPPeer/fast", "spec.keepaliveTime", value + "}", []string{"1s to 65535s"}})
		sameFiles(t, "with the keepalive time "+value+" and without any", r, without)
	}
	in = replace(t, in, "400ms", "10s")
	r := render(t, in, "alpha")
	wantProblems(t, in, r)
	wantStatements(t, bird(r).Session(t, "Node_192_0_2_1"), "keepalive time 10;")
	wantNone(t, bird(r).Session(t, "Node_192_0_2_1"), "hold time", "startup hold time")
}

func TestC5LocalASNumberDecidesWhatIsInternal(t *testing.T) {
	in := input(t, "C5")
	r := render(t, in, "alpha")
	wantProblems(t, in, r)
	s := bird(r).Session(t, "Node_192_0_2_1")
	wantStatements(t, s, "local as 64501;", "neighbor 192.0.2.1 as 64501;", "export filter calico_export_internal;")
	wantNone(t, s, "next hop")

	in = replace(t, in, "localASNumber: 64501", "localASNumber: 64502")
	s = bird(render(t, in, "alpha")).Session(t, "Node_192_0_2_1")
	wantStatements(t, s, "local as 64502;", "neighbor 192.0.2.1 as 64501;", "export filter calico_export_external;", "next hop keep;")
}

func TestC6MeshOffOnOff(t *testing.T) {
	off := input(t, "C6")
	on := replace(t, off, "nodeToNodeMeshEnabled: false", "nodeToNodeMeshEnabled: true")
	text := documents(off.Text)
	gone := off
	gone.Text = join(text[:len(text)-1])

	first, second, third, fourth := renderAll(t, off), renderAll(t, on), renderAll(t, off), renderAll(t, gone)
	for node := range first {
		sameFiles(t, node+": mesh off, on, off", first[node], third[node])
		wantSessions(t, bird(fourth[node]))
	}
	wantSessions(t, bird(first["alpha"]), "Node_192_0_2_12")
	wantSessions(t, bird(first["bravo"]), "Node_192_0_2_11", "Node_192_0_2_13")

	// One address, one session: what an operator wrote beats the mesh, which Calico renders too.
	wantSessions(t, bird(second["alpha"]), "Mesh_192_0_2_13", "Node_192_0_2_12")
	wantSessions(t, bird(second["bravo"]), "Node_192_0_2_11", "Node_192_0_2_13")
	wantSessions(t, bird(second["charlie"]), "Mesh_192_0_2_11", "Node_192_0_2_12")
	replaced := func(nodes string) want {
		return want{calico.Info, calico.RuleMeshReplaced, "BGPPeer/to-bravo", "", "", []string{"place of the mesh session with " + nodes}}
	}
	wantProblems(t, on, second["alpha"], replaced("bravo"))
	wantProblems(t, on, second["bravo"], replaced("alpha, charlie"))
	wantProblems(t, on, second["charlie"], replaced("bravo"))
	wantProblems(t, off, first["bravo"])
}

func TestC7ChangeThatChangesNothing(t *testing.T) {
	in := input(t, "C7")
	before := renderAll(t, in)
	wantSessions(t, bird(before["charlie"]), "Mesh_192_0_2_11", "Mesh_192_0_2_12")

	heartbeat := replace(t, in, "metadata: {name: bravo, labels: {rack: r1}}",
		`metadata: {name: bravo, labels: {rack: r1}, resourceVersion: "9", annotations: {heartbeat: "2026-08-22T10:00:00Z"}}
status: {wireguardPublicKey: "bm90IGEga2V5"}`)
	for node, r := range renderAll(t, heartbeat) {
		wantProblems(t, heartbeat, r)
		sameFiles(t, node+" after a heartbeat", r, before[node])
	}

	moved := replace(t, in, "metadata: {name: charlie, labels: {rack: r2}}", "metadata: {name: charlie, labels: {rack: r1}}")
	after := renderAll(t, moved)
	sameFiles(t, "alpha after charlie's move", after["alpha"], before["alpha"])
	sameFiles(t, "bravo after charlie's move", after["bravo"], before["bravo"])
	wantSessions(t, bird(after["charlie"]), "Mesh_192_0_2_11", "Mesh_192_0_2_12", "Node_192_0_2_1")
}

func TestC8OfTwoPeersWithOneAddressTheFirstNameWins(t *testing.T) {
	in := input(t, "C8")
	d := documents(in.Text)
	n := len(d)
	backwards := in
	backwards.Text = join(slices.Concat(d[:n-2], []string{d[n-1], d[n-2]}))
	loses := want{calico.Warning, calico.RuleDuplicatePeer, "BGPPeer/two", "", "", []string{"BGPPeer/one", "192.0.2.1", "comes first"}}
	first := renderAll(t, in)
	for node, r := range renderAll(t, backwards) {
		wantProblems(t, in, first[node], loses)
		wantProblems(t, backwards, r, loses)
		sameFiles(t, node+" with the peers in another order", first[node], r)
	}
	wantSessions(t, bird(first["alpha"]), "Global_192_0_2_1", "Mesh_192_0_2_12", "Mesh_192_0_2_13")
	wantStatements(t, bird(first["alpha"]).Session(t, "Global_192_0_2_1"), "neighbor 192.0.2.1 as 64501;")

	// A peer of every node comes before a node's own, whatever their names.
	own := replace(t, in, "metadata: {name: one}\nspec: {peerIP: 192.0.2.1,", "metadata: {name: one}\nspec: {node: alpha, peerIP: 192.0.2.1,")
	all := renderAll(t, own)
	wantProblems(t, own, all["alpha"], want{calico.Warning, calico.RuleDuplicatePeer, "BGPPeer/one", "", "", []string{"BGPPeer/two"}})
	wantStatements(t, bird(all["alpha"]).Session(t, "Global_192_0_2_1"), "neighbor 192.0.2.1 as 64502;")
	wantProblems(t, own, all["bravo"])

	// BGP's own port written out is the same endpoint.
	port := replace(t, in, "metadata: {name: two}\nspec: {peerIP: 192.0.2.1,", "metadata: {name: two}\nspec: {peerIP: \"192.0.2.1:179\",")
	r := render(t, port, "alpha")
	wantProblems(t, port, r, loses)
	sameFiles(t, "with port 179 written out", r, first["alpha"])
}

func TestC9OwnPortDecidesBeforeTheGlobalOne(t *testing.T) {
	in := input(t, "C9")
	all := renderAll(t, in)
	for _, r := range all {
		wantProblems(t, in, r)
	}
	wantSessions(t, bird(all["alpha"]), "Node_192_0_2_12_port_1791")
	wantStatements(t, bird(all["alpha"]).Session(t, "Node_192_0_2_12_port_1791"), "neighbor 192.0.2.12 port 1791 as 64500;")
	wantSessions(t, bird(all["bravo"]), "Node_192_0_2_11_port_1790")
	wantStatements(t, bird(all["bravo"]).Session(t, "Node_192_0_2_11_port_1790"), "neighbor 192.0.2.11 port 1790 as 64500;")
	wantSessions(t, bird(all["charlie"]))

	// The global port is not bravo's, so this means somebody else at that address.
	other := replace(t, in, "192.0.2.12:1791", "192.0.2.12:1790")
	wantSessions(t, bird(render(t, other, "bravo")))

	for _, port := range []string{"0x6ff", "01791", "0", "65536", "bgp"} {
		bad := replace(t, in, "192.0.2.12:1791", "192.0.2.12:"+port)
		r := render(t, bad, "alpha")
		wantProblems(t, bad, r, want{calico.Error, calico.RuleAddress, "BGPPeer/to-bravo", "spec.peerIP",
			`"192.0.2.12:` + port, []string{"decimal number from 1 to 65535", "the peer is left out"}})
		wantSessions(t, bird(r))
	}
}

func TestC10TypoInAField(t *testing.T) {
	in := input(t, "C10")
	r := render(t, in, "alpha")
	wantProblems(t, in, r,
		want{calico.Error, calico.RuleUnknownField, "BGPConfiguration/default", "spec.serviceClusterIPs[0].cird", "cird:", []string{`did you mean "cidr"?`}},
		want{calico.Error, calico.RuleUnknownField, "BGPConfiguration/default", "spec.gracefullRestartWait", "gracefullRestartWait:", []string{`did you mean "gracefulRestartWait"?`}})
	wantSessions(t, bird(r), "Mesh_192_0_2_12", "Mesh_192_0_2_13")
	wantStatements(t, bird(r).Block(t, "template bgp bgp_template"), "local as 64500;")

	// A field of some newer Calico is not taken for a slip of something far away.
	in = replace(t, in, "  gracefullRestartWait: 30s\n", "  routeDampeningPenalty: 1000\n")
	in = replace(t, in, "cird:", "cidr:")
	for _, p := range render(t, in, "alpha").Problems {
		if p.Rule == calico.RuleUnknownField && strings.Contains(p.Hint, "did you mean") {
			t.Errorf("an unknown field is guessed to be another: %s", p)
		}
	}
}
