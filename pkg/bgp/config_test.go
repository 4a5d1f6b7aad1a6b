package bgp_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// Fields that a node can have of its own count one by one: what the node does not say, the
// cluster decides.
func TestInheritance(t *testing.T) {
	type settings struct {
		Wait    string
		WaitFor calico.WaitFor
		Level   calico.LogLevel
		Port    uint16
	}
	for _, c := range []struct {
		name, text string
		want       settings
	}{
		{"nothing is set", "", settings{"unset", calico.WaitForReadyNodes, calico.LogInfo, 0}},
		{"cluster only", config("gracefulRestartWait: 45s, gracefulRestartWaitFor: AllPeers, logSeverityScreen: Debug, listenPort: 1790"),
			settings{"45s", calico.WaitForAllPeers, calico.LogDebug, 1790}},
		{"node only", configOf("a", "gracefulRestartWait: 0s, gracefulRestartWaitFor: AllPeers, logSeverityScreen: Warning, listenPort: 1791"),
			settings{"0s", calico.WaitForAllPeers, calico.LogNone, 1791}},
		{"node before cluster", config("gracefulRestartWait: 45s, gracefulRestartWaitFor: AllPeers, logSeverityScreen: Debug, listenPort: 1790") +
			configOf("a", "gracefulRestartWait: 1m, gracefulRestartWaitFor: ReadyNodes, logSeverityScreen: Info, listenPort: 1791"),
			settings{"1m0s", calico.WaitForReadyNodes, calico.LogInfo, 1791}},
		{"a node's zero is a value", config("gracefulRestartWait: 45s") + configOf("a", "gracefulRestartWait: 0s"),
			settings{"0s", calico.WaitForReadyNodes, calico.LogInfo, 0}},
		{"wait of the node, wait-for of the cluster", config("gracefulRestartWait: 45s, gracefulRestartWaitFor: AllPeers") + configOf("a", "gracefulRestartWait: 10s"),
			settings{"10s", calico.WaitForAllPeers, calico.LogInfo, 0}},
		{"wait of the cluster, wait-for of the node", config("gracefulRestartWait: 45s") + configOf("a", "gracefulRestartWaitFor: AllPeers"),
			settings{"45s", calico.WaitForAllPeers, calico.LogInfo, 0}},
		{"port of the node, level of the cluster", config("logSeverityScreen: Debug, listenPort: 1790") + configOf("a", "listenPort: 1791"),
			settings{"unset", calico.WaitForReadyNodes, calico.LogDebug, 1791}},
		{"another node's settings", configOf("b", "gracefulRestartWait: 10s, listenPort: 1791, logSeverityScreen: Debug"),
			settings{"unset", calico.WaitForReadyNodes, calico.LogInfo, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, "a", ab+c.text)
			wantProblems(t, r)
			for _, v := range []*bgp.View{r.IPv4, r.IPv6} {
				wait := "unset"
				if v.GracefulRestartWait != nil {
					wait = v.GracefulRestartWait.String()
				}
				wantEqual(t, v.Family.String(), settings{wait, v.GracefulRestartWaitFor, v.LogLevel, v.Listen.Port}, c.want)
			}
		})
	}
}

func TestClusterWideSettings(t *testing.T) {
	r := compute(t, "a", ab+config("asNumber: 64500, bindMode: NodeIP, ignoredInterfaces: [eth9, 'vlan*'], ipv4NormalRoutePriority: 2000, ipv6NormalRoutePriority: 100"))
	wantProblems(t, r)
	wantEqual(t, "IPv4 address to listen on", r.IPv4.Listen.Address.String(), "192.0.2.1")
	wantEqual(t, "IPv6 address to listen on", r.IPv6.Listen.Address.String(), "2001:db8::1")
	wantEqual(t, "AS number", r.IPv4.Node.ASNumber, uint32(64500))
	wantEqual(t, "ignored interfaces", r.IPv6.IgnoredInterfaces, []string{"eth9", "vlan*"})
	wantEqual(t, "IPv4 metric", r.IPv4.RoutePriority, uint32(2000))
	wantEqual(t, "IPv6 metric", r.IPv6.RoutePriority, uint32(100))

	r = compute(t, "a", ab)
	wantEqual(t, "AS number by default", r.IPv4.Node.ASNumber, uint32(bgp.DefaultASNumber))
	wantEqual(t, "IPv6 metric by default", r.IPv6.RoutePriority, uint32(1024))
	wantEqual(t, "listen by default", r.IPv4.Listen == bgp.Listen{}, true)
	wantEqual(t, "AS number of a node", compute(t, "a", node("a", "", "ipv4Address: 192.0.2.1, asNumber: 65001")).IPv4.Node.ASNumber, uint32(65001))
}

