package bgp_test

import (
	"fmt"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

func affinity(name, node, cidr, state string) string {
	return object("BlockAffinity", name, "", fmt.Sprintf("node: %s, cidr: %q, state: %q", node, cidr, state))
}

func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name, text             string
		blackholes, aggregates []string
		static                 bool
	}{
		{"confirmed", affinity("x", "a", "198.51.100.0/28", "confirmed"), []string{"198.51.100.0/28"}, []string{"198.51.100.0/28"}, true},
		{"without a state, from old releases", affinity("x", "a", "198.51.100.0/28", ""), []string{"198.51.100.0/28"}, []string{"198.51.100.0/28"}, true},
		{"about to be deleted: kept, but not announced whole", affinity("x", "a", "198.51.100.0/28", "pendingDeletion"), []string{"198.51.100.0/28"}, nil, true},
		{"pending", affinity("x", "a", "198.51.100.0/28", "pending"), nil, nil, false},
		{"another node's", affinity("x", "b", "198.51.100.0/28", "confirmed"), nil, nil, false},
		{"of another family", affinity("x", "a", "2001:db8:100::/122", "confirmed"), nil, nil, false},
		// A blackhole would swallow the workload's own address.
		{"single address: announced, no blackhole, static protocol all the same", affinity("x", "a", "198.51.100.7/32", "confirmed"), nil, []string{"198.51.100.7/32"}, true},
		{"in the order of their text, each once",
			affinity("x", "a", "198.51.100.64/28", "confirmed") + affinity("y", "a", "198.51.100.192/28", "confirmed") + affinity("z", "a", "198.51.100.64/28", "confirmed"),
			[]string{"198.51.100.192/28", "198.51.100.64/28"}, []string{"198.51.100.192/28", "198.51.100.64/28"}, true},
		{"none", "", nil, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, "a", ab+c.text)
			wantProblems(t, r)
			wantEqual(t, "blackholes", prefixes(r.IPv4.Blackholes), c.blackholes)
			wantEqual(t, "aggregates", prefixes(r.IPv4.Aggregates), c.aggregates)
			wantEqual(t, "static", r.IPv4.HasStatic, c.static)
			for _, b := range r.IPv4.Blackholes {
				if b.Why == "" {
					t.Errorf("%s does not say where it comes from", b.Prefix)
				}
			}
		})
	}
	six := compute(t, "a", ab+affinity("x", "a", "2001:db8:100::40/122", "confirmed")+affinity("y", "a", "2001:db8:100::7/128", "confirmed")).IPv6
	wantEqual(t, "IPv6 blackholes", prefixes(six.Blackholes), []string{"2001:db8:100::40/122"})
	wantEqual(t, "IPv6 aggregates", prefixes(six.Aggregates), []string{"2001:db8:100::40/122", "2001:db8:100::7/128"})
}

func TestPodCIDRsTakeThePlaceOfBlocks(t *testing.T) {
	text := `---
apiVersion: v1
kind: Node
metadata: {name: a, annotations: {projectcalico.org/IPv4Address: 192.0.2.1/24}}
spec: {podCIDRs: [198.51.100.0/26, "2001:db8:100::/122"]}
` + affinity("x", "a", "203.0.113.0/28", "confirmed")
	r := computeWith(t, "a", bgp.Options{UsePodCIDR: true}, text)
	wantEqual(t, "IPv4", prefixes(r.IPv4.Blackholes), []string{"198.51.100.0/26"})
	wantEqual(t, "IPv6", prefixes(r.IPv6.Aggregates), []string{"2001:db8:100::/122"})
	r = compute(t, "a", text)
	wantEqual(t, "IPv4 without the option", prefixes(r.IPv4.Blackholes), []string{"203.0.113.0/28"})
}

