package keys

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// treeOf is the tree of a cluster for one of its nodes.
func treeOf(t *testing.T, node, text string, o bgp.Options, workloads ...calico.WorkloadEndpoint) *Tree {
	t.Helper()
	objects, problems := calico.Decode("in.yaml", []byte(text))
	c, more := calico.NewCluster(objects, workloads)
	if problems = append(problems, more...); calico.HasErrors(problems) {
		t.Fatal(problems)
	}
	views, _ := bgp.Compute(c, node, o)
	return New(Source{Cluster: c, Node: node, Options: o, Views: views})
}

// below lists all keys below a path with their values.
func (t *Tree) below(at string) string {
	s := t.Store("/", []string{at}, "")
	var b strings.Builder
	s.walk(s.root, "/", func(key, value string) { fmt.Fprintf(&b, "%s=%s\n", strings.TrimPrefix(key, at), value) })
	return b.String()
}

func checkBelow(t *testing.T, tree *Tree, at, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), tree.below(at)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", at, diff)
	}
}

const header = "apiVersion: projectcalico.org/v3\nkind: "

// resource is a resource of Calico's in a stream.
func resourceText(kind, name, spec string) string {
	return fmt.Sprintf("---\n%s%s\nmetadata: {name: %s}\nspec: {%s}\n", header, kind, name, spec)
}

// The worked example of Calico's own interface.
func TestNodesAndSettings(t *testing.T) {
	text := resourceText("Node", "a", `bgp: {ipv4Address: 10.0.0.1/24, routeReflectorClusterID: 224.0.0.1}`) +
		resourceText("Node", "b", `bgp: {ipv4Address: 10.0.0.2/24, asNumber: 65002}`) +
		resourceText("BGPConfiguration", "default", "listenPort: 1790") +
		resourceText("BGPPeer", "tor", "peerIP: 192.0.2.1, asNumber: 65010")
	tree := treeOf(t, "a", text, bgp.Options{})
	checkBelow(t, tree, "/calico/bgp", `
/v1/global/as_num=64512
/v1/global/listen_port=1790
/v1/global/loglevel=info
/v1/global/node_mesh={"enabled": true}
/v1/global/peer_v4/192.0.2.1={"ip":"192.0.2.1","as_num":"65010","local_as_num":"0","rr_cluster_id":"","password":null,"source_addr":"UseNodeIP","restart_time":"","keepalive_time":"","port":0,"keep_next_hop":false,"calico_node":false,"num_allow_local_as":0,"ttl_security":0,"filters":null,"reachable_by":"","passive_mode":false,"local_bgp_peer":false,"next_hop_mode":""}
/v1/host/a/ip_addr_v4=10.0.0.1
/v1/host/a/ip_addr_v6=
/v1/host/a/network_v4=10.0.0.0/24
/v1/host/a/rr_cluster_id=224.0.0.1
/v1/host/a/wireguard_addr_v4=
/v1/host/a/wireguard_addr_v6=
/v1/host/b/as_num=65002
/v1/host/b/ip_addr_v4=10.0.0.2
/v1/host/b/ip_addr_v6=
/v1/host/b/network_v4=10.0.0.0/24
/v1/host/b/rr_cluster_id=
/v1/host/b/wireguard_addr_v4=
/v1/host/b/wireguard_addr_v6=
`)
}

