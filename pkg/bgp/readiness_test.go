package bgp_test

import (
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/test/fromtext"
)

// TestPeersKnowWhetherTheirNodeIsReady looks at peers of the mesh and at those of a BGPPeer
// by address and by selector.
func TestPeersKnowWhetherTheirNodeIsReady(t *testing.T) {
	const notReady = "---\napiVersion: v1\nkind: Node\nmetadata: {name: b}\nstatus: {conditions: [{type: Ready, status: Unknown}]}\n"
	for _, tt := range []struct {
		name, more, peer string
		known, notReady  bool
	}{
		{"mesh", notReady, "Mesh_192_0_2_10", true, true},
		{"mesh, ready", "", "Mesh_192_0_2_10", true, false},
		{"another node", notReady, "Mesh_192_0_2_2", true, false},
		{"by address", notReady + peer("p", "peerIP: 192.0.2.10, asNumber: 64512"), "Global_192_0_2_10", true, true},
		{"by selector", notReady + peer("p", "nodeSelector: all(), peerSelector: all()"), "Node_192_0_2_10", true, true},
		{"no node", notReady + peer("p", "peerIP: 192.0.2.77, asNumber: 64512"), "Global_192_0_2_77", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := fromtext.Input{Name: "in.yaml", Text: mesh3 + tt.more}.Decode()
			views, _ := bgp.Compute(r.Cluster, "a", bgp.Options{})
			for _, p := range views.IPv4.Peers {
				if p.Name != tt.peer {
					continue
				}
				if p.NodeNotReady != tt.notReady || (p.NodeName != "") != tt.known || p.GracefulRestartOff {
					t.Errorf("%+v", p)
				}
				return
			}
			t.Errorf("there is no %s", tt.peer)
		})
	}
}
