package calico

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// peerDoc is a BGPPeer with its spec in one line, the fifth.
func peerDoc(spec string) string {
	return "apiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata: {name: tor}\nspec:\n  {" + spec + "}\n"
}

func TestBGPPeerAllFields(t *testing.T) {
	meta := Meta{ID: ID{Kind: "BGPPeer", Name: "tor"}}
	got := one[*BGPPeer](t, decodeTest(t, peerDoc(`node: alpha, peerIP: "192.0.2.1:1790", asNumber: "1.10", localASNumber: "65001", nextHopMode: Keep,
  password: {secretKeyRef: {name: bgp, key: tor}}, sourceAddress: None, maxRestartTime: 4095s, keepaliveTime: 10s, numAllowedLocalASNumbers: 2,
  ttlSecurity: 255, reachableBy: 192.0.2.254, filters: [b, a], reversePeering: Manual, keepOriginalNextHop: false, nodeSelector: "", peerSelector: ""`)))
	want := &BGPPeer{
		Meta: meta, Node: "alpha", PeerIP: netip.MustParseAddr("192.0.2.1"), PeerPort: 1790, ASNumber: 65546, LocalASNumber: 65001, NextHopMode: NextHopKeep,
		Password: &SecretKeyRef{"bgp", "tor"}, NoSourceAddress: true, MaxRestartTime: at(4095 * time.Second), KeepaliveTime: at(10 * time.Second), NumAllowedLocalASNumbers: 2,
		TTLSecurity: 255, ReachableBy: netip.MustParseAddr("192.0.2.254"), Filters: []string{"b", "a"}, ReversePeeringManual: true,
	}
	if diff := cmp.Diff(want, got, ignoreOrigin, netipComparer); diff != "" {
		t.Error(diff)
	}
	got = one[*BGPPeer](t, decodeTest(t, peerDoc(`nodeSelector: "rack == 'r1'", peerSelector: all(), keepOriginalNextHop: true, asNumber: 0, localASNumber: 0, sourceAddress: UseNodeIP, reversePeering: Auto`)))
	if got.NodeSelector.String() != "rack == 'r1'" || got.PeerSelector.String() != "all()" || !got.KeepOriginalNextHop || got.NoSourceAddress || got.ReversePeeringManual {
		t.Errorf("%+v", got)
	}
	got = one[*BGPPeer](t, decodeTest(t, peerDoc(`node: "", localWorkloadSelector: "color == 'red'", asNumber: 65000`)))
	if got.LocalWorkloadSelector == nil || got.Node != "" {
		t.Errorf("%+v", got)
	}
}

func TestPeerIP(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1 0", "192.0.2.1:179": "192.0.2.1 179", "192.0.2.1:65535": "192.0.2.1 65535", "169.254.0.1": "169.254.0.1 0", "127.0.0.1": "127.0.0.1 0",
		"2001:DB8::1": "2001:db8::1 0", "[2001:db8::1]": "2001:db8::1 0", "[2001:db8::1]:1790": "2001:db8::1 1790", "::ffff:192.0.2.1": "192.0.2.1 0", "[::ffff:192.0.2.1]:179": "192.0.2.1 179",
		"2001:db8::1:179": "2001:db8::1:179 0",
	} {
		a, port, f := parsePeerIP(text)
		if f != nil || want != fmt.Sprintf("%s %d", a, port) {
			t.Errorf("%s is read as %s %d %v", text, a, port, f)
		}
	}
	const port = "has a port that is not a decimal number from 1 to 65535"
	const addr = "is not an IP address"
	const form = "is not an address with a port"
	for text, want := range map[string]string{
		"tor": addr, "192.0.2": addr, "192.0.2.01": addr, "192.0.2.1/32": addr, "[192.0.2.1]:179": form, "[2001:db8::1": form, "[2001:db8::1]179": form, "a:179": addr,
		"192.0.2.12:0x6ff": port, "192.0.2.12:0": port, "192.0.2.12:65536": port, "192.0.2.12:0179": port, "192.0.2.12:": port, "192.0.2.12:+1": port, "[2001:db8::1]:": port,
		"0.0.0.0": "is the unspecified address", "::": "is the unspecified address", "255.255.255.255": "is the broadcast address",
		"fe80::1%eth0": "has a zone, which BIRD's configuration cannot express", "fe80::1": "is link-local, which BIRD refuses with multihop", "[fe80::1]:179": "is link-local, which BIRD refuses with multihop",
	} {
		_, _, f := parsePeerIP(text)
		if f == nil || f.rule != RuleAddress || f.what != want {
			t.Errorf("%s: %+v", text, f)
		}
	}
}