func TestGlobalSettings(t *testing.T) {
	node := resourceText("Node", "a", "bgp: {ipv4Address: 10.0.0.1/24}")
	for _, tt := range []struct {
		rule, spec string
		options    bgp.Options
		want       string
	}{
		{"everything", `asNumber: "1.10", nodeToNodeMeshEnabled: true, logSeverityScreen: Warning, listenPort: 1790, serviceExternalIPs: [{cidr: 203.0.113.0/24}, {cidr: 203.0.113.9}],
 serviceLoadBalancerIPs: [{cidr: "2001:db8::/64"}], serviceClusterIPs: [{cidr: 10.96.0.0/12}], bindMode: NodeIP, ignoredInterfaces: [eth0, "x*"], nodeMeshMaxRestartTime: 90s,
 programClusterRoutes: Enabled, gracefulRestartWait: 0s, gracefulRestartWaitFor: AllPeers,
 communities: [{name: c, value: "1:2"}], prefixAdvertisements: [{cidr: 10.1.0.0/16, communities: [c, "1:2:3"]}]`, bgp.Options{}, `
/as_num=65546
/bind_mode=NodeIP
/graceful_restart_wait=0
/graceful_restart_wait_for=AllPeers
/ignored_interfaces=eth0,x*
/listen_port=1790
/loglevel=none
/node_mesh={"enabled":true}
/node_mesh_restart_time=90
/prefix_advertisements/ip_v4=[{"cidr":"10.1.0.0/16","communities":["1:2","1:2:3"]}]
/prefix_advertisements/ip_v6=null
/program_cluster_routes=Enabled
/svc_cluster_ips=10.96.0.0/12
/svc_external_ips=203.0.113.0/24,203.0.113.9/32
/svc_loadbalancer_ips=2001:db8::/64
`},
		{"no mesh", "nodeToNodeMeshEnabled: false", bgp.Options{}, "/as_num=64512\n/loglevel=info\n/node_mesh={\"enabled\":false}\n"},
		{"cluster IPs of the environment", "serviceClusterIPs: [{cidr: 10.96.0.0/12}]", bgp.Options{AdvertiseClusterIPs: "10.0.0.0/12"}, "/as_num=64512\n/loglevel=info\n/node_mesh={\"enabled\": true}\n"},
		{"a mesh without its password", "nodeMeshPassword: {secretKeyRef: {name: s, key: k}}", bgp.Options{}, "/as_num=64512\n/loglevel=info\n/node_mesh={\"enabled\":false}\n"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			checkBelow(t, treeOf(t, "a", node+resourceText("BGPConfiguration", "default", tt.spec), tt.options), "/calico/bgp/v1/global", tt.want)
		})
	}
	secret := "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: kube-system}\nstringData: {k: canary}\n"
	checkBelow(t, treeOf(t, "a", node+secret+resourceText("BGPConfiguration", "default", "nodeMeshPassword: {secretKeyRef: {name: s, key: k}}"), bgp.Options{}), "/calico/bgp/v1/global",
		"/as_num=64512\n/loglevel=info\n/node_mesh={\"enabled\": true}\n/node_mesh_password=canary\n")
}

// A node's own settings stay when the node goes, and count for one family only.
func TestOwnSettings(t *testing.T) {
	text := resourceText("Node", "a", `bgp: {ipv6Address: "2001:db8::1"}`) +
		resourceText("BGPConfiguration", "node.a", `listenPort: 1791, logSeverityScreen: Debug, gracefulRestartWait: 5s, prefixAdvertisements: [{cidr: 10.1.0.0/16, communities: ["1:2"]}]`) +
		resourceText("BGPConfiguration", "node.gone", "listenPort: 1792")
	tree := treeOf(t, "a", text, bgp.Options{})
	checkBelow(t, tree, "/calico/bgp/v1/host", `
/a/graceful_restart_wait=5
/a/ip_addr_v4=
/a/ip_addr_v6=2001:db8::1
/a/listen_port=1791
/a/loglevel=debug
/a/network_v6=2001:db8::1/128
/a/prefix_advertisements/ip_v4=[{"cidr":"10.1.0.0/16","communities":["1:2"]}]
/a/rr_cluster_id=
/a/wireguard_addr_v4=
/a/wireguard_addr_v6=
/gone/listen_port=1792
`)
}