func TestGateways(t *testing.T) {
	const far = "peerIP: 203.0.113.1, asNumber: 64501, reachableBy: 192.0.2.254"
	for _, c := range []struct {
		name, text string
		want       []string
		problems   []string
	}{
		{"host route to the peer", peer("p", far), []string{"203.0.113.1 via 192.0.2.254 BGPPeer/p"}, nil},
		{"the port makes no difference", peer("p", `peerIP: "203.0.113.1:1790", asNumber: 64501, reachableBy: 192.0.2.254`), []string{"203.0.113.1 via 192.0.2.254 BGPPeer/p"}, nil},
		{"another node's peer", peer("p", "node: b, "+far), nil, nil},
		{"peer that is held back", peer("p", far+", password: "+keyRef), nil, []string{"error password BGPPeer/p spec.password.secretKeyRef"}},
		{"resource that lost the session", peer("p", far) + peer("q", "peerIP: 203.0.113.1, asNumber: 64501, reachableBy: 192.0.2.253"),
			[]string{"203.0.113.1 via 192.0.2.254 BGPPeer/p"}, []string{"warning duplicate-peer BGPPeer/q"}},
		{"two ports, one gateway", peer("p", far) + peer("q", `peerIP: "203.0.113.1:1790", asNumber: 64501, reachableBy: 192.0.2.254`),
			[]string{"203.0.113.1 via 192.0.2.254 BGPPeer/p"}, nil},
		{"two ports, two gateways", peer("p", far) + peer("q", `peerIP: "203.0.113.1:1790", asNumber: 64501, reachableBy: 192.0.2.253`),
			[]string{"203.0.113.1 via 192.0.2.254 BGPPeer/p"}, []string{"warning conflict BGPPeer/q spec.reachableBy: BGPPeer/p already reaches 203.0.113.1 by 192.0.2.254"}},
		{"in the order of their text", peer("p", "peerIP: 203.0.113.2, asNumber: 64501, reachableBy: 192.0.2.254") + peer("q", "peerIP: 203.0.113.10, asNumber: 64501, reachableBy: 192.0.2.254"),
			[]string{"203.0.113.10 via 192.0.2.254 BGPPeer/q", "203.0.113.2 via 192.0.2.254 BGPPeer/p"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, "a", meshless+c.text)
			wantProblems(t, r, c.problems...)
			var got []string
			for _, g := range r.IPv4.Gateways {
				got = append(got, fmt.Sprintf("%s via %s %s", g.Address, g.Via, g.Why))
			}
			wantEqual(t, "gateways", got, c.want)
			wantEqual(t, "static", r.IPv4.HasStatic, len(got) > 0)
			wantEqual(t, "IPv6 static", r.IPv6.HasStatic, false)
		})
	}
}

func TestCommunities(t *testing.T) {
	const std = "communities: [{name: bgp-std, value: '100:6532'}, {name: bgp-large, value: '100:555:107'}], "
	for _, c := range []struct {
		name, text string
		v4, v6     []string
	}{
		{"large ones first, as their text sorts", config(std + "prefixAdvertisements: [{cidr: 198.51.100.0/24, communities: ['5663:12', bgp-std, bgp-large, '100:6532']}]"),
			[]string{"198.51.100.0/24 100:555:107 100:6532 5663:12 BGPConfiguration/default prefixAdvertisements[0]"}, nil},
		{"in the order of the resource, by family", config("prefixAdvertisements: [{cidr: 203.0.113.0/24, communities: ['1:1']}, {cidr: '2001:db8::/32', communities: ['1:3']}, {cidr: 198.51.100.0/24, communities: ['1:2']}]"),
			[]string{"203.0.113.0/24 1:1 BGPConfiguration/default prefixAdvertisements[0]", "198.51.100.0/24 1:2 BGPConfiguration/default prefixAdvertisements[2]"},
			[]string{"2001:db8::/32 1:3 BGPConfiguration/default prefixAdvertisements[1]"}},
		// In Calico a node's list silences the other family's global one (F-24).
		{"a node's list replaces the cluster's in its own families only",
			config("prefixAdvertisements: [{cidr: 203.0.113.0/24, communities: ['1:1']}, {cidr: '2001:db8::/32', communities: ['1:3']}]") +
				configOf("a", "prefixAdvertisements: [{cidr: 198.51.100.0/24, communities: ['2:2']}]"),
			[]string{"198.51.100.0/24 2:2 BGPConfiguration/node.a prefixAdvertisements[0]"},
			[]string{"2001:db8::/32 1:3 BGPConfiguration/default prefixAdvertisements[1]"}},
		{"an entry without communities silences the cluster's", config("prefixAdvertisements: [{cidr: 203.0.113.0/24, communities: ['1:1']}]") +
			configOf("a", "prefixAdvertisements: [{cidr: 198.51.100.0/24, communities: []}]"), nil, nil},
		{"another node's list", configOf("b", "prefixAdvertisements: [{cidr: 198.51.100.0/24, communities: ['2:2']}]"), nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, "a", ab+c.text)
			wantProblems(t, r)
			for f, want := range map[bgp.Family][]string{bgp.IPv4: c.v4, bgp.IPv6: c.v6} {
				var got []string
				for _, rule := range r.Of(f).Communities {
					s := rule.Prefix.String()
					for _, community := range rule.Communities {
						s += " " + community.String()
					}
					got = append(got, s+" "+rule.Why)
				}
				wantEqual(t, f.String(), got, want)
			}
		})
	}
}
