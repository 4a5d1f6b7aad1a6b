package bgp

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// endpoint is what must be unique among a node's sessions: the peer's address and port,
// with BGP's own port written as 179.
type endpoint struct {
	addr netip.Addr
	port uint16
}

const bgpPort = 179

// session is a peering that a BGPPeer asks of this node, before names and policies.
type session struct {
	endpoint
	from      *calico.BGPPeer
	kind      PeerType
	as        uint32
	localAS   uint32
	clusterID netip.Addr
	// node is the cluster's node at the other end, if there is one.
	node *calico.Node
	// byAddress tells that the peer was given as peerIP.
	byAddress bool
	reverse   bool
	via       string
}

func (s *session) why() string { return s.from.ID.String() + " via " + s.via }

// sessions is the set of this node's explicit peerings of both families. The first to ask
// for an endpoint gets it.
type sessions struct {
	list  []*session
	taken map[endpoint]*session
	// overruled holds, per pair of resources, the endpoints that the second did not get.
	overruled map[[2]*calico.BGPPeer]*overruled
}

// overruled is a set, as a resource can ask for an endpoint in both directions.
type overruled struct {
	endpoints map[endpoint]bool
	first     endpoint
}

func (s *sessions) add(n *session) {
	n.port = cmp.Or(n.port, bgpPort)
	first, ok := s.taken[n.endpoint]
	if !ok {
		s.taken[n.endpoint] = n
		s.list = append(s.list, n)
		return
	}
	// A resource that reaches a node in both directions asks for one session only.
	if first.from == n.from {
		return
	}
	pair := [2]*calico.BGPPeer{first.from, n.from}
	o, ok := s.overruled[pair]
	if !ok {
		o = &overruled{endpoints: map[endpoint]bool{}, first: n.endpoint}
		s.overruled[pair] = o
	}
	o.endpoints[n.endpoint] = true
}

// sessions collects what the BGPPeers ask of this node: first the peers of every node,
// then those of this node, then the reverses of peerings that other nodes have with this
// one, each by name of the resource.
func (k *calculation) sessions() *sessions {
	s := &sessions{taken: map[endpoint]*session{}, overruled: map[[2]*calico.BGPPeer]*overruled{}}
	for _, p := range k.Peers {
		if isGlobal(p) {
			k.forward(s, p, Global, "every node")
		}
	}
	for _, p := range k.Peers {
		if via, ok := k.localSide(p, k.me); ok && !isGlobal(p) {
			k.forward(s, p, NodeSpecific, via)
		}
	}
	for _, p := range k.Peers {
		k.reverse(s, p)
	}
	k.unknownWorkloads()
	k.reportOverruled(s)
	return s
}

func isGlobal(p *calico.BGPPeer) bool { return p.Node == "" && p.NodeSelector == nil }

// localSide tells whether a BGPPeer applies to a node, and through which field.
func (k *calculation) localSide(p *calico.BGPPeer, n *calico.Node) (string, bool) {
	switch {
	case p.NodeSelector != nil:
		return "nodeSelector", p.NodeSelector.Matches(n.Labels)
	case p.Node != "":
		return "node", p.Node == n.Name
	}
	return "every node", true
}

// forward adds the peers that a BGPPeer gives to this node.
func (k *calculation) forward(s *sessions, p *calico.BGPPeer, kind PeerType, via string) {
	switch {
	case p.LocalWorkloadSelector != nil:
		k.workloads(s, p)
	case p.PeerSelector != nil:
		for _, n := range k.Nodes {
			if p.PeerSelector.Matches(n.Labels) {
				k.addNode(s, p, n, Families, &session{kind: kind, via: via + " and peerSelector"})
			}
		}
	case p.PeerIP.IsValid():
		k.addAddress(s, p, kind, via)
	}
}

// addNode adds sessions with another node of the cluster, one per family it has.
func (k *calculation) addNode(s *sessions, p *calico.BGPPeer, n *calico.Node, families []Family, like *session) {
	for _, f := range families {
		a := address(n, f)
		if n == k.me || !a.IsValid() {
			continue
		}
		c := *like
		c.from, c.node, c.as, c.clusterID = p, n, k.asOf(n), n.ClusterID
		c.endpoint = endpoint{a, k.portOf(n)}
		s.add(&c)
	}
}