func TestLocalPrefOfMetrics(t *testing.T) {
	for metric, pref := range map[uint32]uint32{1024: 2147482623, 512: 2147483135, 100: 2147483547} {
		wantEqual(t, "local preference", bgp.LocalPref(metric), pref)
	}
	for metric, threshold := range map[uint32]uint32{1024: 2147482623, 2000: 2147481647} {
		v := bgp.View{RoutePriority: metric}
		wantEqual(t, "threshold", v.NormalLocalPref(), threshold)
	}
	v := bgp.View{}
	wantEqual(t, "sum", v.MaxMetric(), 2147483647)
}

func TestRouterID(t *testing.T) {
	// The node's name alone decides; nodeTest and Testrobin123 are no names of resources,
	// so the snapshot is made by hand.
	for name, want := range map[string]string{
		"kube-master": "25.79.212.8", "worker-1": "19.2.159.158", "node-a": "102.87.15.240",
		"nodeTest": "109.174.215.226", "Testrobin123": "207.94.5.27",
	} {
		n := &calico.Node{Meta: calico.Meta{ID: calico.ID{Kind: "Node", Name: name}}, IPv6: netip.MustParsePrefix("2001:db8::1/64")}
		c, _ := calico.NewCluster([]calico.Object{n}, nil)
		v, problems := bgp.Compute(c, name, bgp.Options{RouterID: "hash"})
		if len(problems) > 0 || v.IPv6 == nil || v.IPv4 == nil {
			t.Fatalf("%s: %v", name, problems)
		}
		wantEqual(t, "router id of "+name, v.IPv6.RouterID.String(), want)
		wantEqual(t, "in the other family", v.IPv4.RouterID.String(), want)
	}
	four, six := node4("a", "192.0.2.1/24"), node("a", "", `ipv6Address: "2001:db8::1/64"`)
	const none = "error router-id Node/a: nothing is rendered for IPv6"
	for _, c := range []struct {
		name, text, option, v4, v6 string
		problems                   []string
	}{
		{"the IPv4 address serves both", ab, "", "192.0.2.1", "192.0.2.1", nil},
		{"given", ab, "203.0.113.9", "203.0.113.9", "203.0.113.9", nil},
		{"bad, IPv4 address instead", ab, "2001:db8::1", "192.0.2.1", "192.0.2.1", []string{"error router-id Node/a: the node's IPv4 address is used"}},
		{"only IPv4", four, "", "192.0.2.1", "192.0.2.1", nil},
		{"only IPv6: BIRD picks one for IPv4, IPv6 is withheld", six, "", "invalid IP", "withheld", []string{none}},
		{"only IPv6, bad", six, "0.0.0.0", "invalid IP", "withheld", []string{"error router-id Node/a: there is no IPv4 address to use instead", none}},
		{"only IPv6, given", six, "203.0.113.9", "203.0.113.9", "203.0.113.9", nil},
		{"no address at all", node("a", "", `asNumber: 64501`), "203.0.113.9", "203.0.113.9", "203.0.113.9",
			[]string{"warning node-address Node/a spec.bgp: gets no BGP sessions"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := computeWith(t, "a", bgp.Options{RouterID: c.option}, c.text)
			wantProblems(t, r, c.problems...)
			for f, want := range map[bgp.Family]string{bgp.IPv4: c.v4, bgp.IPv6: c.v6} {
				got := "withheld"
				if v := r.Of(f); v != nil {
					got = v.RouterID.String()
				}
				wantEqual(t, f.String(), got, want)
			}
		})
	}
}

