package calico

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// filterDoc is a BGPFilter with one list, whose rules start in the sixth line.
func filterDoc(list, rules string) string {
	return "apiVersion: projectcalico.org/v3\nkind: BGPFilter\nmetadata: {name: lens}\nspec:\n  " + list + ":\n" + rules
}

func TestBGPFilterAllFields(t *testing.T) {
	f := one[*BGPFilter](t, decodeTest(t, filterDoc("importV4", `
  - {action: Accept, cidr: 198.51.100.0/24, matchOperator: In, prefixLength: {min: 26, max: 28}, source: RemotePeers, interface: "*.cali", peerType: eBGP,
     communities: {values: ["64500:100"]}, asPathPrefix: [64500, "1.10"], priority: 512,
     operations: [{addCommunity: {value: "1:2:3"}}, {prependASPath: {prefix: [65001, 65002]}}, {setPriority: {value: 256}}]}
  - {action: Reject}
  exportV4:
  - {action: Reject, cidr: 198.51.100.0/24, matchOperator: NotIn, prefixLength: {min: 8}}
  - {action: Reject, cidr: 198.51.100.0/24, matchOperator: NotIn, prefixLength: {max: 24}}
  - {action: Reject, cidr: 198.51.100.0/24, matchOperator: Equal, prefixLength: {}}
  exportV6: []
  importV6:
  - {action: Accept, cidr: "6000:1::0/64", matchOperator: In, prefixLength: {min: 96}}
`)))
	v4 := netip.MustParsePrefix("198.51.100.0/24")
	want := &BGPFilter{
		Meta: Meta{ID: ID{Kind: "BGPFilter", Name: "lens"}},
		ImportV4: []FilterRule{
			{
				Field: "spec.importV4[0]", Accept: true, Prefix: v4, Match: MatchIn, HasLengths: true, MinLength: 26, MaxLength: 28, RemotePeersOnly: true, Interface: "*.cali", PeerType: PeerEBGP,
				Community: &Community{Parts: [3]uint32{64500, 100}}, ASPathPrefix: []uint32{64500, 65546}, Priority: 512,
				Operations: []FilterOperation{{AddCommunity: &Community{Parts: [3]uint32{1, 2, 3}, Large: true}}, {PrependASPath: []uint32{65001, 65002}}, {SetPriority: 256}},
			},
			{Field: "spec.importV4[1]"},
		},
		ExportV4: []FilterRule{
			{Field: "spec.exportV4[0]", Prefix: v4, Match: MatchNotIn, HasLengths: true, MinLength: 24, MaxLength: 32},
			{Field: "spec.exportV4[1]", Prefix: v4, Match: MatchNotIn, HasLengths: true, MinLength: 24, MaxLength: 24},
			{Field: "spec.exportV4[2]", Prefix: v4, Match: MatchEqual},
		},
		ImportV6: []FilterRule{{Field: "spec.importV6[0]", Accept: true, Prefix: netip.MustParsePrefix("6000:1::/64"), Match: MatchIn, HasLengths: true, MinLength: 96, MaxLength: 128}},
	}
	if diff := cmp.Diff(want, f, ignoreOrigin, netipComparer); diff != "" {
		t.Error(diff)
	}
}

// c#8376, PR#9114: bounds that BIRD refuses, or that match nothing.
func TestPrefixLengthBounds(t *testing.T) {
	const rule = "error: BGPFilter/lens spec.exportV4"
	const reject = "; the rule is left out; prefixes it meant to reject go on to the rules after it [prefix-length]"
	const accept = "; the rule is left out; prefixes it meant to accept go on to the rules after it [prefix-length]"
	f := one[*BGPFilter](t, decodeTest(t, filterDoc("exportV4", `  - {cidr: 198.51.100.0/24, prefixLength: {min: 26, max: 28}, matchOperator: In, action: Accept}
  - {cidr: 198.51.100.0/24, prefixLength: {min: 28, max: 26}, matchOperator: In, action: Reject}
  - {cidr: 203.0.113.0/24, prefixLength: {max: 16}, matchOperator: In, action: Reject}
  - {cidr: 203.0.113.0/24, prefixLength: {min: 26, max: 28}, matchOperator: Equal, action: Accept}
  - {cidr: 203.0.113.0/24, matchOperator: In, action: Accept}
`),
		"in.yaml:7:43: "+rule+"[1].prefixLength: min 28 is above max 26, so it matches nothing"+reject,
		"in.yaml:8:42: "+rule+"[2].prefixLength: max 16 is shorter than the cidr 203.0.113.0/24, so it matches nothing"+reject,
		"in.yaml:9:42: "+rule+"[3].prefixLength: a prefixLength has no meaning with matchOperator Equal"+accept+"\n    hint: use In or NotIn, or remove prefixLength"))
	var fields []string
	for _, r := range f.ExportV4 {
		fields = append(fields, r.Field)
	}
	if diff := cmp.Diff([]string{"spec.exportV4[0]", "spec.exportV4[4]"}, fields); diff != "" {
		t.Error(diff)
	}
}