// addAddress adds the session with a peer given as peerIP, which may be a node too.
func (k *calculation) addAddress(s *sessions, p *calico.BGPPeer, kind PeerType, via string) {
	n := &session{endpoint: endpoint{p.PeerIP, p.PeerPort}, from: p, kind: kind, byAddress: true,
		as: cmp.Or(p.ASNumber, k.globalAS), localAS: p.LocalASNumber, via: via}
	for _, node := range k.byAddress[p.PeerIP] {
		if n.node == nil {
			n.node, n.clusterID = node, node.ClusterID
		}
		if p.PeerPort == 0 && n.port == 0 && k.meant(p, node) {
			n.port = k.portOf(node)
		}
	}
	if p.ASNumber == 0 {
		k.report(p.Problem(calico.Warning, calico.RulePeerAS, "spec.asNumber",
			fmt.Sprintf("peerIP is given without asNumber; the cluster's AS number %d is used", k.globalAS), "write the AS number"))
	}
	s.add(n)
}

// meant tells whether a BGPPeer's peerIP means this node: its address, its AS number and,
// where peerIP names a port, its port. A node's own port decides before the cluster-wide
// one, and a node without any matches every port.
func (k *calculation) meant(p *calico.BGPPeer, n *calico.Node) bool {
	if address(n, familyOf(p.PeerIP)) != p.PeerIP || k.asOf(n) != cmp.Or(p.ASNumber, k.globalAS) {
		return false
	}
	port := k.portOf(n)
	return p.PeerPort == 0 || port == 0 || p.PeerPort == port
}

// reverse adds the peerings that mirror what a BGPPeer gives to other nodes: if it makes
// them peer with this node, this node must peer with them.
func (k *calculation) reverse(s *sessions, p *calico.BGPPeer) {
	families, via := k.reverseSide(p, k.me)
	if len(families) == 0 {
		return
	}
	like := session{kind: NodeSpecific, reverse: true, via: "reverse of " + via}
	for _, n := range k.Nodes {
		if _, ok := k.localSide(p, n); ok {
			k.addNode(s, p, n, families, &like)
		}
	}
}

// reverseSide tells in which families a BGPPeer makes others peer with this node.
func (k *calculation) reverseSide(p *calico.BGPPeer, n *calico.Node) ([]Family, string) {
	switch {
	case p.ReversePeeringManual || p.LocalWorkloadSelector != nil:
	case p.PeerSelector != nil:
		if p.PeerSelector.Matches(n.Labels) {
			return Families, "peerSelector"
		}
	case p.PeerIP.IsValid() && k.meant(p, n):
		return []Family{familyOf(p.PeerIP)}, "peerIP"
	}
	return nil, ""
}

// workloads adds the workloads on this node that Calico's agent has tied to a BGPPeer.
func (k *calculation) workloads(s *sessions, p *calico.BGPPeer) {
	if len(k.Workloads) == 0 {
		k.report(p.Problem(calico.Info, calico.RuleUnknownWorkload, "spec.localWorkloadSelector",
			"there are no endpoint-status files in the input, so no workload is a peer", ""))
	}
	for _, w := range k.Workloads {
		if w.BGPPeerName != p.Name {
			continue
		}
		for _, a := range []netip.Addr{w.IPv4, w.IPv6} {
			if a.IsValid() {
				s.add(&session{endpoint: endpoint{addr: a}, from: p, kind: LocalWorkload,
					as: p.ASNumber, localAS: p.LocalASNumber, via: "localWorkloadSelector"})
			}
		}
	}
}

// unknownWorkloads reports endpoint-status files that name a BGPPeer which is not there
// or selects no workloads.
func (k *calculation) unknownWorkloads() {
	byName := map[string]*calico.BGPPeer{}
	for _, p := range k.Peers {
		byName[p.Name] = p
	}
	for _, w := range k.Workloads {
		if p := byName[w.BGPPeerName]; p == nil || p.LocalWorkloadSelector == nil {
			k.report(calico.Problem{Severity: calico.Warning, Rule: calico.RuleUnknownWorkload,
				Resource: "BGPPeer/" + w.BGPPeerName, Position: w.Position,
				Message: "a workload on this node names this BGPPeer, but there is none with a localWorkloadSelector; it gets no session"})
		}
	}
}

func (k *calculation) reportOverruled(s *sessions) {
	for pair, o := range s.overruled {
		winner, loser := pair[0], pair[1]
		m := fmt.Sprintf("%s asks for the same session, with %s, and comes first; this one is not rendered for it",
			winner.ID, o.first)
		if n := len(o.endpoints); n > 1 {
			m = fmt.Sprintf("%s asks for %d of the same sessions, one with %s, and comes first; this one is not rendered for them",
				winner.ID, n, o.first)
		}
		k.report(loser.Problem(calico.Warning, calico.RuleDuplicatePeer, "", m,
			"let one resource cover each peer; peers of every node come before a node's own, and then names decide"))
	}
}

// String gives ADDRESS or, when the port is not BGP's own, ADDRESS port PORT.
func (e endpoint) String() string {
	if e.port == bgpPort {
		return e.addr.String()
	}
	return fmt.Sprintf("%s port %d", e.addr, e.port)
}
