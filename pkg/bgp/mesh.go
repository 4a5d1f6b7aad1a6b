package bgp

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

func (k *calculation) meshEnabled() bool {
	on := k.config.NodeToNodeMeshEnabled
	return on == nil || *on
}

// meshBetween tells whether two nodes are both in the node-to-node mesh. Route reflectors
// are not, on either side.
func (k *calculation) meshBetween(a, b *calico.Node) bool {
	return k.meshEnabled() && !a.ClusterID.IsValid() && !b.ClusterID.IsValid()
}

// mesh adds the sessions of the node-to-node mesh that no BGPPeer has taken.
func (k *calculation) mesh(v *View, s *sessions) {
	if !k.meshEnabled() || v.Node.ClusterID.IsValid() {
		return
	}
	pw, ok := k.meshPassword()
	if !ok {
		return
	}
	replaced := map[*calico.BGPPeer][]string{}
	seen := make(map[netip.Addr]bool, len(k.Nodes)) // nodes may share an address by mistake
	for _, n := range k.Nodes {
		a := address(n, v.Family)
		if !a.IsValid() || n.ClusterID.IsValid() || a == v.Address || seen[a] {
			continue
		}
		seen[a] = true
		e := endpoint{a, cmp.Or(k.portOf(n), bgpPort)}
		if explicit, taken := s.taken[e]; taken {
			if _, ok := k.peerPassword(explicit.from); ok { // else there is no session at all
				replaced[explicit.from] = append(replaced[explicit.from], n.Name)
			}
			continue
		}
		name := protocolName(Mesh, endpoint{a, bgpPort}) // a mesh name never has a port
		as := k.asOf(n)
		v.Peers = append(v.Peers, Peer{
			Name: name, Type: Mesh, Address: a, Port: portStatement(e.port), ASNumber: as,
			Internal: as == v.Node.ASNumber, SourceAddress: v.Address, Password: pw,
			GracefulRestartTime: k.config.NodeMeshMaxRestartTime,
			Passive:             higher(a, v.Address),
			NodeName:            n.Name, NodeNotReady: n.NotReady, Why: "node-to-node mesh",
		})
	}
	for p, names := range replaced {
		k.report(p.Problem(calico.Info, calico.RuleMeshReplaced, "",
			fmt.Sprintf("this peering takes the place of the mesh session with %s", abbreviate(names, 5)), ""))
	}
}
