package property

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// cluster is a random cluster: every document is valid by itself, and together they hold
// whatever administrators manage to write.
type cluster struct {
	documents []string
	workloads []calico.WorkloadEndpoint
	options   bgp.Options
	nodes     []string
	passwords []string
}

func (c cluster) text() string { return strings.Join(c.documents, "---\n") }

// generator draws parts of a cluster. The first choice is always the plain one, so that
// rapid's counterexamples are small.
type generator struct {
	*rapid.T
	cluster
	filters []string
	peers   []string // with a localWorkloadSelector
}

func drawCluster(t *rapid.T) cluster {
	g := &generator{T: t}
	g.drawNodes()
	g.drawFilters()
	g.drawSecrets()
	g.drawConfigs()
	g.drawPeers()
	g.drawPools()
	g.drawServices()
	g.drawWorkloads()
	g.options = bgp.Options{
		RouterID:            g.pick("router id", "", "hash", "192.0.2.200", "banana"),
		AdvertiseClusterIPs: g.pick("variable", "", "", "10.96.0.0/12", "fd00:96::/112,10.97.0.0/16"),
		UsePodCIDR:          g.rarely("pod CIDRs", 10),
	}
	return g.cluster
}

func (g *generator) pick(label string, choices ...string) string {
	return rapid.SampledFrom(choices).Draw(g.T, label)
}

func (g *generator) number(label string, least, most int) int {
	return rapid.IntRange(least, most).Draw(g.T, label)
}

// rarely is true once in n times.
func (g *generator) rarely(label string, n int) bool { return g.number(label, 1, n) == n }

func (g *generator) often(label string) bool { return g.number(label, 1, 3) < 3 }

// fields collects the fields of a mapping in flow style.
type fields []string

func (f *fields) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

func (f fields) String() string { return strings.Join(f, ", ") }

func (g *generator) document(version, kind, name, metadata, rest string) {
	if metadata != "" {
		metadata = ", " + metadata
	}
	g.documents = append(g.documents, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s%s}\n%s\n", version, kind, name, metadata, rest))
}

func (g *generator) calico(kind, name string, spec fields) {
	g.document("projectcalico.org/v3", kind, name, "", "spec: {"+spec.String()+"}")
}

var (
	v4Addresses = []string{"192.0.2.1", "192.0.2.2", "192.0.2.9", "192.0.2.10", "192.0.2.11", "192.0.2.100", "198.51.100.1", "203.0.113.1"}
	v6Addresses = []string{"2001:db8::1", "2001:db8::2", "2001:db8::a", "2001:db8::10", "2001:db8:1::1", "fd00::1", "fd00::2"}
	asNumbers   = []string{"64512", "64500", "65001", "4200000000", "23456"}
	selectors   = []string{"all()", "rack == 'r1'", "has(rr)", "!has(rr)", "rack in {'r1', 'r2'} && !has(rr)"}
)

// drawNodes mostly gives each node addresses of its own.
func (g *generator) drawNodes() {
	four, six := slices.Clone(v4Addresses), slices.Clone(v6Addresses)
	draw := func(label string, from *[]string) string {
		if len(*from) == 0 || g.rarely("without "+label, 6) {
			return ""
		}
		i := g.number(label, 0, len(*from)-1)
		a := (*from)[i]
		if !g.rarely("shared "+label, 12) {
			*from = slices.Delete(*from, i, i+1)
		}
		return a
	}
	for i := range g.number("nodes", 1, 7) {
		name := fmt.Sprintf("node-%d", i)
		g.nodes = append(g.nodes, name)
		a4, a6 := draw("IPv4", &four), draw("IPv6", &six)
		if a4 != "" {
			a4 += g.pick("IPv4 length", "/24", "/24", "", "/32")
		}
		if a6 != "" {
			a6 += g.pick("IPv6 length", "/64", "/64", "")
		}
		as := ""
		if g.rarely("own AS number", 3) {
			as = g.pick("AS number", asNumbers...)
		}
		cluster := ""
		if g.rarely("reflector", 4) {
			cluster = g.pick("cluster id", "192.0.2.251", "192.0.2.252")
		}
		g.drawNode(name, a4, a6, as, cluster)
	}
}