// A node whose own address cannot be read keeps what it runs in that family.
func TestOwnUnreadableAddress(t *testing.T) {
	kubernetes := func(annotations string) string {
		return "---\napiVersion: v1\nkind: Node\nmetadata: {name: a, annotations: {" + annotations + "}}\n"
	}
	for _, c := range []struct {
		name, node, field string
		withheld          bgp.Family
	}{
		{"IPv4", node("a", "", `ipv4Address: 192.0.2.300/24, ipv6Address: "2001:db8::1/64"`), "spec.bgp.ipv4Address", bgp.IPv4},
		{"IPv6", node("a", "", `ipv4Address: 192.0.2.1/24, ipv6Address: "2001:db8::1::/64"`), "spec.bgp.ipv6Address", bgp.IPv6},
		{"IPv4 in Kubernetes", kubernetes(`projectcalico.org/IPv4Address: 192.0.2, projectcalico.org/IPv6Address: "2001:db8::1/64"`),
			"metadata.annotations[projectcalico.org/IPv4Address]", bgp.IPv4},
		{"IPv6 in Kubernetes", kubernetes(`projectcalico.org/IPv4Address: 192.0.2.1, projectcalico.org/IPv6Address: "192.0.2.1"`),
			"metadata.annotations[projectcalico.org/IPv6Address]", bgp.IPv6},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects, found := calico.Decode("input.yaml", []byte(c.node+node4("b", "192.0.2.2/24")))
			if len(found) != 1 || found[0].Severity != calico.Error || found[0].Field != c.field {
				t.Errorf("reading reports %v", found)
			}
			cluster, _ := calico.NewCluster(objects, nil)
			v, problems := bgp.Compute(cluster, "a", bgp.Options{RouterID: "hash"})
			for _, f := range bgp.Families {
				wantEqual(t, "withheld "+f.String(), v.Of(f) == nil, f == c.withheld)
			}
			wantProblems(t, result{v, problems}, "error node-address Node/a "+c.field+": nothing is rendered for "+c.withheld.String()+", since that would end all its sessions")
			if c.withheld == bgp.IPv4 { // for the others it is a node without the address
				v, problems = bgp.Compute(cluster, "b", bgp.Options{})
				wantProblems(t, result{v, problems})
				wantPeers(t, v.IPv4)
			}
		})
	}
}

func TestFamilies(t *testing.T) {
	r := computeWith(t, "a", bgp.Options{Families: []bgp.Family{bgp.IPv6}}, ab)
	if r.IPv4 != nil || r.IPv6 == nil {
		t.Error("the families are not those asked for")
	}
	wantEqual(t, "wait", r.IPv6.GracefulRestartWait, (*time.Duration)(nil))
}

func TestProblemsAboutNodes(t *testing.T) {
	for _, c := range []struct {
		name, text string
		problems   []string
	}{
		{"nodes without address are listed in one", ab + node("c", "", "asNumber: 1") + node("d", "", "asNumber: 1"),
			[]string{"warning node-address Node/c: no BGP address, so no peering with: c, d"}},
		{"settings of a node that is not there", ab + configOf("bb", "listenPort: 1790"),
			[]string{`warning unused-config BGPConfiguration/node.bb metadata.name: did you mean "b"?`}},
	} {
		t.Run(c.name, func(t *testing.T) { wantProblems(t, compute(t, "a", c.text), c.problems...) })
	}
}

func TestUnknownNode(t *testing.T) {
	for _, c := range []struct{ name, text, problem string }{
		{"nodes of the input are listed", ab, "error node-unknown Node/zulu: nodes in the input: a, b"},
		{"no node at all", config("asNumber: 64500"), "error node-unknown Node/zulu: holds no Node at all"},
		{"similar name", ab + node4("zulus", "192.0.2.3/24"), `error node-unknown Node/zulu: did you mean "zulus"?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, "zulu", c.text)
			wantProblems(t, r, c.problem)
			if r.IPv4 != nil || r.IPv6 != nil {
				t.Error("there is a View")
			}
		})
	}
}