// A field that decides who the peer is, or how it is secured, takes the peer with it.
func TestBGPPeerLeftOut(t *testing.T) {
	const peer = "error: BGPPeer/tor spec."
	const out = "; the peer is left out "
	for _, tt := range []struct{ name, spec, problem string }{
		{"link-local (c#10844)", `node: alpha, peerIP: "fe80::1%eth0", asNumber: 64501`, `in.yaml:5:25: ` + peer + `peerIP: "fe80::1%eth0" has a zone, which BIRD's configuration cannot express` + out + "[address]\n    hint: use an address that is not link-local"},
		{"link-local without zone", `peerIP: "fe80::1"`, `in.yaml:5:12: ` + peer + `peerIP: "fe80::1" is link-local, which BIRD refuses with multihop` + out + "[address]\n    hint: use a global or unique local address"},
		{"port in hexadecimal", `peerIP: "192.0.2.12:0x6ff"`, `in.yaml:5:12: ` + peer + `peerIP: "192.0.2.12:0x6ff" has a port that is not a decimal number from 1 to 65535` + out + "[address]"},
		{"peerIP of the wrong type", "peerIP: 5", `in.yaml:5:12: ` + peer + "peerIP: a number stands where text belongs" + out + "[wrong-type]\n    hint: put it in quotes: \"5\""},
		{"node", "node: Alpha, peerIP: 192.0.2.1", `in.yaml:5:10: ` + peer + `node: "Alpha" is not a name: small letters, digits, - and ., at most 253 of them` + out + "[name]"},
		{"nodeSelector", "nodeSelector: rack = 'r1', peerIP: 192.0.2.1", `in.yaml:5:18: ` + peer + `nodeSelector: not a selector: "=" is not an operator, write "==" at character 6, near "= 'r1'"` + out + "[selector]"},
		{"peerSelector", "peerSelector: has(", `in.yaml:5:18: ` + peer + `peerSelector: not a selector: expected a label name at the end` + out + "[selector]"},
		{"localWorkloadSelector", "localWorkloadSelector: '&&', asNumber: 1", `in.yaml:5:27: ` + peer + `localWorkloadSelector: not a selector: expected a label name at character 1, near "&&"` + out + "[selector]"},
		{"asNumber", "peerIP: 192.0.2.1, asNumber: -1", `in.yaml:5:33: ` + peer + "asNumber: -1 is outside 1 to 4294967295" + out + "[range]"},
		{"localASNumber", "peerIP: 192.0.2.1, localASNumber: '70000.1'", `in.yaml:5:38: ` + peer + `localASNumber: "70000.1" is not an AS number` + out + "[wrong-type]\n    hint: write 1 to 4294967295, or in quotes two numbers up to 65535 with a dot, as in \"1.10\""},
		{"password", "peerIP: 192.0.2.1, password: {secretKeyRef: {name: a}}", `in.yaml:5:48: ` + peer + "password.secretKeyRef.key: the field is required" + out + "[missing-field]"},
		{"ttlSecurity", "peerIP: 192.0.2.1, ttlSecurity: 300", `in.yaml:5:36: ` + peer + "ttlSecurity: 300 is outside 0 to 255" + out + "[range]"},
		{"reachableBy", "peerIP: 192.0.2.1, reachableBy: gw", `in.yaml:5:36: ` + peer + `reachableBy: "gw" is not an IP address` + out + "[address]"},
		{"reachableBy link-local", `peerIP: "2001:db8::1", reachableBy: "fe80::1"`, `in.yaml:5:40: ` + peer + `reachableBy: "fe80::1" is link-local, which BIRD refuses with multihop` + out + "[address]\n    hint: use a global or unique local address"},
		{"reachableBy of the other family", `peerIP: 192.0.2.1, reachableBy: "2001:db8::1"`, `in.yaml:5:36: ` + peer + "reachableBy: reachableBy and peerIP are not of one family" + out + "[family]"},
		{"reachableBy without peerIP", "peerSelector: all(), reachableBy: 192.0.2.1", `in.yaml:5:38: ` + peer + "reachableBy: reachableBy needs a peerIP" + out + "[missing-field]"},
		{"node and nodeSelector", "node: a, nodeSelector: all(), peerIP: 192.0.2.1", `in.yaml:5:27: ` + peer + "nodeSelector: node and nodeSelector exclude each other" + out + "[conflict]"},
		{"peerIP and peerSelector", "peerIP: 192.0.2.1, peerSelector: all()", `in.yaml:5:37: ` + peer + "peerSelector: peerIP and peerSelector exclude each other" + out + "[conflict]"},
		{"localWorkloadSelector and peerIP", "peerIP: 192.0.2.1, localWorkloadSelector: all(), asNumber: 1", `in.yaml:5:46: ` + peer + "localWorkloadSelector: peerIP and localWorkloadSelector exclude each other" + out + "[conflict]"},
		{"localWorkloadSelector and peerSelector", "peerSelector: all(), localWorkloadSelector: all(), asNumber: 1", `in.yaml:5:48: ` + peer + "localWorkloadSelector: peerSelector and localWorkloadSelector exclude each other" + out + "[conflict]"},
		{"localWorkloadSelector without asNumber", "localWorkloadSelector: all()", `in.yaml:5:3: ` + peer + "asNumber: localWorkloadSelector needs an asNumber" + out + "[missing-field]"},
		{"nobody to peer with", "asNumber: 64501", "in.yaml:5:3: error: BGPPeer/tor spec: one of peerIP, peerSelector and localWorkloadSelector is required" + out + "[missing-field]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			good := "---\n" + strings.Replace(peerDoc("peerIP: 192.0.2.9"), "tor", "good", 1)
			if got := ids(decodeTest(t, peerDoc(tt.spec)+good, tt.problem)); got != "BGPPeer/good" {
				t.Errorf("objects %s", got)
			}
		})
	}
}

