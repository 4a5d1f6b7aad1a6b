package cases

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/test/fromtext"
)

// wantRoutes asserts, for one family, what a node originates, what it gives to its peers
// besides pools and blocks, and what it keeps out of the kernel. Prefixes in parentheses
// are kept out only as routes of its own.
func wantRoutes(t *testing.T, r *fromtext.Result, f bgp.Family, originated, exported, rejected []string) {
	t.Helper()
	daemon := "bird"
	if f == bgp.IPv6 {
		daemon = "bird6"
	}
	static := fromtext.Parse(r.Files[daemon+"_aggr.cfg"]).Block(t, "template static static_template")
	ipam := fromtext.Parse(r.Files[daemon+"_ipam.cfg"])
	export := ipam.Block(t, "function calico_export_to_bgp_peers(bool internal_peer)")
	kernel := ipam.Block(t, "filter calico_kernel_programming")
	collect := func(b fromtext.Block, form string) []string {
		pattern := regexp.MustCompile("^" + form + "$")
		var out []string
		for _, s := range b.Statements {
			if m := pattern.FindStringSubmatch(s); m != nil && !slices.Contains(pools(r, f), m[1]) {
				out = append(out, m[1])
			}
		}
		return out
	}
	var kept []string
	kept = append(kept, collect(kernel, `if \( net ~ (\S+) \) then { reject; }`)...)
	for _, own := range collect(kernel, `if \( \(net = (\S+)\) && \(source = RTS_STATIC\) \) then { reject; }`) {
		kept = append(kept, "("+own+")")
	}
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"originates", collect(static, `route (\S+) blackhole;`), originated},
		{"exports", collect(export, `if \( net ~ (\S+) \) then { accept; }`), exported},
		{"keeps out of the kernel", kept, rejected},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s %s %s: %q, want %q", r.Node, f, c.what, c.got, c.want)
		}
	}
}

func pools(r *fromtext.Result, f bgp.Family) []string {
	var out []string
	for _, p := range r.Views.Of(f).PoolAccepts {
		out = append(out, p.Prefix.String())
	}
	return out
}

// noServices is the hint that only whole ranges are announced.
var noServices = want{calico.Info, calico.RuleServiceAddress, "BGPConfiguration/default", "", "",
	[]string{"no Service in the input", "only whole ranges"}}

func TestE1ServiceRangeStaysOutOfTheKernel(t *testing.T) {
	in := with(input(t, "E1"), "apiVersion: projectcalico.org/v3\nkind: Node\nmetadata: {name: six}\nspec: {bgp: {ipv6Address: \"2001:db8:0:1::16/64\"}}\n")
	in.Options.RouterID = "hash"
	both := []string{"203.0.113.0/28", "233.252.0.0/24"}
	for _, r := range renderAll(t, in) {
		wantProblems(t, in, r, noServices)
		wantRoutes(t, r, bgp.IPv4, both, both, both) // also on the node without IPv4
		wantRoutes(t, r, bgp.IPv6, nil, nil, nil)
		if got := bird(r).Begin("include"); len(got) != 2 {
			t.Errorf("%s includes %q", r.Node, got)
		}
	}
}

func TestE2EachServiceRangeInItsFamily(t *testing.T) {
	in := input(t, "E2")
	four, six := []string{"233.252.0.0/24"}, []string{"2001:db8:53::/112"}
	r := render(t, in, "alpha")
	wantRoutes(t, r, bgp.IPv4, four, four, four)
	wantRoutes(t, r, bgp.IPv6, six, six, six)

	in.Options.AdvertiseClusterIPs = "203.0.113.0/24, 2001:db8:54::/112"
	four, six = []string{"203.0.113.0/24"}, []string{"2001:db8:54::/112"}
	r = render(t, in, "alpha")
	wantProblems(t, in, r, noServices)
	wantRoutes(t, r, bgp.IPv4, four, four, four)
	wantRoutes(t, r, bgp.IPv6, six, six, six)

	in.Options.AdvertiseClusterIPs = "203.0.113.0/24,banana"
	r = render(t, in, "alpha")
	wantProblems(t, in, r, noServices, want{calico.Error, calico.RuleEnvironment, "", "", "",
		[]string{"CALICO_ADVERTISE_CLUSTER_IPS", "banana", "not a CIDR"}})
	wantRoutes(t, r, bgp.IPv4, four, four, four)
	wantRoutes(t, r, bgp.IPv6, nil, nil, nil)
}

