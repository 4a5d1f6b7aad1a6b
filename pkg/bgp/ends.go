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
	r := k.reach()
	e := &end{as: k.asOf(k.me), ownAS: k.asOf(n)}
	e.from = first(r.forward, func(p *calico.BGPPeer) bool {
		_, ok := k.localSide(p, n)
		return ok && (p.PeerSelector != nil || p.PeerIP == address(k.me, f))
	})
	switch {
	case e.from != nil && e.from.PeerSelector == nil:
		e.as, e.ownAS = cmp.Or(e.from.ASNumber, k.globalAS), cmp.Or(e.from.LocalASNumber, e.ownAS)
	case e.from == nil:
		e.from = first(r.backward, func(p *calico.BGPPeer) bool {
			families, _ := k.reverseSide(p, n)
			return slices.Contains(families, f)
		})
	}
	var ok bool
	switch {
	case e.from != nil:
		e.ttl = e.from.TTLSecurity
		e.password, ok = k.peerPassword(e.from)
	case k.meshBetween(n, k.me):
		e.password, ok = k.meshPassword()
	default:
		return nil
	}
	e.held = !ok
	return e
}

// first returns the first BGPPeer that suits, nil when none does.
func first(peers []*calico.BGPPeer, suits func(*calico.BGPPeer) bool) *calico.BGPPeer {
	if i := slices.IndexFunc(peers, suits); i >= 0 {
		return peers[i]
	}
	return nil
}

// reach holds the BGPPeers that can give other nodes a session with this one, in the order
// in which they count: those that name it as a peer, and those whose reverse does.
type reach struct {
	forward, backward []*calico.BGPPeer
}

func (k *calculation) reach() *reach {
	if k.reaching != nil {
		return k.reaching
	}
	r := &reach{}
	var specific []*calico.BGPPeer
	for _, p := range k.Peers {
		named := p.PeerIP.IsValid() && (p.PeerIP == k.me.IPv4.Addr() || p.PeerIP == k.me.IPv6.Addr())
		switch {
		case !named && (p.PeerSelector == nil || !p.PeerSelector.Matches(k.me.Labels)):
		case isGlobal(p):
			r.forward = append(r.forward, p)
		default:
			specific = append(specific, p)
		}
		if _, ok := k.localSide(p, k.me); ok {
			r.backward = append(r.backward, p)
		}
	}
	r.forward = append(r.forward, specific...)
	k.reaching = r
	return r
}

// source names what made the other side.
func (e *end) source() string {
	if e.from == nil {
		return "the node-to-node mesh"
	}
	return e.from.ID.String()
}

// mismatch is one way in which the ends of a BGPPeer's sessions do not agree; the nodes at
// the other end may be thousands.
type mismatch struct {
	from        *calico.BGPPeer
	field, what string
}

// compareEnds notes what keeps a session between two nodes of the cluster from coming up:
// each side follows its own order of resources, and so may follow another one.
func (k *calculation) compareEnds(s *session, other *end, pw Secret) {
	note := func(field, format string, args ...any) {
		m := mismatch{s.from, field, fmt.Sprintf(format, args...)}
		if names := k.mismatches[m]; len(names) == 0 || names[len(names)-1] != s.node.Name {
			k.mismatches[m] = append(names, s.node.Name)
		}
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
		note(field, "has AS number %d, not %d; the session cannot come up", theirs, s.as)
	}
	if listens := cmp.Or(k.portOf(s.node), bgpPort); s.port != listens {
		note("spec.peerIP", "listens on port %d, not %d; this node cannot connect to it", listens, s.port)
	}
	if other == nil || other.held || other.from == s.from {
		return
	}
	if s.localAS == 0 && other.as != k.asOf(k.me) {
		note("", "follows %s on its side and takes this node's AS number for %d, not %d; the session cannot come up", other.source(), other.as, k.asOf(k.me))
	}
	if other.password != pw {
		note("spec.password", "follows %s on its side, where the password is another, or only one of the two has one; the session cannot come up", other.source())
	}
	if (other.ttl == 0) != (s.from.TTLSecurity == 0) {
		note("spec.ttlSecurity", "follows %s on its side, and only one of the two has TTL security; the session cannot come up", other.source())
	}
}

// reportMismatches reports each kind of disagreement once, with the nodes it is about.
func (k *calculation) reportMismatches() {
	for m, names := range k.mismatches {
		slices.Sort(names)
		names = slices.Compact(names)
		k.report(m.from.Problem(calico.Warning, calico.RulePeerMismatch, m.field,
			fmt.Sprintf("the peer is a node of this cluster (%s), which %s", abbreviate(names, 5), m.what), ""))
	}
}