// Peerings of every node, of one, in both directions, and of workloads.
func TestPeerings(t *testing.T) {
	text := resourceText("Node", "a", `bgp: {ipv4Address: 10.0.0.1/24}`) +
		"---\n" + header + "Node\nmetadata: {name: rr, labels: {rr: 'yes'}}\nspec: {bgp: {ipv4Address: 10.0.0.9/24, ipv6Address: 'fd00::9/64', routeReflectorClusterID: 224.0.0.9}}\n" +
		resourceText("BGPPeer", "all", `peerIP: "[fd00::77]:50", asNumber: 65001, keepOriginalNextHop: true, sourceAddress: None, localASNumber: 65009`) +
		resourceText("BGPPeer", "one", `node: a, peerIP: 192.0.2.7, asNumber: 65001, maxRestartTime: 90s, keepaliveTime: 20s, nextHopMode: Self, ttlSecurity: 2, numAllowedLocalASNumbers: 1, reachableBy: 10.0.0.254, filters: [there, gone], password: {secretKeyRef: {name: s, key: k}}`) +
		resourceText("BGPPeer", "held", `node: a, peerIP: 192.0.2.8, asNumber: 65001, password: {secretKeyRef: {name: s, key: gone}}`) +
		resourceText("BGPPeer", "rr", `nodeSelector: "!has(rr)", peerSelector: has(rr)`) +
		resourceText("BGPPeer", "vm", `localWorkloadSelector: all(), asNumber: 65200, localASNumber: 65100, keepaliveTime: 5s, password: {secretKeyRef: {name: s, key: k}}`) +
		resourceText("BGPFilter", "there", "importV4: [{action: Accept}]") +
		"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: kube-system}\nstringData: {k: canary}\n"
	vm := calico.WorkloadEndpoint{BGPPeerName: "vm", IPv4: netAddr(t, "192.168.1.7")}
	tree := treeOf(t, "a", text, bgp.Options{}, vm)
	one := `"ip":"%s","as_num":"%s","local_as_num":"%s","rr_cluster_id":"%s","password":%s,"source_addr":"%s","restart_time":"%s","keepalive_time":"%s","port":%s,"keep_next_hop":%s,"calico_node":false,"num_allow_local_as":%s,"ttl_security":%s,"filters":%s,"reachable_by":"%s","passive_mode":%s,"local_bgp_peer":%[15]s,"next_hop_mode":"%[16]s"`
	value := func(v ...any) string { return "{" + fmt.Sprintf(one, v...) + "}\n" }
	checkBelow(t, tree, "/calico/bgp/v1/global/peer_v", "4/192.168.1.7="+value("192.168.1.7", "65200", "65100", "", `"canary"`, "None", "", "", "0", "false", "0", "0", "null", "", "true", "")+
		"6/fd00::77-50="+value("fd00::77", "65001", "65009", "", "null", "None", "", "", "50", "true", "0", "0", "null", "", "false", ""))
	checkBelow(t, tree, "/calico/bgp/v1/host/a/peer_v", "4/10.0.0.9="+value("10.0.0.9", "64512", "0", "224.0.0.9", "null", "UseNodeIP", "", "", "0", "false", "0", "0", "null", "", "false", "")+
		"4/192.0.2.7="+value("192.0.2.7", "65001", "0", "", `"canary"`, "UseNodeIP", "90", "20", "0", "false", "1", "2", `["there"]`, "10.0.0.254", "false", "Self")+
		"6/fd00::9="+value("fd00::9", "64512", "0", "224.0.0.9", "null", "UseNodeIP", "", "", "0", "false", "0", "0", "null", "", "false", ""))
	// The reverse, of a node that this one only knows about.
	checkBelow(t, tree, "/calico/bgp/v1/host/rr/peer_v", "4/10.0.0.1="+value("10.0.0.1", "64512", "0", "", "null", "UseNodeIP", "", "", "0", "false", "0", "0", "null", "", "false", ""))
}

// Rules that are left out for an error are not in the raw resource either, so that templates
// call no function that bgpFilterBIRDFuncs does not make.
func TestFilterWithRefusedRules(t *testing.T) {
	objects, problems := calico.Decode("in.yaml", []byte(resourceText("BGPFilter", "f", `importV4: [{cidr: 10.1.0.0/16, matchOperator: In, prefixLength: {max: 8}, action: Accept}], exportV4: [{peerType: iBGP, communities: {values: ["1:2", "1:3"]}, action: Accept}, {action: Reject}]`)))
	c, _ := calico.NewCluster(objects, nil)
	if len(problems) != 2 {
		t.Fatal(problems)
	}
	checkBelow(t, New(Source{Cluster: c, Node: "a"}), "/calico/resources/v3/projectcalico.org/bgpfilters/f", `={"kind":"BGPFilter","apiVersion":"projectcalico.org/v3","metadata":{"name":"f"},"spec":{"exportV4":[{"action":"Reject"}]}}
`)
}

