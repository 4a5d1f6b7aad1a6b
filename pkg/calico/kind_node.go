package calico

import (
	"net"
	"net/netip"
)

var nodeRoot = root(nodeFields.section, nodeStatusFields.read)

// nodeFields are those of a Calico Node. Labels are kept, as selectors choose nodes by
// them; annotations are not, so that a change of one changes nothing.
var nodeFields = fields[Node]{
	"bgp": func(n *Node, v value) {
		m := v.mapping()
		nodeBGPFields.readFrom(n, m)
		if len(m.pairs) == 0 && v.typeName() == aMapping {
			v.report(Warning, RuleMissingField, "bgp is empty, which counts as absent; Calico's tools refuse that", "")
		}
	},
	"wireguard":            nodeWireguardFields.read,
	"ipv4VXLANTunnelAddr":  func(_ *Node, v value) { v.addr(4) },
	"ipv6VXLANTunnelAddr":  func(_ *Node, v value) { v.addr(6) },
	"vxlanTunnelMACAddr":   func(_ *Node, v value) { v.mac() },
	"vxlanTunnelMACAddrV6": func(_ *Node, v value) { v.mac() },
	"orchRefs":             listOf(orchRefFields),
	"addresses":            listOf(nodeAddressFields),
	"interfaces":           listOf(nodeInterfaceFields),
}

var nodeBGPFields = fields[Node]{
	"asNumber": func(n *Node, v value) { n.ASNumber = v.asNumber() },
	"ipv4Address": func(n *Node, v value) {
		v.o.note("spec.bgp.ipv4Address", v.position())
		n.IPv4, n.BadIPv4 = v.nodeAddr(4)
	},
	"ipv6Address": func(n *Node, v value) {
		v.o.note("spec.bgp.ipv6Address", v.position())
		n.IPv6, n.BadIPv6 = v.nodeAddr(6)
	},
	"routeReflectorClusterID": func(n *Node, v value) {
		v.o.note("spec.bgp.routeReflectorClusterID", v.position())
		n.ClusterID = v.or("the node counts as no route reflector").addr(4)
	},
	"ipv4IPIPTunnelAddr": func(_ *Node, v value) { v.addr(4) },
}

var nodeWireguardFields = fields[Node]{
	"interfaceIPv4Address": func(n *Node, v value) { n.WireguardIPv4 = v.addr(4) },
	"interfaceIPv6Address": func(n *Node, v value) { n.WireguardIPv6 = v.addr(6) },
}

var nodeStatusFields = fields[Node]{
	"wireguardPublicKey":   func(_ *Node, v value) { v.text() },
	"wireguardPublicKeyV6": func(_ *Node, v value) { v.text() },
	"podCIDRs":             func(n *Node, v value) { n.PodCIDRs = v.prefixes() },
}

var orchRefFields = fields[Node]{
	"nodeName":     func(_ *Node, v value) { v.text() },
	"orchestrator": func(_ *Node, v value) { v.text() },
}

var nodeAddressFields = fields[Node]{
	"address": func(_ *Node, v value) { v.with(leftOut).hostAddr() },
	"type":    func(_ *Node, v value) { v.oneOf("CalicoNodeIP", "InternalIP", "ExternalIP") },
}

var nodeInterfaceFields = fields[Node]{
	"name": func(_ *Node, v value) { v.text() },
	"addresses": func(_ *Node, v value) {
		for _, e := range v.entries() {
			e.text()
		}
	},
}

// listOf reads a list of mappings.
func listOf[T any](f fields[T]) func(*T, value) {
	return func(t *T, v value) {
		for _, e := range v.entries() {
			f.read(t, e)
		}
	}
}

func readNode(o *object, m mapping) Object {
	n := &Node{}
	nodeRoot.readFrom(n, m)
	n.Meta = o.meta
	n.Annotations = nil
	return n
}

// hostAddr checks an address with a network or without.
func (v value) hostAddr() {
	s, ok := v.text()
	if !ok {
		return
	}
	if _, f := parsePrefix(s, 0, true); f != nil {
		v.refuse(s, f)
	}
}

func (v value) mac() {
	s, ok := v.text()
	if !ok || s == "" {
		return
	}
	if _, err := net.ParseMAC(s); err != nil {
		v.refuse(s, &fault{RuleAddress, "is not a MAC address", ""})
	}
}

func (v value) prefixes() []netip.Prefix {
	var out []netip.Prefix
	for _, e := range v.entries() {
		if p := e.prefix(0); p.IsValid() {
			out = append(out, p)
		}
	}
	return out
}
