package bgp

import (
	"net/netip"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// Peering is a session that BGPPeers ask of a node, before the node makes a Peer of it.
type Peering struct {
	// Address and Port are unique among a node's Peerings; the port is 0 for BGP's own.
	Address netip.Addr
	Port    uint16
	// Global tells that the peering is one of every node.
	Global bool
	// ASNumber is the peer's, LocalASNumber ours towards it, 0 for the node's own.
	ASNumber, LocalASNumber uint32
	// ClusterID is that of the node at the other end, if it is a route reflector.
	ClusterID netip.Addr
	Password  Secret
	// NodeAddress: the session starts at the node's own address.
	NodeAddress bool
	// CalicoNode tells that the peer is given by address and is a node of the cluster, which
	// has this session too.
	CalicoNode   bool
	AllowLocalAS uint32
	TTLSecurity  uint8
	ReachableBy  netip.Addr
	// LocalWorkload: the peer is a workload of the node, which connects.
	LocalWorkload bool
	// NextHopMode is set, or KeepNextHop may be.
	NextHopMode calico.NextHopMode
	KeepNextHop bool
	// From is the resource that asked first. Its timers count, but not for workloads.
	From *calico.BGPPeer
	// Filters are those of its BGPFilters that there are.
	Filters []string
}

// Peerings finds the Peerings of any node of a cluster. It is not for use by several
// goroutines.
type Peerings struct {
	of calculation
}

// NewPeerings works for one cluster. Workloads are those of the named node.
func NewPeerings(c *calico.Cluster, node string, o Options) *Peerings {
	me := c.Node(node)
	if me == nil {
		me = &calico.Node{Meta: calico.Meta{ID: calico.ID{Kind: "Node", Name: node}}}
	}
	return &Peerings{of: *newCalculation(c, me, o)}
}

// MeshPassword is that of all sessions of the mesh. It is false when there should be one that
// cannot be used: then the mesh has no sessions.
func (p *Peerings) MeshPassword() (Secret, bool) { return p.as(p.of.me).meshPassword() }

// as is a calculation for another node, which reports nothing to anybody.
func (p *Peerings) as(n *calico.Node) *calculation {
	k := p.of
	k.me, k.reaching, k.problems, k.reported = n, nil, nil, map[calico.Problem]bool{}
	k.own = k.ForNode(n.Name)
	if n.Name != p.of.me.Name {
		c := *k.Cluster
		c.Workloads = nil
		k.Cluster = &c
	}
	return &k
}

// Of lists the Peerings of a node that BGPPeers of every node make and, with global false,
// the others. A session whose password cannot be used is not there.
func (p *Peerings) Of(n *calico.Node, global bool) []Peering {
	k := p.as(n)
	var out []Peering
	for _, s := range k.sessions().list {
		if (isGlobal(s.from) && !s.reverse) != global {
			continue
		}
		if pw, ok := k.peerPassword(s.from); ok {
			out = append(out, k.peering(s, pw))
		}
	}
	return out
}

func (k *calculation) peering(s *session, pw Secret) Peering {
	from := s.from
	out := Peering{Address: s.addr, Port: portStatement(s.port), Global: isGlobal(from) && !s.reverse, ASNumber: s.as,
		LocalASNumber: s.localAS, From: from, Filters: k.existingFilters(from), LocalWorkload: s.kind == LocalWorkload}
	out.Password = pw
	if out.LocalWorkload {
		return out
	}
	out.ClusterID, out.NodeAddress = s.clusterID, !from.NoSourceAddress
	out.TTLSecurity, out.NextHopMode, out.KeepNextHop = from.TTLSecurity, from.NextHopMode, from.KeepOriginalNextHop
	if s.byAddress {
		out.AllowLocalAS, out.ReachableBy = from.NumAllowedLocalASNumbers, from.ReachableBy
		if s.node != nil {
			other := k.otherEnd(s.node, familyOf(s.addr))
			out.CalicoNode = s.kind != Global || other != nil && !other.held
		}
	}
	return out
}