// Of nodes with one address one has it: this node, or else the first.
func TestNodesWithOneAddress(t *testing.T) {
	text := resourceText("Node", "a", `bgp: {ipv4Address: 10.0.0.2/24}`) + resourceText("Node", "b", `bgp: {ipv4Address: 10.0.0.1/24}`) +
		resourceText("Node", "c", `bgp: {ipv4Address: 10.0.0.2/24}`) + resourceText("Node", "d", `bgp: {ipv4Address: 10.0.0.1/24}`)
	s := treeOf(t, "d", text, bgp.Options{}).Store("/calico", []string{"/"}, "d")
	got, err := s.GetAll("/bgp/v1/host/*/ip_addr_v4")
	want := []string{"10.0.0.2", "", "", "10.0.0.1"}
	for i, kv := range got {
		if kv.Value != want[i] {
			t.Errorf("%s is %q, want %q", kv.Key, kv.Value, want[i])
		}
	}
	if len(got) != 4 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

// A peer given by address that is a node which has the session too.
func TestPeeringWithANode(t *testing.T) {
	nodes := resourceText("Node", "a", `bgp: {ipv4Address: 10.0.0.1/24}`) + resourceText("Node", "b", `bgp: {ipv4Address: 10.0.0.2/24}`)
	off := resourceText("BGPConfiguration", "default", "nodeToNodeMeshEnabled: false")
	for _, tt := range []struct{ rule, spec, want string }{
		{"it connects", "peerIP: 10.0.0.2, asNumber: 64512", `"calico_node":true`},
		{"nothing makes it connect", "peerIP: 10.0.0.2, asNumber: 64512, reversePeering: Manual", `"calico_node":false`},
		{"of one node", "node: a, peerIP: 10.0.0.2, asNumber: 64512, reversePeering: Manual", `"calico_node":true`},
	} {
		got := treeOf(t, "a", nodes+off+resourceText("BGPPeer", "p", tt.spec), bgp.Options{}).below("/calico/bgp/v1")
		if !strings.Contains(got, "/10.0.0.2=") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s is not in\n%s", tt.rule, tt.want, got)
		}
	}
}

func TestPoolsAndBlocks(t *testing.T) {
	text := resourceText("Node", "a", `bgp: {ipv4Address: 10.0.0.1/24}`) + resourceText("IPPool", "b", "cidr: 10.1.0.0/16, ipipMode: CrossSubnet, natOutgoing: true, assignmentMode: Manual") +
		resourceText("IPPool", "c", "cidr: 10.1.0.0/16") +
		resourceText("IPPool", "d", `cidr: "fd00:1::/64", vxlanMode: Always, disabled: true, disableBGPExport: true, allowedUses: [Workload]`) +
		"---\napiVersion: crd.projectcalico.org/v1\nkind: BlockAffinity\nmetadata: {name: x}\nspec: {cidr: 10.1.2.0/26, node: a, state: pendingDeletion, deleted: 'false'}\n" +
		"---\napiVersion: crd.projectcalico.org/v1\nkind: BlockAffinity\nmetadata: {name: y}\nspec: {cidr: 'fd00:1::/122', node: b, state: '', deleted: 'false'}\n"
	tree := treeOf(t, "a", text, bgp.Options{})
	checkBelow(t, tree, "/calico/v1/ipam", `
/v4/pool/10.1.0.0-16={"cidr":"10.1.0.0/16","ipip":"tunl0","ipip_mode":"cross-subnet","vxlan_mode":"","masquerade":true,"ipam":true,"disabled":false,"disableBGPExport":false,"assignment_mode":"Manual"}
/v6/pool/fd00:1::-64={"cidr":"fd00:1::/64","ipip":"","ipip_mode":"","vxlan_mode":"always","masquerade":false,"ipam":false,"disabled":true,"disableBGPExport":true,"assignment_mode":"Automatic","allowed_uses":["Workload"]}
`)
	checkBelow(t, tree, "/calico/ipam/v2/host", `
/a/ipv4/block/10.1.2.0-26={"state":"pendingDeletion","deleted":false}
/b/ipv6/block/fd00:1::-122={"state":"confirmed","deleted":false}
`)
	pods := strings.Replace(text, "spec: {bgp:", "status: {podCIDRs: [10.7.0.0/24]}\nspec: {bgp:", 1)
	checkBelow(t, treeOf(t, "a", pods, bgp.Options{UsePodCIDR: true}), "/calico/ipam/v2/host", "/a/ipv4/block/10.7.0.0-24={\"state\":\"confirmed\",\"deleted\":false}\n")
}