func TestE3ReflectorPassesServiceAddressesOn(t *testing.T) {
	in := replace(t, input(t, "E3"), `{cidr: "2001:db8:e::/64"}]`, `{cidr: "2001:db8:e::/64"}, {cidr: 233.252.0.9/32}]`)
	all := renderAll(t, in)
	four, six := []string{"203.0.113.0/26", "203.0.113.64/26"}, []string{"2001:db8:e::/64"}
	for _, node := range []string{"alpha", "bravo"} {
		wantProblems(t, in, all[node], noServices)
		wantRoutes(t, all[node], bgp.IPv4, four, four, four)
		wantRoutes(t, all[node], bgp.IPv6, six, six, six)
		for _, f := range []fromtext.File{bird(all[node]), bird6(all[node])} {
			if got := f.Sessions(); len(got) != 1 {
				t.Errorf("%s has the sessions %q", node, got)
			}
			// What an ordinary node learned over iBGP goes no further without this.
			wantNone(t, f.Session(t, f.Sessions()[0]), "rr ")
		}
	}
	// The single address is not announced from here, but that of others is passed on.
	rr := all["rr1"]
	wantRoutes(t, rr, bgp.IPv4, four, slices.Concat(four, []string{"203.0.113.0/26", "203.0.113.64/26", "233.252.0.9/32"}), four)
	wantRoutes(t, rr, bgp.IPv6, six, slices.Concat(six, six), six)
	for _, name := range []string{"Node_192_0_2_11", "Node_192_0_2_12"} {
		wantStatements(t, bird(rr).Session(t, name), "rr client;", "rr cluster id 192.0.2.255;")
	}
	wantSessions(t, bird(rr), "Node_192_0_2_11", "Node_192_0_2_12")
	wantSessions(t, bird6(rr), "Node_2001_db8_0_1__11", "Node_2001_db8_0_1__12")
}

