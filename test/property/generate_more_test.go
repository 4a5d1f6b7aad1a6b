package property

import (
	"fmt"
	"net/netip"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

func (g *generator) drawPeers() {
	for i := range g.number("peers", 0, 6) {
		var spec fields
		name := fmt.Sprintf("peer-%d", i)
		switch g.pick("local side", "every node", "node", "nodeSelector") {
		case "node":
			spec.add("node: %s", g.pick("node", append([]string{"ghost"}, g.nodes...)...))
		case "nodeSelector":
			spec.add("nodeSelector: %q", g.pick("selector", selectors...))
		}
		switch g.pick("remote side", "address", "address", "selector", "workloads") {
		case "address":
			g.drawAddress(&spec)
		case "selector":
			spec.add("peerSelector: %q", g.pick("selector", selectors...))
		default:
			spec.add("localWorkloadSelector: has(vm), asNumber: %s", g.pick("AS number", asNumbers...))
			g.peers = append(g.peers, name)
		}
		g.drawOptions(&spec)
		g.calico("BGPPeer", name, spec)
	}
}

// drawAddress takes nodes' addresses for the most part.
func (g *generator) drawAddress(spec *fields) {
	four := g.often("IPv4")
	port := g.pick("port", "", "", "179", "1790")
	a, gateway := g.pick("address", append([]string{"192.0.2.254"}, v4Addresses...)...), "192.0.2.253"
	if !four {
		a, gateway = g.pick("address", append([]string{"2001:db8::fe"}, v6Addresses...)...), "2001:db8::fd"
	}
	if g.rarely("gateway", 5) {
		spec.add("reachableBy: %q", gateway)
	}
	switch {
	case port != "" && four:
		a += ":" + port
	case port != "":
		a = "[" + a + "]:" + port
	}
	spec.add("peerIP: %q", a)
	if g.often("AS number is given") {
		spec.add("asNumber: %s", g.pick("AS number", asNumbers...))
	}
}

func (g *generator) drawOptions(spec *fields) {
	for _, o := range []struct{ name, values string }{
		{"localASNumber", "64512"}, {"ttlSecurity", "2"}, {"keepaliveTime", "10s"}, {"maxRestartTime", "120s"},
		{"sourceAddress", "None"}, {"reversePeering", "Manual"}, {"numAllowedLocalASNumbers", "2"}, {"nextHopMode", "Self"},
	} {
		if g.rarely(o.name, 5) {
			spec.add("%s: %s", o.name, o.values)
		}
	}
	if g.rarely("password", 4) {
		spec.add("password: %s", g.passwordRef())
	}
	if g.rarely("filters", 2) {
		names := append([]string{"missing"}, g.filters...)
		spec.add("filters: [%s, %s]", g.pick("filter", names...), g.pick("filter", names...))
	}
}

func (g *generator) drawFilters() {
	for i := range g.number("filters", 0, 3) {
		name := fmt.Sprintf("filter-%d", i)
		if g.rarely("long name", 4) {
			name += ".with-a-name-that-is-too-long-for-a-symbol-of-bird"
		}
		var spec fields
		for _, list := range []string{"importV4", "exportV4", "importV6", "exportV6"} {
			if !g.often(list) {
				continue
			}
			var rules fields
			for range g.number("rules", 0, 3) {
				rules.add("{%s}", g.drawRule(list[len(list)-1:] == "4"))
			}
			spec.add("%s: [%s]", list, rules)
		}
		g.filters = append(g.filters, name)
		g.calico("BGPFilter", name, spec)
	}
}

func (g *generator) drawRule(four bool) fields {
	var rule fields
	if g.often("cidr") {
		operator := g.pick("operator", "In", "NotIn", "Equal", "NotEqual")
		prefix, least, most := g.pick("prefix", "10.1.0.0/16", "0.0.0.0/0", "192.0.2.1/32"), 0, 32
		if !four {
			prefix, most = g.pick("prefix", "2001:db8:a::/48", "::/0", "2001:db8::1/128"), 128
		}
		rule.add("cidr: %q, matchOperator: %s", prefix, operator)
		if least = netip.MustParsePrefix(prefix).Bits(); (operator == "In" || operator == "NotIn") && g.rarely("lengths", 2) {
			low := g.number("min", 0, most)
			rule.add("prefixLength: {min: %d, max: %d}", low, g.number("max", max(low, least), most))
		}
	}
	for _, c := range []string{"source: RemotePeers", "interface: 'eth*.1'", "peerType: eBGP", "peerType: iBGP", `communities: {values: ["64500:1:2"]}`,
		`communities: {values: ["64500:1"]}`, "asPathPrefix: [65001, 65002]", "priority: 512"} {
		if g.rarely(c, 5) && !contains(rule, c[:4]) {
			rule.add("%s", c)
		}
	}
	if !g.often("reject") {
		rule.add("action: Accept")
		if g.rarely("operations", 2) {
			rule.add(`operations: [{addCommunity: {value: "64500:9"}}, {prependASPath: {prefix: [65001]}}, {setPriority: {value: 100}}, {addCommunity: {value: "64500:1:9"}}]`)
		}
		return rule
	}
	rule.add("action: Reject")
	return rule
}

func contains(f fields, begin string) bool {
	for _, s := range f {
		if len(s) >= len(begin) && s[:len(begin)] == begin {
			return true
		}
	}
	return false
}

func (g *generator) drawPools() {
	for i := range g.number("pools", 0, 5) {
		prefix := g.pick("pool", "10.1.0.0/16", "10.0.0.0/8", "10.1.128.0/17", "10.1.2.0/24", "203.0.113.0/24", "2001:db8:a::/48", "2001:db8:a:1::/64", "2001:db8:b::/48")
		spec := fields{fmt.Sprintf("cidr: %q", prefix)}
		switch mode := g.pick("mode", "Never", "Always", "CrossSubnet"); {
		case g.rarely("VXLAN", 2):
			spec.add("vxlanMode: %s", mode)
		case netip.MustParsePrefix(prefix).Addr().Is4():
			spec.add("ipipMode: %s", mode)
		}
		if g.rarely("no export", 4) {
			spec.add("disableBGPExport: true")
		}
		g.calico("IPPool", fmt.Sprintf("pool-%d", i), spec)
	}
	for i := range g.number("blocks", 0, 4) {
		g.calico("BlockAffinity", fmt.Sprintf("block-%d", i), fields{
			"node: " + g.pick("node", g.nodes...),
			fmt.Sprintf("cidr: %q", g.pick("block", "10.1.0.0/26", "10.1.0.64/26", "10.1.2.3/32", "203.0.113.0/28", "2001:db8:a::40/122", "2001:db8:a::7/128")),
			"state: " + g.pick("state", "confirmed", "pendingDeletion", "pending"),
		})
	}
}

func (g *generator) drawServices() {
	for i := range g.number("services", 0, 3) {
		name := fmt.Sprintf("service-%d", i)
		cluster := fmt.Sprintf("10.96.0.%d", i+1)
		spec := fields{"clusterIP: " + cluster, fmt.Sprintf("clusterIPs: [%s, \"fd00:96::%d\"]", cluster, i+1), "ipFamilies: [IPv4, IPv6]",
			"type: " + g.pick("type", "ClusterIP", "NodePort", "LoadBalancer"), fmt.Sprintf("externalTrafficPolicy: %q", g.pick("policy", "Local", "Cluster", ""))}
		if g.often("external IP") {
			spec.add("externalIPs: [%s]", g.pick("external IP", "203.0.113.7", "203.0.113.8", "8.8.8.8", `"2001:db8:e::7"`))
		}
		status := ""
		if g.often("load balancer") {
			status = fmt.Sprintf("\nstatus: {loadBalancer: {ingress: [{ip: %s}]}}", g.pick("balancer IP", "203.0.113.7", "198.18.0.9", `"2001:db8:e::9"`))
		}
		g.document("v1", "Service", name, "namespace: shop", "spec: {"+spec.String()+"}"+status)
		for _, f := range []string{"IPv4", "IPv6"} {
			if g.often("slice") {
				g.document("discovery.k8s.io/v1", "EndpointSlice", name+"-"+f[3:], "namespace: shop, labels: {kubernetes.io/service-name: "+name+"}",
					fmt.Sprintf("addressType: %s\nendpoints: [{nodeName: %s, conditions: {ready: %t}}]", f, g.pick("node", g.nodes...), g.often("ready")))
			}
		}
	}
}

func (g *generator) drawWorkloads() {
	for i := range g.number("workloads", 0, 2) {
		w := calico.WorkloadEndpoint{Interface: fmt.Sprintf("cali%d", i), BGPPeerName: g.pick("peer", append([]string{"nobody"}, g.peers...)...),
			IPv4: netip.AddrFrom4([4]byte{198, 18, 7, byte(i)})}
		if g.often("IPv6 too") {
			w.IPv6 = netip.MustParseAddr(fmt.Sprintf("2001:db8:77::%d", i+1))
		}
		g.workloads = append(g.workloads, w)
	}
}