func (g *generator) drawNode(name, a4, a6, as, cluster string) {
	labels := fields{"rack: " + g.pick("rack", "r1", "r2", "r3")}
	if cluster != "" {
		labels.add(`rr: "yes"`)
	}
	if g.rarely("excluded", 8) {
		labels.add(bgp.ExcludeLabel + `: "true"`)
	}
	set := func(f *fields, key, value string) {
		if value != "" {
			f.add("%s: %q", key, value)
		}
	}
	wireguard := ""
	if g.rarely("wireguard", 4) {
		wireguard = "100.64.0.1"
	}
	if g.rarely("Kubernetes node", 3) {
		var annotations fields
		set(&annotations, "projectcalico.org/IPv4Address", a4)
		set(&annotations, "projectcalico.org/IPv6Address", a6)
		set(&annotations, "projectcalico.org/ASNumber", as)
		set(&annotations, "projectcalico.org/RouteReflectorClusterID", cluster)
		set(&annotations, "projectcalico.org/IPv4WireguardInterfaceAddr", wireguard)
		g.document("v1", "Node", name, fmt.Sprintf("labels: {%s}, annotations: {%s}", labels, annotations), `spec: {podCIDRs: [10.3.0.0/24, "2001:db8:c::/64"]}`)
		return
	}
	var own, spec fields
	set(&own, "ipv4Address", a4)
	set(&own, "ipv6Address", a6)
	set(&own, "routeReflectorClusterID", cluster)
	if as != "" {
		own.add("asNumber: %s", as)
	}
	if len(own) > 0 {
		spec.add("bgp: {%s}", own)
	}
	if wireguard != "" {
		spec.add("wireguard: {interfaceIPv4Address: %s, interfaceIPv6Address: \"fd01::1\"}", wireguard)
	}
	g.document("projectcalico.org/v3", "Node", name, fmt.Sprintf("labels: {%s}", labels), "spec: {"+spec.String()+"}")
}

// drawSecrets gives passwords that appear nowhere else.
func (g *generator) drawSecrets() {
	for i, password := range []string{`pa55-plain`, `pa55 # with; {marks}`, `pa55"quote`, `pa55\nbreak`, `pa55-newline\n`, ``} {
		if g.rarely("no such Secret", 5) {
			continue
		}
		g.document("v1", "Secret", fmt.Sprintf("secret-%d", i), "namespace: kube-system", fmt.Sprintf(`stringData: {key: "%s"}`, strings.ReplaceAll(password, `"`, `\"`)))
	}
	g.passwords = []string{"pa55", "plain", "with; {marks}"}
}

func (g *generator) passwordRef() string {
	return fmt.Sprintf("{secretKeyRef: {name: secret-%d, key: %s}}", g.number("secret", 0, 5), g.pick("key", "key", "key", "key", "other"))
}

func (g *generator) drawConfigs() {
	var spec fields
	if g.often("global AS") {
		spec.add("asNumber: %s", g.pick("AS number", asNumbers...))
	}
	switch g.pick("mesh", "on", "on", "off") {
	case "off":
		spec.add("nodeToNodeMeshEnabled: false")
	default:
		if g.rarely("mesh password", 4) {
			spec.add("nodeMeshPassword: %s", g.passwordRef())
		}
		if g.rarely("mesh restart", 3) {
			spec.add("nodeMeshMaxRestartTime: %s", g.pick("time", "0s", "60s", "4095s"))
		}
	}
	if g.rarely("bind", 3) {
		spec.add("bindMode: NodeIP")
	}
	if g.rarely("ignored", 3) {
		spec.add("ignoredInterfaces: [eth9, \"vlan*\"]")
	}
	if g.often("program") {
		spec.add("programClusterRoutes: %s", g.pick("program", "Enabled", "Disabled", "EnabledIPIPOnly", "EnabledNoEncapOnly"))
	}
	if g.rarely("priority", 3) {
		spec.add("ipv4NormalRoutePriority: %d", g.number("priority", 1, 2147483646))
	}
	for _, list := range []string{"serviceClusterIPs", "serviceExternalIPs", "serviceLoadBalancerIPs"} {
		if g.rarely(list, 2) {
			spec.add("%s: [{cidr: %s}, {cidr: %q}, {cidr: %s}]", list, g.pick("range", "10.96.0.0/12", "203.0.113.0/24"),
				g.pick("range", "fd00:96::/112", "2001:db8:e::/64"), g.pick("range", "203.0.113.7/32", "198.18.0.0/15"))
		}
	}
	if g.rarely("aggregation", 3) {
		spec.add("serviceLoadBalancerAggregation: Disabled")
	}
	g.drawNodeFields(&spec)
	g.calico("BGPConfiguration", "default", spec)
	for _, node := range append(slices.Clone(g.nodes), "ghost") {
		if g.rarely("settings of "+node, 4) {
			var own fields
			g.drawNodeFields(&own)
			g.calico("BGPConfiguration", "node."+node, own)
		}
	}
}

// drawNodeFields are those that the cluster and a single node can have.
func (g *generator) drawNodeFields(spec *fields) {
	if g.rarely("port", 3) {
		spec.add("listenPort: %s", g.pick("port", "179", "1790", "1791"))
	}
	if g.rarely("level", 3) {
		spec.add("logSeverityScreen: %s", g.pick("level", "Info", "Debug", "Warning"))
	}
	if g.rarely("wait", 3) {
		spec.add("gracefulRestartWait: %s", g.pick("wait", "0s", "45s", "18h"))
	}
	if g.rarely("communities", 3) {
		spec.add(`communities: [{name: site, value: "64500:1:2"}]`)
		spec.add(`prefixAdvertisements: [{cidr: %q, communities: [site, "64500:7"]}]`, g.pick("prefix", "10.1.0.0/16", "2001:db8:a::/48"))
	}
}
