package bgp

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// peers fills in the View's peers and the policies they share.
func (k *calculation) peers(v *View, s *sessions) {
	if !v.Address.IsValid() {
		return
	}
	for _, n := range s.list {
		if familyOf(n.addr) != v.Family || n.addr == v.Address {
			continue
		}
		if p, ok := k.explicit(v, n); ok {
			v.Peers = append(v.Peers, p)
		}
	}
	k.mesh(v, s)
	slices.SortFunc(v.Peers, func(a, b Peer) int { return cmp.Compare(a.Name, b.Name) })
	k.policies(v, s)
}

// protocolName makes a protocol's name: the kind, the address with underscores, and the
// port when it is not BGP's own.
func protocolName(t PeerType, e endpoint) string {
	name := string(t) + "_" + strings.Map(func(r rune) rune {
		if r == '.' || r == ':' {
			return '_'
		}
		return r
	}, e.addr.String())
	if e.port != bgpPort {
		name += fmt.Sprintf("_port_%d", e.port)
	}
	return name
}

// explicit makes the peer that a BGPPeer asked for; false when it must be held back.
func (k *calculation) explicit(v *View, s *session) (Peer, bool) {
	from := s.from
	pw, ok := k.peerPassword(from)
	if !ok {
		return Peer{}, false
	}
	p := Peer{
		Name: protocolName(s.kind, s.endpoint), Type: s.kind, Address: s.addr, Port: portStatement(s.port),
		ASNumber: s.as, LocalASNumber: s.localAS, Password: pw, Why: s.why(),
	}
	p.Internal = s.as == cmp.Or(s.localAS, v.Node.ASNumber)
	if s.node != nil {
		p.NodeName, p.NodeNotReady = s.node.Name, s.node.NotReady
	}
	if s.kind == LocalWorkload {
		p.Passive = true
		k.ignoredByWorkloads(from)
		return p, true
	}
	if !from.NoSourceAddress {
		p.SourceAddress = v.Address
	}
	p.TTLSecurity = from.TTLSecurity
	p.GracefulRestartTime, p.KeepaliveTime = from.MaxRestartTime, from.KeepaliveTime
	p.NextHopSelf = from.NextHopMode == calico.NextHopSelf
	p.NextHopKeep = from.NextHopMode == calico.NextHopKeep || (from.KeepOriginalNextHop && !p.Internal)
	if s.byAddress {
		p.AllowLocalAS = from.NumAllowedLocalASNumbers
		k.localASReturn(s)
	} else {
		k.ignoredBySelectors(from)
	}
	own := v.Node.ClusterID
	if p.Internal && own.IsValid() && s.clusterID != own {
		p.RouteReflectorClient, p.ClusterID = true, own
	}
	if s.node != nil {
		other := k.otherEnd(s.node, v.Family)
		k.compareEnds(s, other, pw)
		// Exactly one side of a session should connect, lest a second connection ends a
		// graceful restart that the first began. The mesh's rule decides, but only when the
		// other side does connect.
		p.Passive = s.kind == Global && s.byAddress && higher(s.addr, v.Address) && other != nil && !other.held
	}
	return p, true
}

// portStatement leaves out BGP's own port.
func portStatement(port uint16) uint16 {
	if port == bgpPort {
		return 0
	}
	return port
}

// higher is the comparison that decides which side of a session is passive: byte order
// of the canonical text, as every Calico version does it, so that both sides agree.
func higher(a, b netip.Addr) bool { return a.String() > b.String() }

// localASReturn reports that a node at the other end expects our real AS number, since
// nothing tells it about localASNumber.
func (k *calculation) localASReturn(s *session) {
	if s.localAS != 0 && s.node != nil && !s.from.ReversePeeringManual && k.meant(s.from, s.node) {
		k.report(s.from.Problem(calico.Warning, calico.RuleLocalAS, "spec.localASNumber",
			fmt.Sprintf("the peer is node %s of this cluster, whose side of the session expects this node's own AS number, not %d",
				s.node.Name, s.localAS), "set reversePeering: Manual and a BGPPeer for the other side"))
	}
}

func (k *calculation) ignoredBySelectors(p *calico.BGPPeer) {
	for _, f := range []struct {
		set   bool
		field string
	}{
		{p.LocalASNumber != 0 && p.PeerSelector != nil, "spec.localASNumber"},
		{p.NumAllowedLocalASNumbers != 0 && p.PeerSelector != nil, "spec.numAllowedLocalASNumbers"},
	} {
		if f.set {
			k.report(p.Problem(calico.Warning, calico.RuleLocalAS, f.field,
				"this field has no effect together with peerSelector, only with peerIP", ""))
		}
	}
}

func (k *calculation) ignoredByWorkloads(p *calico.BGPPeer) {
	for _, f := range []struct {
		set   bool
		field string
	}{
		{p.MaxRestartTime != nil, "spec.maxRestartTime"},
		{p.KeepaliveTime != nil, "spec.keepaliveTime"},
		{p.TTLSecurity != 0, "spec.ttlSecurity"},
		{p.NextHopMode != "", "spec.nextHopMode"},
		{p.KeepOriginalNextHop, "spec.keepOriginalNextHop"},
		{p.NumAllowedLocalASNumbers != 0, "spec.numAllowedLocalASNumbers"},
	} {
		if f.set {
			k.report(p.Problem(calico.Warning, calico.RuleIgnoredField, f.field,
				"this field has no effect together with localWorkloadSelector", ""))
		}
	}
}
