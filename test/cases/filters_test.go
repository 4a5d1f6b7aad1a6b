package cases

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/test/fromtext"
)

func TestD1CommunityIsAddedOnce(t *testing.T) {
	in := input(t, "D1")
	r := render(t, in, "alpha")
	wantProblems(t, in, r)
	f := bird(r).Block(t, "function apply_communities()")
	want := []string{"if ( net ~ 198.51.100.0/24 ) then {", "bgp_community.add((64500, 100));", "}"}
	if !slices.Equal(f.Statements, want) {
		t.Errorf("the function is %q, want %q", f.Statements, want)
	}
	if got := bird6(r).Block(t, "function apply_communities()").Statements; len(got) > 0 {
		t.Errorf("for IPv6 it is %q", got)
	}
}

func TestD2UndefinedCommunity(t *testing.T) {
	in := input(t, "D2")
	r := render(t, in, "alpha")
	wantProblems(t, in, r, want{calico.Error, calico.RuleUndefinedCommunity, "BGPConfiguration/default",
		"spec.prefixAdvertisements[0].communities[0]", "stie", []string{`"stie" is not defined`, `did you mean "site"?`}})
	f := bird(r).Block(t, "function apply_communities()")
	if got := f.Begin("bgp_community.add"); !slices.Equal(got, []string{"bgp_community.add((64500, 200));"}) {
		t.Errorf("the function adds %q", got)
	}
}

func TestD3PrefixLengthsThatMatchNothing(t *testing.T) {
	in := input(t, "D3")
	r := render(t, in, "alpha")
	length := func(rule, at, says string) want {
		return want{calico.Error, calico.RulePrefixLength, "BGPFilter/lens", rule + ".prefixLength", at, []string{says, "the rule is left out"}}
	}
	wantProblems(t, in, r,
		length("spec.exportV4[1]", "{min: 28, max: 26}", "min 28 is above max 26"),
		length("spec.exportV4[2]", "{max: 16}", "max 16 is shorter than the cidr"),
		length("spec.exportV4[3]", "{min: 26, max: 28}, matchOperator: Equal", "no meaning with matchOperator Equal"))
	for _, p := range r.Problems { // a filter that has lost a rule must not open in silence
		if !strings.Contains(p.Message, "go on to the rules after it") {
			t.Errorf("this does not say what the peer gets: %s", p)
		}
	}
	f := bird(r).Block(t, "function bgp_lens_exportFilterV4()")
	want := []string{"if ( (net ~ [ 198.51.100.0/24{26,28} ]) ) then { accept; }"}
	if !slices.Equal(f.Statements, want) {
		t.Errorf("the function is %q, want %q", f.Statements, want)
	}
	wantStatements(t, bird(r).Session(t, "Node_192_0_2_1"), "export filter 'calico_export_external:lens';", "import filter calico_import;")
	wantStatements(t, bird(r).Block(t, "filter 'calico_export_external:lens'"), "bgp_lens_exportFilterV4();")
}

// The log recommends that such a session imports and exports nothing. Decided otherwise:
// it is rendered without the filter, as Calico does, but as an Error and not in silence.
func TestD4MissingFilter(t *testing.T) {
	in := input(t, "D4")
	r := render(t, in, "alpha")
	missing := func(field, name string, says ...string) want {
		return want{calico.Error, calico.RuleMissingFilter, "BGPPeer/tor", field, name,
			append([]string{`no BGPFilter "` + name + `"`, "routes it would have rejected are not"}, says...)}
	}
	wantProblems(t, in, r, missing("spec.filters[0]", "no-such"), missing("spec.filters[1]", "lens-v2"))
	wantSessions(t, bird(r), "Mesh_192_0_2_12", "Mesh_192_0_2_13", "Node_192_0_2_1")
	wantStatements(t, bird(r).Session(t, "Node_192_0_2_1"), "import filter calico_import;", "export filter calico_export_external;")
	wantProblems(t, in, render(t, in, "bravo")) // the peer is alpha's

	in = with(in, "apiVersion: projectcalico.org/v3\nkind: BGPFilter\nmetadata: {name: lens-v3}\nspec: {importV4: [{action: Reject}]}\n")
	r = render(t, in, "alpha")
	wantProblems(t, in, r, missing("spec.filters[0]", "no-such"), missing("spec.filters[1]", "lens-v2", `did you mean "lens-v3"?`))
}

