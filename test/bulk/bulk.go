// Package bulk writes large clusters as text, for benchmarks, and measures what they cost.
package bulk

import (
	"fmt"
	"strings"
)

// Nodes writes a cluster of n nodes, with a second address each if dual, in racks of 40;
// n is at most 65536.
func Nodes(n int, dual bool) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: projectcalico.org/v3\nkind: Node\n"+
			"metadata: {name: node-%05d, labels: {rack: r%d, kubernetes.io/hostname: node-%05d}}\n"+
			"spec: {bgp: {ipv4Address: 10.%d.%d.%d/16", i, i/40, i, 64+i/65536, i/256, i%256)
		if dual {
			fmt.Fprintf(&b, ", ipv6Address: \"2001:db8:%x::%x/64\"", i/256, i%256+1)
		}
		b.WriteString("}}\n")
	}
	b.WriteString(`---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: pods4}
spec: {cidr: 10.0.0.0/10}
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: pods6}
spec: {cidr: "2001:db8:ffff::/48"}
---
apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {name: default}
spec: {asNumber: 64500, gracefulRestartWait: 30s, nodeMeshMaxRestartTime: 60s}
`)
	return b.String()
}

// Racks writes BGPPeers and BGPFilters: each peer makes the nodes of one rack peer with
// another rack and has two filters.
func Racks(peers, filters int) string {
	var b strings.Builder
	for i := range filters {
		fmt.Fprintf(&b, `---
apiVersion: projectcalico.org/v3
kind: BGPFilter
metadata: {name: filter-%03d}
spec:
  importV4: [{cidr: 10.%d.0.0/16, matchOperator: In, action: Reject}, {communities: {values: ["64500:%d"]}, action: Accept}]
  exportV4: [{cidr: 10.%d.0.0/16, matchOperator: In, prefixLength: {min: 20, max: 28}, peerType: iBGP, action: Accept}]
  importV6: [{cidr: "2001:db8:%x::/48", matchOperator: In, action: Reject}]
`, i, i, i, i, i)
	}
	for i := range peers {
		fmt.Fprintf(&b, `---
apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: peer-%03d}
spec:
  nodeSelector: rack == 'r%d' || rack == 'r0'
  peerSelector: rack == 'r%d' && has(kubernetes.io/hostname)
`, i, i%25, (i+1)%25)
		if filters > 0 {
			fmt.Fprintf(&b, "  filters: [filter-%03d, filter-%03d]\n", i%filters, (i+7)%filters)
		}
	}
	return b.String()
}