// A bad field that the peer can do without is unset, and the peer stays.
func TestBGPPeerStays(t *testing.T) {
	const peer = "error: BGPPeer/tor spec."
	const unset = "; the field counts as unset "
	for _, tt := range []struct{ name, spec, problem string }{
		{"restart time beyond 12 bits (confd PR#543)", "maxRestartTime: 7200s", `in.yaml:5:20: ` + peer + `maxRestartTime: "7200s" is outside 0s to 4095s (RFC 4724)` + unset + "[range]"},
		{"restart time below a second", "maxRestartTime: 400ms", `in.yaml:5:20: ` + peer + `maxRestartTime: "400ms" is not a number of whole seconds, from 0s to 4095s (RFC 4724)` + unset + "[duration]\n    hint: write for example 90s"},
		{"restart time negative", "maxRestartTime: -1s", `in.yaml:5:20: ` + peer + `maxRestartTime: "-1s" is outside 0s to 4095s (RFC 4724)` + unset + "[range]"},
		{"keepalive time below a second (c#10891)", "keepaliveTime: 400ms", `in.yaml:5:19: ` + peer + `keepaliveTime: "400ms" is not a number of whole seconds, from 1s to 65535s` + unset + "[duration]\n    hint: write for example 90s"},
		{"keepalive time 0", "keepaliveTime: 0s", `in.yaml:5:19: ` + peer + `keepaliveTime: "0s" is outside 1s to 65535s` + unset + "[range]"},
		{"keepalive time without sense", "keepaliveTime: abc", `in.yaml:5:19: ` + peer + `keepaliveTime: "abc" is not a duration in whole seconds from 1s to 65535s` + unset + "[duration]\n    hint: write for example 90s"},
		{"own AS negative", "numAllowedLocalASNumbers: -1", `in.yaml:5:30: ` + peer + "numAllowedLocalASNumbers: -1 is outside 0 to 2147483647" + unset + "[range]"},
		{"next hop mode", "nextHopMode: self", `in.yaml:5:17: ` + peer + `nextHopMode: "self" is not one of Auto, Self, Keep` + unset + "[enum]\n    hint: did you mean \"Self\"?"},
		{"source address", "sourceAddress: 192.0.2.7", `in.yaml:5:19: ` + peer + `sourceAddress: "192.0.2.7" is not one of UseNodeIP, None` + unset + "[enum]"},
		{"reverse peering", "reversePeering: off", `in.yaml:5:20: warning: BGPPeer/tor spec.reversePeering: "off" without quotes is a boolean to kubectl; it is taken for text here [wrong-type]` + "\n    hint: put it in quotes"},
		{"keep next hop", "keepOriginalNextHop: 1", `in.yaml:5:25: ` + peer + "keepOriginalNextHop: a number stands where true or false belongs" + unset + "[wrong-type]"},
		{"filter", "filters: [Lens]", `in.yaml:5:14: ` + peer + `filters[0]: "Lens" is not a name: small letters, digits, - and ., at most 253 of them; the peer does without this filter, so routes it would have rejected are not [name]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			problems := []string{tt.problem}
			if tt.name == "reverse peering" {
				problems = append(problems, `in.yaml:5:20: `+peer+`reversePeering: "off" is not one of Auto, Manual`+unset+"[enum]")
				problems[0], problems[1] = problems[1], problems[0]
			}
			got := one[*BGPPeer](t, decodeTest(t, peerDoc(tt.spec+", peerIP: 192.0.2.1"), problems...))
			want := &BGPPeer{Meta: Meta{ID: ID{Kind: "BGPPeer", Name: "tor"}}, PeerIP: netip.MustParseAddr("192.0.2.1")}
			if tt.name == "filter" {
				want.Filters = []string{""} // the others keep their places
			}
			if diff := cmp.Diff(want, got, ignoreOrigin, netipComparer); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBGPPeerDoubtful(t *testing.T) {
	t.Run("asNumber with peerSelector is ignored", func(t *testing.T) {
		p := one[*BGPPeer](t, decodeTest(t, peerDoc("peerSelector: all(), asNumber: 64501"),
			"in.yaml:5:35: error: BGPPeer/tor spec.asNumber: the AS numbers of the nodes that peerSelector selects count; 64501 is ignored [conflict]\n    hint: remove asNumber"))
		if p.ASNumber != 0 {
			t.Errorf("asNumber %d", p.ASNumber)
		}
	})
	t.Run("nextHopMode wins over keepOriginalNextHop (c#4164)", func(t *testing.T) {
		p := one[*BGPPeer](t, decodeTest(t, peerDoc("peerIP: 192.0.2.1, keepOriginalNextHop: true, nextHopMode: Self"),
			"in.yaml:5:44: warning: BGPPeer/tor spec.keepOriginalNextHop: nextHopMode Self counts; this older field is ignored [conflict]\n    hint: remove keepOriginalNextHop"))
		if p.KeepOriginalNextHop || p.NextHopMode != NextHopSelf {
			t.Errorf("%+v", p)
		}
	})
	t.Run("multicast, which BIRD takes", func(t *testing.T) {
		one[*BGPPeer](t, decodeTest(t, peerDoc(`peerIP: "ffee::10"`),
			"in.yaml:5:12: warning: BGPPeer/tor spec.peerIP: \"ffee::10\" is a multicast address; it is used all the same [address]\n    hint: is one of the first digits wrong?"))
	})
	t.Run("selector longer than an API server takes", func(t *testing.T) {
		long := "has(" + strings.Repeat("a", 500) + ")"
		one[*BGPPeer](t, decodeTest(t, peerDoc("peerIP: 192.0.2.1, nodeSelector: '"+long+" || "+long+" || "+long+"'"),
			"in.yaml:5:37: warning: BGPPeer/tor spec.nodeSelector: 1523 bytes where an API server takes at most 1024; all are used [range]"))
	})
}