// A rule with anything wrong in it is left out whole: without one of its conditions it
// would match more than meant.
func TestBGPFilterBadRules(t *testing.T) {
	const rule = "error: BGPFilter/lens spec.importV4[0]"
	const match = "; the rule is left out; prefixes it meant to match go on to the rules after it "
	const reject = "; the rule is left out; prefixes it meant to reject go on to the rules after it "
	const accept = "; the rule is left out; prefixes it meant to accept go on to the rules after it "
	const operation = "an operation is exactly one of addCommunity, prependASPath and setPriority, not "
	for _, tt := range []struct{ name, rule, problem string }{
		{"no mapping", "x", "in.yaml:6:5: " + rule + ": text stands where a mapping belongs" + match + "[wrong-type]"},
		{"no action", "{priority: 1}", "in.yaml:6:5: " + rule + ".action: the field is required" + match + "[missing-field]"},
		{"another action", "{action: reject}", `in.yaml:6:14: ` + rule + `.action: "reject" is not one of Accept, Reject` + match + "[enum]\n    hint: did you mean \"Reject\"?"},
		{"unknown condition", "{action: Reject, nexthop: 192.0.2.1}", "in.yaml:6:22: " + rule + ".nexthop: there is no such field" + reject + "[unknown-field]\n    hint: this version does not know it; a newer Calico may"},
		{"slip of a condition", "{action: Reject, peertype: eBGP}", "in.yaml:6:22: " + rule + ".peertype: there is no such field" + reject + "[unknown-field]\n    hint: did you mean \"peerType\"?"},
		{"IPv6 in an IPv4 list", `{action: Reject, matchOperator: In, cidr: "2001:db8::/32"}`, `in.yaml:6:47: ` + rule + `.cidr: "2001:db8::/32" is IPv6 where IPv4 belongs` + reject + "[family]"},
		{"bare address", "{action: Reject, matchOperator: In, cidr: 192.0.2.1}", `in.yaml:6:47: ` + rule + `.cidr: "192.0.2.1" is an address without a prefix length` + reject + "[prefix]\n    hint: write 192.0.2.1/32 if this one address is meant"},
		{"empty cidr", "{action: Reject, matchOperator: In, cidr: ''}", `in.yaml:6:47: ` + rule + `.cidr: "" is not a CIDR` + reject + "[prefix]"},
		{"cidr without operator", "{action: Reject, cidr: 192.0.2.0/24}", "in.yaml:6:5: " + rule + ".matchOperator: the field is required" + reject + "[missing-field]\n    hint: a cidr needs one of Equal, NotEqual, In, NotIn"},
		{"operator without cidr", "{action: Accept, matchOperator: In}", "in.yaml:6:5: " + rule + ".cidr: the field is required" + accept + "[missing-field]\n    hint: a matchOperator needs one"},
		{"operator", "{action: Accept, cidr: 192.0.2.0/24, matchOperator: Inside}", `in.yaml:6:57: ` + rule + `.matchOperator: "Inside" is not one of Equal, NotEqual, In, NotIn` + accept + "[enum]"},
		{"prefixLength without cidr", "{action: Accept, prefixLength: {min: 8}}", "in.yaml:6:5: " + rule + ".cidr: the field is required" + accept + "[missing-field]\n    hint: a prefixLength needs one"},
		{"prefixLength out of range", "{action: Accept, cidr: 192.0.2.0/24, matchOperator: In, prefixLength: {max: 33}}", "in.yaml:6:81: " + rule + ".prefixLength.max: 33 is outside 0 to 32" + accept + "[range]"},
		{"key that is no text", "{action: Reject, [a]: b}", "in.yaml:6:22: " + rule + ": a key is not text" + match + "[wrong-type]"},
		{"source", "{action: Reject, source: Everyone}", `in.yaml:6:30: ` + rule + `.source: "Everyone" is not one of RemotePeers` + reject + "[enum]"},
		{"interface", `{action: Reject, interface: 'a"; b'}`, `in.yaml:6:33: ` + rule + `.interface: "a\"; b" is not an interface pattern: letters, digits and _ . * -, at most 15 of them` + reject + "[interface]"},
		{"peer type", "{action: Reject, peerType: ebgp}", `in.yaml:6:32: ` + rule + `.peerType: "ebgp" is not one of eBGP, iBGP` + reject + "[enum]\n    hint: did you mean \"eBGP\"?"},
		{"no communities", "{action: Reject, communities: {}}", "in.yaml:6:35: " + rule + ".communities.values: the field is required" + reject + "[missing-field]"},
		{"communities empty", "{action: Reject, communities: {values: []}}", "in.yaml:6:44: " + rule + ".communities.values: there are 0 communities where a rule takes exactly one" + reject + "[community]\n    hint: write one rule for each"},
		{"two communities", "{action: Reject, communities: {values: ['1:1', '1:2']}}", "in.yaml:6:44: " + rule + ".communities.values: there are 2 communities where a rule takes exactly one" + reject + "[community]\n    hint: write one rule for each"},
		{"community without quotes", "{action: Reject, communities: {values: [1.5]}}", "in.yaml:6:45: " + rule + ".communities.values[0]: a number stands where text belongs" + reject + "[wrong-type]\n    hint: put it in quotes: \"1.5\""},
		{"community with leading zeros", "{action: Reject, communities: {values: ['01:1']}}", `in.yaml:6:45: ` + rule + `.communities.values[0]: "01:1" is not a community without needless zeros` + reject + "[community]\n    hint: write 1:1"},
		{"AS path", "{action: Reject, asPathPrefix: [64500, 0]}", "in.yaml:6:44: " + rule + ".asPathPrefix[1]: 0 is outside 1 to 4294967295" + reject + "[range]"},
		{"priority", "{action: Reject, priority: 0}", "in.yaml:6:32: " + rule + ".priority: 0 is outside 1 to 2147483646" + reject + "[range]"},
		{"two operations in one", "{action: Accept, operations: [{setPriority: {value: 1}, addCommunity: {value: '1:1'}}]}", "in.yaml:6:35: " + rule + ".operations[0]: " + operation + "2" + accept + "[conflict]\n    hint: write one list entry for each"},
		{"no operation", "{action: Accept, operations: [{}]}", "in.yaml:6:35: " + rule + ".operations[0]: " + operation + "0" + accept + "[conflict]\n    hint: write one list entry for each"},
		{"null operation", "{action: Accept, operations: [{setPriority: null}]}", "in.yaml:6:35: " + rule + ".operations[0]: " + operation + "0" + accept + "[conflict]\n    hint: write one list entry for each"},
		{"operation without value", "{action: Accept, operations: [{addCommunity: {}}]}", "in.yaml:6:50: " + rule + ".operations[0].addCommunity.value: the field is required" + accept + "[missing-field]"},
		{"nothing to prepend", "{action: Accept, operations: [{prependASPath: {prefix: []}}]}", "in.yaml:6:60: " + rule + ".operations[0].prependASPath.prefix: there is nothing to prepend" + accept + "[missing-field]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := one[*BGPFilter](t, decodeTest(t, filterDoc("importV4", "  - "+tt.rule+"\n  - {action: Reject}\n"), tt.problem))
			if diff := cmp.Diff([]FilterRule{{Field: "spec.importV4[1]"}}, f.ImportV4, netipComparer); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBGPFilterDoubtfulRules(t *testing.T) {
	t.Run("operations on a rule that rejects are dropped", func(t *testing.T) {
		f := one[*BGPFilter](t, decodeTest(t, filterDoc("importV6", "  - {action: Reject, operations: [{setPriority: {value: 1}}]}\n"),
			"in.yaml:6:34: error: BGPFilter/lens spec.importV6[0].operations: only a rule that accepts has operations; they are ignored, the rule still rejects [conflict]"))
		if diff := cmp.Diff([]FilterRule{{Field: "spec.importV6[0]"}}, f.ImportV6, netipComparer); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("host bits", func(t *testing.T) {
		f := one[*BGPFilter](t, decodeTest(t, filterDoc("importV6", "  - {action: Reject, cidr: '2001:db8::1/64', matchOperator: Equal}\n"),
			"in.yaml:6:28: warning: BGPFilter/lens spec.importV6[0].cidr: \"2001:db8::1/64\" has bits set beyond its length; it is taken for 2001:db8::/64 [prefix-host-bits]\n    hint: write 2001:db8::/64"))
		if len(f.ImportV6) != 1 || f.ImportV6[0].Prefix.String() != "2001:db8::/64" {
			t.Errorf("%+v", f.ImportV6)
		}
	})
	t.Run("lists of the wrong type, and unknown ones", func(t *testing.T) {
		one[*BGPFilter](t, decodeTest(t, filterDoc("importV4", "    {action: Reject}\n  exportV5: []\n"),
			"in.yaml:6:5: error: BGPFilter/lens spec.importV4: a mapping stands where a list belongs; the field counts as unset [wrong-type]",
			"in.yaml:7:3: error: BGPFilter/lens spec.exportV5: there is no such field; it is ignored [unknown-field]\n    hint: did you mean \"exportV4\"?"))
	})
}
