package bgp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

func TestFilterFunctionNames(t *testing.T) {
	for name, want := range map[string]string{
		"f":                     "bgp_f_importFilterV4",
		strings.Repeat("a", 45): "bgp_" + strings.Repeat("a", 45) + "_importFilterV4",
		strings.Repeat("a", 46): "bgp_" + strings.Repeat("a", 28) + "_6643110C5628FFF5_importFilterV4",
		"tenant-blue.export-policy.for-the-second-site.v2": "bgp_tenant-blue.export-policy.fo_76734B2FEF83AF63_importFilterV4",
		"46characters.exactly.so.should.truncate-123456":   "bgp_46characters.exactly.so.shou_9615CBDC00BAC628_importFilterV4",
	} {
		r := compute(t, "a", ab+filter(name, "importV4: [{action: Accept}]"))
		if len(r.IPv4.Filters) != 1 || len(r.IPv6.Filters) != 0 {
			t.Fatalf("%s: %d and %d functions", name, len(r.IPv4.Filters), len(r.IPv6.Filters))
		}
		wantEqual(t, "function", r.IPv4.Filters[0].Name, want)
		if len(want) > 64 {
			t.Errorf("%s has more than 64 characters", want)
		}
	}
}

func TestFilterFunctionsExistWhoeverUsesThem(t *testing.T) {
	r := compute(t, "a", ab+filter("b", "exportV4: [{action: Reject}], importV6: [{action: Reject}]")+
		filter("a", "exportV4: [{action: Reject}], importV4: [{action: Reject}]")+filter("empty", ""))
	names := func(v *bgp.View) (out []string) {
		for _, f := range v.Filters {
			out = append(out, f.Name)
		}
		return out
	}
	wantEqual(t, "IPv4", names(r.IPv4), []string{"bgp_a_importFilterV4", "bgp_a_exportFilterV4", "bgp_b_exportFilterV4"})
	wantEqual(t, "IPv6", names(r.IPv6), []string{"bgp_b_importFilterV6"})
}

// describeRule writes a rule on one line: conditions, operations and action in order.
func describeRule(r bgp.FilterRule) string {
	var b strings.Builder
	if r.PeerType != "" {
		fmt.Fprintf(&b, "[%s] ", r.PeerType)
	}
	for _, c := range r.Conditions {
		switch {
		case c.Prefix != nil && c.Prefix.HasLengths:
			fmt.Fprintf(&b, "%s %s{%d,%d} ", c.Prefix.Operator, c.Prefix.Prefix, c.Prefix.Min, c.Prefix.Max)
		case c.Prefix != nil:
			fmt.Fprintf(&b, "%s %s ", c.Prefix.Operator, c.Prefix.Prefix)
		case c.FromPeer:
			b.WriteString("from-peer ")
		case c.Interface != "":
			fmt.Fprintf(&b, "on %s ", c.Interface)
		case c.Community != nil:
			fmt.Fprintf(&b, "community %s ", c.Community)
		case len(c.ASPathPrefix) > 0:
			fmt.Fprintf(&b, "path %v ", c.ASPathPrefix)
		default:
			fmt.Fprintf(&b, "pref %d ", c.LocalPref)
		}
	}
	b.WriteString("->")
	for _, o := range r.Operations {
		switch {
		case o.AddCommunity != nil:
			fmt.Fprintf(&b, " add %s", o.AddCommunity)
		case o.PrependAS != 0:
			fmt.Fprintf(&b, " prepend %d", o.PrependAS)
		default:
			fmt.Fprintf(&b, " pref %d", o.LocalPref)
		}
	}
	if r.Accept {
		return b.String() + " accept"
	}
	return b.String() + " reject"
}

func TestFilterRules(t *testing.T) {
	for _, c := range []struct{ name, family, rule, want string }{
		{"no condition", "V4", "{action: Reject}", "-> reject"},
		{"max length only: from the prefix's own", "V4", "{cidr: 88.7.0.0/16, matchOperator: In, prefixLength: {max: 24}, action: Accept}",
			"In 88.7.0.0/16{16,24} -> accept"},
		{"min length only: to the longest", "V6", "{cidr: '6000:1::/64', matchOperator: In, prefixLength: {min: 96}, action: Accept}",
			"In 6000:1::/64{96,128} -> accept"},
		{"operators", "V4", "{cidr: 192.0.2.0/24, matchOperator: NotEqual, action: Reject}", "NotEqual 192.0.2.0/24 -> reject"},
		{"all conditions in their order", "V4", "{priority: 512, asPathPrefix: [65001, 65002], communities: {values: ['64500:1:2']}, interface: 'eth*', " +
			"source: RemotePeers, cidr: 10.244.0.0/16, matchOperator: In, peerType: iBGP, action: Reject}",
			"[iBGP] In 10.244.0.0/16 from-peer on eth* community 64500:1:2 path [65001 65002] pref 2147483135 -> reject"},
		{"operations in their order, the last AS to prepend first", "V4",
			"{action: Accept, operations: [{setPriority: {value: 256}}, {prependASPath: {prefix: [65001, 65002]}}, {addCommunity: {value: '64500:7'}}]}",
			"-> pref 2147483391 prepend 65002 prepend 65001 add 64500:7 accept"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, "a", ab+filter("f", "import"+c.family+": ["+c.rule+"]"))
			f := r.IPv4.Filters
			if c.family == "V6" {
				f = r.IPv6.Filters
			}
			wantEqual(t, "rule", describeRule(f[0].Rules[0]), c.want)
			wantEqual(t, "parameter", f[0].HasPeerType, strings.Contains(c.rule, "peerType"))
			wantEqual(t, "field", f[0].Rules[0].Field, "spec.import"+c.family+"[0]")
		})
	}
}

