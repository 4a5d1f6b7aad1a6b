package bgp

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// end is another node's side of its session with this one.
type end struct {
	// from is the BGPPeer that made it, nil for the mesh.
	from *calico.BGPPeer
	// as is what it takes this node's AS number for, ownAS what it says its own is.
	as, ownAS uint32
	ttl       uint8
	password  Secret
	held      bool // back, for want of its password
}

// otherEnd works out the session that another node has with this one: the BGPPeers in the
// order in which they count there, then the mesh. It is nil when there is none. Ports do
// not count, since a node has one session to an address as a rule.
func (k *calculation) otherEnd(n *calico.Node, f Family) *end {
	me := address(k.me, f)
	e := &end{as: k.asOf(k.me), ownAS: k.asOf(n)}
	forward := func(p *calico.BGPPeer) bool {
		if _, ok := k.localSide(p, n); !ok || p.LocalWorkloadSelector != nil {
			return false
		}
		if p.PeerIP != me || !me.IsValid() {
			return p.PeerSelector != nil && p.PeerSelector.Matches(k.me.Labels)
		}
		e.as, e.ownAS = cmp.Or(p.ASNumber, k.globalAS), cmp.Or(p.LocalASNumber, e.ownAS)
		return true
	}
	reverse := func(p *calico.BGPPeer) bool {
		families, _ := k.reverseSide(p, n)
		_, ok := k.localSide(p, k.me)
		return ok && slices.Contains(families, f)
	}
	for _, step := range []func(*calico.BGPPeer) bool{
		func(p *calico.BGPPeer) bool { return isGlobal(p) && forward(p) },
		func(p *calico.BGPPeer) bool { return !isGlobal(p) && forward(p) },
		reverse,
	} {
		if i := slices.IndexFunc(k.Peers, step); i >= 0 {
			e.from = k.Peers[i]
			e.ttl = e.from.TTLSecurity
			var ok bool
			e.password, ok = k.peerPassword(e.from)
			e.held = !ok
			return e
		}
	}
	if !k.meshBetween(n, k.me) {
		return nil
	}
	var ok bool
	e.password, ok = k.meshPassword()
	e.held = !ok
	return e
}

// source names what made the other side.
func (e *end) source() string {
	if e.from == nil {
		return "the node-to-node mesh"
	}
	return e.from.ID.String()
}

// compareEnds reports what keeps a session between two nodes of the cluster from coming
// up: each side follows its own order of resources, and so may follow another one.
func (k *calculation) compareEnds(s *session, other *end, pw Secret) {
	name := s.node.Name
	warn := func(field, format string, args ...any) {
		k.report(s.from.Problem(calico.Warning, calico.RulePeerMismatch, field,
			fmt.Sprintf("the peer is node %s of this cluster, ", name)+fmt.Sprintf(format, args...)+"; the session cannot come up", ""))
	}
	theirs := k.asOf(s.node)
	if other != nil {
		theirs = other.ownAS
	}
	if s.as != theirs {
		field := "spec.asNumber"
		if !s.byAddress {
			field = ""
		}
		warn(field, "whose AS number is %d, not %d", theirs, s.as)
	}
	if listens := cmp.Or(k.portOf(s.node), bgpPort); s.port != listens {
		warn("spec.peerIP", "which listens on port %d, not %d", listens, s.port)
	}
	if other == nil || other.held || other.from == s.from {
		return
	}
	if s.localAS == 0 && other.as != k.asOf(k.me) {
		warn("", "whose side follows %s and takes this node's AS number for %d, not %d", other.source(), other.as, k.asOf(k.me))
	}
	if other.password != pw {
		warn("spec.password", "whose side follows %s, with another password or only one of the two has one", other.source())
	}
	if (other.ttl == 0) != (s.from.TTLSecurity == 0) {
		warn("spec.ttlSecurity", "whose side follows %s, and only one of the two has TTL security", other.source())
	}
}