// bareNextHop finds uses of bgp_next_hop that nothing guards, in what is left when the
// guarded ones are taken away.
func bareNextHop(text string) string {
	guarded := regexp.MustCompile(`defined\(bgp_next_hop\) && \(bgp_next_hop [=~] [0-9a-f.:/]+\)`)
	rest := guarded.ReplaceAllString(text, "")
	if i := strings.Index(rest, "bgp_next_hop"); i >= 0 {
		return rest[i:min(len(rest), i+60)]
	}
	return ""
}

func kernelFilter(t *testing.T, r *fromtext.Result) fromtext.Block {
	t.Helper()
	return fromtext.Parse(r.Files["bird_ipam.cfg"]).Block(t, "filter calico_kernel_programming")
}

const programEnabled = "apiVersion: projectcalico.org/v3\nkind: BGPConfiguration\nmetadata: {name: default}\nspec: {programClusterRoutes: Enabled}\n"

func TestD5NextHopMayBeUndefined(t *testing.T) {
	in := input(t, "D5")
	r := render(t, in, "alpha")
	wantStatements(t, kernelFilter(t, r), "if ( net ~ 203.0.113.0/24 ) then { reject; }") // Felix programs IPIP

	in = with(in, programEnabled)
	wireguard := "spec: {wireguard: {interfaceIPv4Address: 192.0.2.2%s}, bgp: {ipv4Address: 192.0.2.1%s/24}}"
	for _, n := range []string{"1", "2"} {
		in = replace(t, in, "spec: {bgp: {ipv4Address: 192.0.2.1"+n+"/24}}", strings.ReplaceAll(wireguard, "%s", n))
	}
	for node, r := range renderAll(t, in) {
		wantStatements(t, kernelFilter(t, r),
			`if ( net ~ 203.0.113.0/24 ) then { if ( defined(bgp_next_hop) && (bgp_next_hop ~ 192.0.2.0/24) ) then krt_tunnel = ""; else krt_tunnel = "tunl0"; accept; }`)
		for name, text := range r.Files {
			if bare := bareNextHop(text); bare != "" {
				t.Errorf("%s of %s has an unguarded %q", name, node, bare)
			}
		}
		if got := kernelFilter(t, r).Begin("if ( defined(bgp_next_hop) && (bgp_next_hop ="); (len(got) == 1) != (node != "charlie") {
			t.Errorf("%s rejects for WireGuard: %q", node, got)
		}
	}
}

func TestD6TunnelDependsOnTheRoutesNextHop(t *testing.T) {
	in := with(input(t, "D6"), programEnabled)
	for node, network := range map[string]string{"alpha": "192.0.2.0/24", "echo": "233.252.0.0/24"} {
		r := render(t, in, node)
		// The log's documentation address for echo is a multicast one.
		wantProblems(t, in, r, want{calico.Warning, calico.RuleAddress, "Node/echo", "spec.bgp.ipv4Address", "233.252.0.14/24", []string{"multicast"}})
		wantStatements(t, kernelFilter(t, r), `if ( net ~ 203.0.113.0/24 ) then { if ( defined(bgp_next_hop) && (bgp_next_hop ~ `+network+
			`) ) then krt_tunnel = ""; else krt_tunnel = "tunl0"; accept; }`)
		if files := anywhere(r, "gw "); len(files) > 0 {
			t.Errorf("%q look at the gateway", files)
		}
	}
	wantSessions(t, bird(render(t, in, "alpha")), "Mesh_192_0_2_12", "Mesh_192_0_2_13", "Mesh_233_252_0_14")
}

func TestD7CrossSubnetWithoutASubnet(t *testing.T) {
	in := input(t, "D7")
	for _, in := range []fromtext.Input{in, with(in, programEnabled)} {
		all := renderAll(t, in)
		for node, at := range map[string]string{"alpha": "192.0.2.11}", "bravo": "192.0.2.12/32"} {
			wantProblems(t, in, all[node], want{calico.Warning, calico.RuleTunnelEverything, "Node/" + node, "spec.bgp.ipv4Address", at,
				[]string{"IPPool/tun4", "/32", "all its traffic is encapsulated", "length of its subnet"}})
		}
	}
	r := render(t, with(in, programEnabled), "alpha")
	if got := kernelFilter(t, r).Begin("if ( net ~ 203.0.113.0/24 )"); len(got) != 1 || !strings.Contains(got[0], "bgp_next_hop ~ 192.0.2.11/32") {
		t.Errorf("the pool's routes: %q", got)
	}
}