func describePolicies(policies []bgp.Policy) []string {
	var out []string
	for _, p := range policies {
		s := p.Name
		for _, c := range p.Calls {
			s += " " + c.Function
			if c.HasPeerType {
				s += fmt.Sprintf("(%t)", p.Internal)
			}
		}
		out = append(out, s)
	}
	return out
}

func TestPolicies(t *testing.T) {
	const in, ex = "peerIP: 192.0.2.2%d, asNumber: 64512, filters: [%s]", "peerIP: 192.0.2.1%d, asNumber: 64501, filters: [%s]"
	filters := filter("both", "importV4: [{action: Accept}], exportV4: [{action: Reject}]") +
		filter("import", "importV4: [{action: Accept}]") + filter("six", "importV6: [{action: Accept}]") +
		filter("typed", "importV4: [{peerType: eBGP, action: Accept}], exportV4: [{peerType: iBGP, action: Accept}]")
	for _, c := range []struct {
		name, text       string
		imports, exports []string
	}{
		{"no peer, no policy", "", nil, nil},
		{"peers that treat routes alike share them", peer("p", fmt.Sprintf(ex, 1, "both")) + peer("q", fmt.Sprintf(ex, 2, "both")) + peer("r", fmt.Sprintf(ex, 3, "")),
			[]string{"calico_import", "calico_import:both bgp_both_importFilterV4"},
			[]string{"calico_export_external", "calico_export_external:both bgp_both_exportFilterV4"}},
		{"export depends on whether the peer is internal", peer("p", fmt.Sprintf(ex, 1, "")) + peer("q", fmt.Sprintf(in, 2, "")),
			[]string{"calico_import"}, []string{"calico_export_external", "calico_export_internal"}},
		{"import does only with peerType", peer("p", fmt.Sprintf(ex, 1, "typed")) + peer("q", fmt.Sprintf(in, 2, "typed")),
			[]string{"calico_import_external:typed bgp_typed_importFilterV4(false)", "calico_import_internal:typed bgp_typed_importFilterV4(true)"},
			[]string{"calico_export_external:typed bgp_typed_exportFilterV4(false)", "calico_export_internal:typed bgp_typed_exportFilterV4(true)"}},
		{"a direction or family without rules is not called", peer("p", fmt.Sprintf(ex, 1, "import, six")),
			[]string{"calico_import:import bgp_import_importFilterV4"}, []string{"calico_export_external"}},
		{"order counts", peer("p", fmt.Sprintf(ex, 1, "both, import")) + peer("q", fmt.Sprintf(ex, 2, "import, both")),
			[]string{"calico_import:both:import bgp_both_importFilterV4 bgp_import_importFilterV4", "calico_import:import:both bgp_import_importFilterV4 bgp_both_importFilterV4"},
			[]string{"calico_export_external:both bgp_both_exportFilterV4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, "a", meshless+filters+c.text)
			wantProblems(t, r)
			wantEqual(t, "imports", describePolicies(r.IPv4.ImportPolicies), c.imports)
			wantEqual(t, "exports", describePolicies(r.IPv4.ExportPolicies), c.exports)
			for _, p := range r.IPv4.Peers {
				if !slices.ContainsFunc(r.IPv4.ImportPolicies, func(o bgp.Policy) bool { return o.Name == p.Import }) ||
					!slices.ContainsFunc(r.IPv4.ExportPolicies, func(o bgp.Policy) bool { return o.Name == p.Export }) {
					t.Errorf("%s has policies that are not there: %s, %s", p.Name, p.Import, p.Export)
				}
			}
		})
	}
}

func TestLongPolicyNames(t *testing.T) {
	long := strings.Repeat("x", 60)
	text := meshless
	for _, f := range []string{"a", "b"} {
		text += filter(long+f, "importV4: [{action: Accept}], exportV4: [{action: Accept}]") +
			peer("p"+f, fmt.Sprintf("node: a, peerIP: 192.0.2.%d, asNumber: 64501, filters: [%s]", f[0], long+f))
	}
	r := compute(t, "a", text)
	seen := map[string]bool{}
	for _, p := range slices.Concat(r.IPv4.ImportPolicies, r.IPv4.ExportPolicies) {
		if len(p.Name) > 64 || seen[p.Name] {
			t.Errorf("the name %s is too long, or there twice", p.Name)
		}
		seen[p.Name] = true
	}
	wantEqual(t, "policies", len(seen), 4)
}

func TestMissingFilter(t *testing.T) {
	// Reported once, however many sessions in however many families the resource makes.
	text := ab + node4("c", "192.0.2.3/24") + config(meshOff) + filter("lens", "importV4: [{action: Accept}]") +
		peer("p", "peerSelector: all(), filters: [lenz, lens, none]")
	r := compute(t, "a", text)
	wantProblems(t, r,
		`error missing-filter BGPPeer/p spec.filters[0]: did you mean "lens"?`,
		`error missing-filter BGPPeer/p spec.filters[2]: no BGPFilter "none"; the peer is rendered without it, so routes it would have rejected are not`)
	wantEqual(t, "imports", describePolicies(r.IPv4.ImportPolicies), []string{"calico_import:lens bgp_lens_importFilterV4"})
	wantEqual(t, "imports", describePolicies(r.IPv6.ImportPolicies), []string{"calico_import"})
}
