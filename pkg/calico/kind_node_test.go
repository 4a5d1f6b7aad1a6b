package calico

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// nodeDoc is a Calico Node with its spec and more in one line, the fourth.
func nodeDoc(rest string) string {
	return "apiVersion: projectcalico.org/v3\nkind: Node\nmetadata: {name: alpha, labels: {rack: r1}, annotations: {a: b}}\n" + rest + "\n"
}

func TestNode(t *testing.T) {
	n := one[*Node](t, decodeTest(t, nodeDoc(`spec: {bgp: {asNumber: "1.10", ipv4Address: 192.0.2.11/24, ipv6Address: "2001:db8:0:1::11", ipv4IPIPTunnelAddr: 198.51.100.1, routeReflectorClusterID: 224.0.0.1},
  ipv4VXLANTunnelAddr: 198.51.100.2, ipv6VXLANTunnelAddr: "2001:db8::2", vxlanTunnelMACAddr: "66:0f:ea:35:2f:01", vxlanTunnelMACAddrV6: "",
  wireguard: {interfaceIPv4Address: 198.51.100.3, interfaceIPv6Address: "2001:db8::3"}, orchRefs: [{nodeName: alpha, orchestrator: k8s}],
  addresses: [{address: 192.0.2.11/24, type: CalicoNodeIP}, {address: 192.0.2.12, type: InternalIP}], interfaces: [{name: eth0, addresses: [192.0.2.11]}]}
status: {wireguardPublicKey: k, wireguardPublicKeyV6: k, podCIDRs: [198.51.100.0/24, "2001:db8:1::/64"]}`)))
	want := &Node{
		Meta: Meta{ID: ID{Kind: "Node", Name: "alpha"}, Labels: map[string]string{"rack": "r1"}},
		IPv4: netip.MustParsePrefix("192.0.2.11/24"), IPv6: netip.MustParsePrefix("2001:db8:0:1::11/128"), ASNumber: 65546, ClusterID: netip.MustParseAddr("224.0.0.1"),
		WireguardIPv4: netip.MustParseAddr("198.51.100.3"), WireguardIPv6: netip.MustParseAddr("2001:db8::3"),
		PodCIDRs: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8:1::/64")},
	}
	if diff := cmp.Diff(want, n, ignoreOrigin, netipComparer); diff != "" {
		t.Error(diff)
	}
	if got := n.Origin.At("spec.bgp.ipv6Address").String(); got != "in.yaml:4:73" {
		t.Errorf("the IPv6 address is at %s", got)
	}
}