func TestServices(t *testing.T) {
	text := resourceText("Node", "a", `bgp: {ipv4Address: 10.0.0.1/24, ipv6Address: "fd00::1/64"}`) +
		resourceText("BGPConfiguration", "default", `serviceExternalIPs: [{cidr: 203.0.113.0/24}, {cidr: "2001:db8::/64"}]`)
	tree := treeOf(t, "a", text, bgp.Options{})
	for _, at := range []string{"/calico/staticroutes", "/calico/rejectcidrs"} {
		checkBelow(t, tree, at, "/203.0.113.0-24=203.0.113.0/24\nv6/2001:db8::-64=2001:db8::/64\n")
	}
}

// The resources themselves, as they were read; of nodes only the fields that count.
func TestResources(t *testing.T) {
	text := resourceText("Node", "a", `bgp: {ipv4Address: 10.0.0.1/24, asNumber: 65001}, wireguard: {interfaceIPv4Address: 10.9.0.1}`) +
		resourceText("BGPConfiguration", "default", `asNumber: "1.10", logSeverityScreen: Debug, serviceClusterIPs: [{cidr: 10.96.0.0/12}], nodeMeshMaxRestartTime: 90s, ipv4NormalRoutePriority: 512, nodeToNodeMeshEnabled: false`) +
		resourceText("BGPPeer", "p", `nodeSelector: has(x), peerIP: "[fd00::7]:1790", asNumber: 65001, filters: [f], password: {secretKeyRef: {name: s, key: k}}, ttlSecurity: 2, sourceAddress: None`) +
		resourceText("BGPFilter", "f", `importV4: [{cidr: 10.1.0.0/16, matchOperator: In, prefixLength: {max: 24}, source: RemotePeers, interface: eth0, peerType: eBGP, communities: {values: ["1:2"]}, asPathPrefix: [1, 2], priority: 7, action: Accept, operations: [{addCommunity: {value: "1:2:3"}}, {prependASPath: {prefix: [3]}}, {setPriority: {value: 9}}]}, {action: Reject}]`)
	checkBelow(t, treeOf(t, "a", text, bgp.Options{}), "/calico/resources/v3/projectcalico.org", `
/bgpconfigurations/default={"kind":"BGPConfiguration","apiVersion":"projectcalico.org/v3","metadata":{"name":"default"},"spec":{"asNumber":"1.10","ipv4NormalRoutePriority":512,"logSeverityScreen":"Debug","nodeMeshMaxRestartTime":"90s","nodeToNodeMeshEnabled":false,"serviceClusterIPs":[{"cidr":"10.96.0.0/12"}]}}
/bgpfilters/f={"kind":"BGPFilter","apiVersion":"projectcalico.org/v3","metadata":{"name":"f"},"spec":{"importV4":[{"action":"Accept","asPathPrefix":[1,2],"cidr":"10.1.0.0/16","communities":{"values":["1:2"]},"interface":"eth0","matchOperator":"In","operations":[{"addCommunity":{"value":"1:2:3"}},{"prependASPath":{"prefix":[3]}},{"setPriority":{"value":9}}],"peerType":"eBGP","prefixLength":{"max":24},"priority":7,"source":"RemotePeers"},{"action":"Reject"}]}}
/bgppeers/p={"kind":"BGPPeer","apiVersion":"projectcalico.org/v3","metadata":{"name":"p"},"spec":{"asNumber":65001,"filters":["f"],"nodeSelector":"has(x)","password":{"secretKeyRef":{"key":"k","name":"s"}},"peerIP":"[fd00::7]:1790","sourceAddress":"None","ttlSecurity":2}}
/nodes/a={"kind":"Node","apiVersion":"projectcalico.org/v3","metadata":{"name":"a"},"spec":{"bgp":{"asNumber":65001,"ipv4Address":"10.0.0.1/24"},"wireguard":{"interfaceIPv4Address":"10.9.0.1"}}}
`)
}

func netAddr(t *testing.T, text string) netip.Addr {
	t.Helper()
	a, err := netip.ParseAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