const serviceE4 = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: %s, externalTrafficPolicy: %s, clusterIP: 233.252.0.10, clusterIPs: [233.252.0.10], ipFamilies: [IPv4], externalIPs: [203.0.113.7]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [198.51.100.5], nodeName: bravo, conditions: {ready: true}}]
`

func TestE4SingleAddressIsNoAggregate(t *testing.T) {
	in := input(t, "E4")
	block := []string{"203.0.113.16/28"}
	for _, r := range renderAll(t, in) {
		wantProblems(t, in, r, noServices)
		wantRoutes(t, r, bgp.IPv4, block, block, block)
	}
	with7 := []string{"203.0.113.16/28", "203.0.113.7/32"}
	for _, kind := range []string{"ClusterIP", "NodePort", "LoadBalancer"} {
		for policy, nodes := range map[string]string{"Cluster": "alpha bravo charlie", "Local": "bravo"} {
			in := with(in, fmt.Sprintf(serviceE4, kind, policy))
			for node, r := range renderAll(t, in) {
				wantProblems(t, in, r)
				if strings.Contains(nodes, node) {
					wantRoutes(t, r, bgp.IPv4, with7, with7, []string{"203.0.113.16/28", "(203.0.113.7/32)"})
				} else {
					wantRoutes(t, r, bgp.IPv4, block, block, block)
				}
			}
		}
	}
}

func TestE5DualStackServiceLosesNoRoute(t *testing.T) {
	in := input(t, "E5")
	all := renderAll(t, in)
	four, six := []string{"203.0.113.0/26"}, []string{"2001:db8:e::/64"}
	for node, r := range all {
		wantProblems(t, in, r)
		if node == "bravo" {
			wantRoutes(t, r, bgp.IPv4, four, four, four)
			wantRoutes(t, r, bgp.IPv6, six, six, six)
			continue
		}
		own4, own6 := append(four, "203.0.113.5/32"), append(six, "2001:db8:e::5/128")
		wantRoutes(t, r, bgp.IPv4, own4, own4, four)
		wantRoutes(t, r, bgp.IPv6, own6, own6, six)
	}
}

// However often and in whatever order the slices come and go, the final state decides.
func TestE5OnlyTheFinalStateCounts(t *testing.T) {
	in := input(t, "E5")
	d := documents(in.Text)
	rest, slice4, slice6 := d[:len(d)-2], d[len(d)-2], d[len(d)-1]
	states := map[[2]bool]*fromtext.Result{}
	random := rand.New(rand.NewPCG(5, 500)) // the same orders in every run
	for range 500 {
		have := [2]bool{random.IntN(2) == 0, random.IntN(2) == 0}
		text := slices.Clone(rest)
		if have[0] {
			text = append(text, slice4)
		}
		if have[1] {
			text = append(text, slice6)
		}
		random.Shuffle(len(text), func(i, j int) { text[i], text[j] = text[j], text[i] })
		in.Text = join(text)
		r := in.Decode().Render(t, "alpha")
		first, known := states[have]
		if !known {
			r.Check(t)
			states[have] = r
			first = r
		}
		sameFiles(t, fmt.Sprintf("slices %v in another order", have), first, r)
		// The decision is the Service's: one local endpoint announces both families.
		announced := slices.ContainsFunc(r.Views.IPv4.ServiceRoutes, func(r bgp.Route) bool {
			return r.Prefix == netip.MustParsePrefix("203.0.113.5/32")
		})
		if announced != (have[0] || have[1]) {
			t.Fatalf("with the slices %v the address is announced: %t", have, announced)
		}
	}
	if len(states) != 4 {
		t.Errorf("only %d states were seen", len(states))
	}
}

func TestE6RangesWithoutKubernetes(t *testing.T) {
	in := input(t, "E1")
	r := render(t, in, "alpha")
	wantProblems(t, in, r, noServices)
	both := []string{"203.0.113.0/28", "233.252.0.0/24"}
	wantRoutes(t, r, bgp.IPv4, both, both, both)
}

func TestE7BlockAffinities(t *testing.T) {
	in := input(t, "E7")
	r := render(t, in, "alpha")
	wantProblems(t, in, r)
	aggr := fromtext.Parse(r.Files["bird_aggr.cfg"])
	if got := aggr.Block(t, "template static static_template").Statements; !slices.Equal(got, []string{"route 198.51.100.16/28 blackhole;"}) {
		t.Errorf("static routes are %q", got)
	}
	// A block of one address is announced, but gets no blackhole: that would swallow the
	// workload's own address.
	want := []string{
		"if ( net = 198.51.100.16/28 ) then { accept; }",
		"if ( net ~ 198.51.100.16/28 && krt_metric < 1024 ) then { accept; }",
		"if ( net ~ 198.51.100.16/28 ) then { reject; }",
		"if ( net = 198.51.100.48/32 ) then { accept; }",
		"if ( net ~ 198.51.100.48/32 && krt_metric < 1024 ) then { accept; }",
		"if ( net ~ 198.51.100.48/32 ) then { reject; }",
	}
	if got := aggr.Block(t, "function calico_aggr()").Statements; !slices.Equal(got, want) {
		t.Errorf("blocks are announced by %q", got)
	}
	if files := anywhere(r, "198.51.100.32"); len(files) > 0 {
		t.Errorf("the pending block is in %q", files)
	}
	for _, r := range []*fromtext.Result{render(t, in, "bravo")} {
		if files := anywhere(r, "198.51.100.16"); len(files) > 0 {
			t.Errorf("alpha's block is in bravo's %q", files)
		}
	}
}