func TestNodeBadFields(t *testing.T) {
	const node = "error: Node/alpha spec."
	const v4, v6 = "; the node has no IPv4 address for BGP ", "; the node has no IPv6 address for BGP "
	bad4, bad6 := func(n *Node) { n.BadIPv4 = true }, func(n *Node) { n.BadIPv6 = true }
	for _, tt := range []struct {
		name, spec, problem string
		change              func(*Node)
	}{
		{"no address", "bgp: {ipv4Address: ''}", "", nil},
		{"not an address", "bgp: {ipv4Address: 192.0.2.11/33}", `in.yaml:4:27: ` + node + `bgp.ipv4Address: "192.0.2.11/33" is not a CIDR` + v4 + "[prefix]", bad4},
		{"a number", "bgp: {ipv4Address: 192.2}", `in.yaml:4:27: ` + node + `bgp.ipv4Address: a number stands where text belongs` + v4 + "[wrong-type]\n    hint: put it in quotes: \"192.2\"", bad4},
		{"the other family", `bgp: {ipv4Address: "2001:db8::1/64"}`, `in.yaml:4:27: ` + node + `bgp.ipv4Address: "2001:db8::1/64" is IPv6 where IPv4 belongs` + v4 + "[family]", bad4},
		{"unspecified", `bgp: {ipv6Address: "::"}`, `in.yaml:4:27: ` + node + `bgp.ipv6Address: "::" is the unspecified address` + v6 + "[address]", bad6},
		{"loopback", `bgp: {ipv6Address: "::1/128"}`, `in.yaml:4:27: ` + node + `bgp.ipv6Address: "::1/128" is a loopback address` + v6 + "[address]", bad6},
		{"link-local", `bgp: {ipv4Address: 169.254.0.7/16}`, `in.yaml:4:27: ` + node + `bgp.ipv4Address: "169.254.0.7/16" is link-local` + v4 + "[address]", bad4},
		{"multicast, which BIRD takes", `bgp: {ipv6Address: "ff02::1"}`, `in.yaml:4:27: warning: Node/alpha spec.bgp.ipv6Address: "ff02::1" is a multicast address; it is used all the same [address]` + "\n    hint: is one of the first digits wrong?",
			func(n *Node) { n.IPv6 = netip.MustParsePrefix("ff02::1/128") }},
		{"cluster id", "bgp: {routeReflectorClusterID: rr1}", `in.yaml:4:39: ` + node + `bgp.routeReflectorClusterID: "rr1" is not an IP address; the node counts as no route reflector [address]`, nil},
		{"cluster id as a number", "bgp: {routeReflectorClusterID: 1}", `in.yaml:4:39: ` + node + "bgp.routeReflectorClusterID: a number stands where text belongs; the node counts as no route reflector [wrong-type]\n    hint: put it in quotes: \"1\"", nil},
		{"AS 0", "bgp: {asNumber: 0}", `in.yaml:4:24: ` + node + `bgp.asNumber: 0 is outside 1 to 4294967295; the field counts as unset [range]`, nil},
		{"empty bgp", "bgp: {}", "in.yaml:4:13: warning: Node/alpha spec.bgp: bgp is empty, which counts as absent; Calico's tools refuse that [missing-field]", nil},
		{"unknown field", "bgp: {ipv4Adress: 192.0.2.1}", "in.yaml:4:14: " + node + "bgp.ipv4Adress: there is no such field; it is ignored [unknown-field]\n    hint: did you mean \"ipv4Address\"?", nil},
		{"tunnel address", "ipv4VXLANTunnelAddr: 10", `in.yaml:4:29: ` + node + "ipv4VXLANTunnelAddr: a number stands where text belongs; the field counts as unset [wrong-type]\n    hint: put it in quotes: \"10\"", nil},
		{"MAC address", "vxlanTunnelMACAddr: xx", `in.yaml:4:28: ` + node + `vxlanTunnelMACAddr: "xx" is not a MAC address; the field counts as unset [address]`, nil},
		{"address type", "addresses: [{address: 192.0.2.1, type: Hostname}]", `in.yaml:4:47: ` + node + `addresses[0].type: "Hostname" is not one of CalicoNodeIP, InternalIP, ExternalIP; the field counts as unset [enum]`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := &Node{Meta: Meta{ID: ID{Kind: "Node", Name: "alpha"}, Labels: map[string]string{"rack": "r1"}}}
			if tt.change != nil {
				tt.change(want)
			}
			var problems []string
			if tt.problem != "" {
				problems = append(problems, tt.problem)
			}
			n := one[*Node](t, decodeTest(t, nodeDoc("spec: {"+tt.spec+"}"), problems...))
			if diff := cmp.Diff(want, n, ignoreOrigin, netipComparer); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKubernetesNode(t *testing.T) {
	n := one[*Node](t, decodeTest(t, `apiVersion: v1
kind: Node
metadata:
  name: worker-1
  labels: {kubernetes.io/hostname: worker-1, rack: r2}
  annotations:
    projectcalico.org/IPv4Address: 10.0.0.11/24
    projectcalico.org/IPv4VXLANTunnelAddr: 10.244.1.1
    projectcalico.org/ASNumber: "65001"
    projectcalico.org/RouteReflectorClusterID: 224.0.0.1
    projectcalico.org/IPv4WireguardInterfaceAddr: 10.244.1.2
    projectcalico.org/labels: '{"rack":"r1","zone":"a"}'
  unknown: {}
spec: {podCIDR: 10.244.1.0/24, podCIDRs: [10.244.1.0/24], taints: []}
status: {nodeInfo: {}}
`))
	want := &Node{
		Meta: Meta{ID: ID{Kind: "Node", Name: "worker-1"}, Labels: map[string]string{"rack": "r2", "zone": "a", "kubernetes.io/hostname": "worker-1"}},
		IPv4: netip.MustParsePrefix("10.0.0.11/24"), ASNumber: 65001, ClusterID: netip.MustParseAddr("224.0.0.1"), WireguardIPv4: netip.MustParseAddr("10.244.1.2"),
		PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.1.0/24")}, Kubernetes: true,
	}
	if diff := cmp.Diff(want, n, ignoreOrigin, netipComparer); diff != "" {
		t.Error(diff)
	}
	if got := n.Origin.At("metadata.annotations[projectcalico.org/IPv4Address]").String(); got != "in.yaml:7:36" {
		t.Errorf("the address is at %s", got)
	}
}

func TestKubernetesNodeAnnotations(t *testing.T) {
	doc := func(annotation string) string {
		return "apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  annotations:\n    projectcalico.org/" + annotation + "\n"
	}
	for _, tt := range []struct {
		name, annotation, problem string
		want                      Node
	}{
		{"none", "other: x", "", Node{}},
		{"address", "IPv4Address: x", `in.yaml:6:36: error: Node/a metadata.annotations[projectcalico.org/IPv4Address]: "x" is not a CIDR; the node has no IPv4 address for BGP [prefix]`, Node{BadIPv4: true}},
		{"address of the other family", "IPv6Address: 10.0.0.1", `in.yaml:6:36: error: Node/a metadata.annotations[projectcalico.org/IPv6Address]: "10.0.0.1" is IPv4 where IPv6 belongs; the node has no IPv6 address for BGP [family]`, Node{BadIPv6: true}},
		{"address that is no text", "IPv4Address: 10.5", "in.yaml:6:36: error: Node/a metadata.annotations[projectcalico.org/IPv4Address]: a number stands where text belongs; the entry is left out [wrong-type]\n    hint: put it in quotes: \"10.5\"", Node{BadIPv4: true}},
		{"bare address", "IPv4Address: 10.0.0.1", "", Node{IPv4: netip.MustParsePrefix("10.0.0.1/32")}},
		{"dotted AS", `ASNumber: "1.10"`, "", Node{ASNumber: 65546}},
		{"bad AS", `ASNumber: "x"`, `in.yaml:6:33: error: Node/a metadata.annotations[projectcalico.org/ASNumber]: "x" is not an AS number; it counts as unset [wrong-type]` + "\n    hint: write 1 to 4294967295, or in quotes two numbers up to 65535 with a dot, as in \"1.10\"", Node{}},
		{"AS 0", `ASNumber: "0"`, `in.yaml:6:33: error: Node/a metadata.annotations[projectcalico.org/ASNumber]: "0" is outside 1 to 4294967295; it counts as unset [range]`, Node{}},
		{"cluster id as a CIDR", "RouteReflectorClusterID: 224.0.0.0/24", "", Node{ClusterID: netip.MustParseAddr("224.0.0.0")}},
		{"cluster id as a CIDR with host bits", "RouteReflectorClusterID: 224.0.0.1/24", `in.yaml:6:48: error: Node/a metadata.annotations[projectcalico.org/RouteReflectorClusterID]: "224.0.0.1/24" is not an IP address; it counts as unset [address]`, Node{}},
		{"WireGuard address", "IPv6WireguardInterfaceAddr: 10.0.0.1", `in.yaml:6:51: error: Node/a metadata.annotations[projectcalico.org/IPv6WireguardInterfaceAddr]: "10.0.0.1" is IPv4 where IPv6 belongs; it counts as unset [family]`, Node{}},
		{"labels", "labels: '{a}'", `in.yaml:6:31: error: Node/a metadata.annotations[projectcalico.org/labels]: "{a}" is not a JSON mapping of labels; it counts as unset [metadata]`, Node{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var problems []string
			if tt.problem != "" {
				problems = append(problems, tt.problem)
			}
			tt.want.Meta.ID, tt.want.Kubernetes = ID{Kind: "Node", Name: "a"}, true
			n := one[*Node](t, decodeTest(t, doc(tt.annotation), problems...))
			if diff := cmp.Diff(&tt.want, n, ignoreOrigin, netipComparer); diff != "" {
				t.Error(diff)
			}
		})
	}
}
