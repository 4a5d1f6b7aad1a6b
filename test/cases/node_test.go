package cases

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/test/fromtext"
)

func TestB1NodesOwnASNumber(t *testing.T) {
	in := input(t, "B1")
	all := renderAll(t, in)
	delta, alpha := bird(all["delta"]), bird(all["alpha"])
	wantStatements(t, delta.Block(t, "template bgp bgp_template"), "local as 65540;")
	wantSessions(t, delta, "Mesh_192_0_2_11", "Mesh_192_0_2_12", "Mesh_192_0_2_13")
	for i, name := range delta.Sessions() {
		wantStatements(t, delta.Session(t, name), "neighbor 192.0.2.1"+string('1'+rune(i))+" as 64500;",
			"export filter calico_export_external;")
	}
	wantStatements(t, alpha.Block(t, "template bgp bgp_template"), "local as 64500;")
	wantStatements(t, alpha.Session(t, "Mesh_192_0_2_14"), "neighbor 192.0.2.14 as 65540;", "export filter calico_export_external;")
	wantStatements(t, alpha.Session(t, "Mesh_192_0_2_12"), "neighbor 192.0.2.12 as 64500;", "export filter calico_export_internal;")

	// The number of one node is in the files of all.
	changed := renderAll(t, replace(t, in, "asNumber: 65540", "asNumber: 65541"))
	for node := range all {
		if all[node].Files["bird.cfg"] == changed[node].Files["bird.cfg"] {
			t.Errorf("another AS number of delta changes nothing for %s", node)
		}
	}
}

func TestB2DefaultASNumberNeverLeaks(t *testing.T) {
	in := input(t, "B2")
	reference := render(t, in, "alpha")
	wantStatements(t, bird(reference).Block(t, "template bgp bgp_template"), "local as 65536;")
	permutations(documents(in.Text), func(order []string) {
		in.Text = join(order)
		r := in.Decode().Render(t, "alpha")
		if files := anywhere(r, "64512"); len(files) > 0 {
			t.Fatalf("in some order %q hold the default AS number", files)
		}
		sameFiles(t, "documents in another order", r, reference)
	})

	r := render(t, replace(t, input(t, "B2"), ", asNumber: 65536", ""), "alpha")
	wantStatements(t, bird(r).Block(t, "template bgp bgp_template"), "local as 64512;")
}

// permutations calls f with every order of a list.
func permutations(list []string, f func([]string)) {
	var at func(int)
	at = func(i int) {
		if i == len(list) {
			f(slices.Clone(list))
			return
		}
		for j := i; j < len(list); j++ {
			list[i], list[j] = list[j], list[i]
			at(i + 1)
			list[i], list[j] = list[j], list[i]
		}
	}
	at(0)
}

func TestB3NodeWithoutIPv4(t *testing.T) {
	in := input(t, "B3")
	all := renderAll(t, in)
	alpha := all["alpha"]
	wantProblems(t, in, alpha, want{calico.Error, calico.RuleRouterID, "Node/alpha", "", "apiVersion",
		[]string{"no router id for IPv6", "IPv4 address", "CALICO_ROUTER_ID", "dotted quad", "hash"}})
	if alpha.Views.IPv6 != nil || alpha.Files["bird6.cfg"] != "" {
		t.Error("IPv6 is rendered without a router id")
	}
	wantSessions(t, bird(alpha))
	if got := bird(alpha).Begin("router id"); len(got) > 0 {
		t.Errorf("IPv4 says %q", got)
	}
	if !strings.Contains(alpha.Files["bird.cfg"], "# No BGP: the node has no IPv4 address.") {
		t.Error("the file does not say why it has no BGP")
	}
	wantProblems(t, in, all["bravo"])
	wantSessions(t, bird(all["bravo"])) // alpha has no IPv4 address either
	wantSessions(t, bird6(all["bravo"]))
	if got := bird6(all["bravo"]).Begin("router id"); !slices.Equal(got, []string{"router id 192.0.2.12;"}) {
		t.Errorf("IPv6 of bravo says %q", got)
	}

	in.Options.RouterID = "192.0.2.99"
	r := render(t, in, "alpha")
	wantProblems(t, in, r)
	if got := bird6(r).Begin("router id"); !slices.Equal(got, []string{"router id 192.0.2.99;"}) {
		t.Errorf("with CALICO_ROUTER_ID IPv6 says %q", got)
	}
}

func TestB4RouterIDFromTheNodesName(t *testing.T) {
	in := input(t, "B4")
	ids := map[string]string{}
	for node, r := range renderAll(t, in) {
		wantProblems(t, in, r)
		got := bird6(r).Begin("router id")
		if len(got) != 1 {
			t.Fatalf("%s says %q", node, got)
		}
		ids[node] = strings.TrimSuffix(strings.TrimPrefix(got[0], "router id "), ";")
		if a, err := netip.ParseAddr(ids[node]); err != nil || !a.Is4() || a.IsUnspecified() || a.IsMulticast() {
			t.Errorf("%s has the router id %q", node, ids[node])
		}
	}
	if ids["alpha"] == ids["bravo"] {
		t.Errorf("both nodes have %s", ids["alpha"])
	}

	for _, bad := range []string{"banana", "0.0.0.0", "2001:db8::1", "192.0.2.256", "1;"} {
		in.Options.RouterID = bad
		r := render(t, in, "alpha")
		wantProblems(t, in, r,
			want{calico.Error, calico.RuleRouterID, "Node/alpha", "", "", []string{"CALICO_ROUTER_ID", bad, "dotted quad", "hash"}},
			want{calico.Error, calico.RuleRouterID, "Node/alpha", "", "", []string{"nothing is rendered for IPv6"}})
		if files := anywhere(r, "router id"); len(files) > 0 {
			t.Errorf("%s: %q have a router id", bad, files)
		}
	}

	in = input(t, "A1")
	in.Options.RouterID = "banana"
	r := render(t, in, "alpha")
	wantProblems(t, in, r, want{calico.Error, calico.RuleRouterID, "Node/alpha", "", "", []string{"banana", "the node's IPv4 address is used"}})
	for _, f := range []fromtext.File{bird(r), bird6(r)} {
		if got := f.Begin("router id"); !slices.Equal(got, []string{"router id 192.0.2.11;"}) {
			t.Errorf("the router id is %q", got)
		}
	}
}

func TestB5UnknownNode(t *testing.T) {
	in := input(t, "B5")
	for node, says := range map[string][]string{
		"zulu":  {"no such node", "alpha, bravo, charlie"},
		"alhpa": {"no such node", `did you mean "alpha"?`},
	} {
		r := render(t, in, node)
		wantProblems(t, in, r, want{calico.Error, calico.RuleNodeUnknown, "Node/" + node, "", "", says})
		if r.Views.IPv4 != nil || r.Views.IPv6 != nil || len(r.Files) > 0 {
			t.Errorf("something is rendered for %s", node)
		}
	}
}

func TestB6ListenPorts(t *testing.T) {
	in := input(t, "B6")
	all := renderAll(t, in)
	for node, line := range map[string]string{"alpha": "listen bgp port 1790;", "bravo": "listen bgp port 1791;", "charlie": "listen bgp port 1790;"} {
		wantProblems(t, in, all[node])
		for _, f := range []fromtext.File{bird(all[node]), bird6(all[node])} {
			if got := f.Begin("listen"); !slices.Equal(got, []string{line}) {
				t.Errorf("%s says %q", node, got)
			}
		}
	}
	alpha := bird(all["alpha"])
	wantStatements(t, alpha.Session(t, "Mesh_192_0_2_12"), "neighbor 192.0.2.12 port 1791 as 64500;")
	wantStatements(t, alpha.Session(t, "Mesh_192_0_2_13"), "neighbor 192.0.2.13 port 1790 as 64500;")

	ghost := "apiVersion: projectcalico.org/v3\nkind: BGPConfiguration\nmetadata: {name: node.%s}\nspec: {listenPort: 1792}\n"
	for name, says := range map[string][]string{"nobody": {`no node "nobody"`}, "bravvo": {`did you mean "bravo"?`}} {
		in := with(input(t, "B6"), strings.Replace(ghost, "%s", name, 1))
		r := render(t, in, "alpha")
		wantProblems(t, in, r, want{calico.Warning, calico.RuleUnusedConfig, "BGPConfiguration/node." + name, "metadata.name", "", says})
		sameFiles(t, "with settings of nobody", r, all["alpha"])
	}
}

func TestB7BindToTheNodesAddress(t *testing.T) {
	r := render(t, input(t, "B7"), "alpha")
	if got := bird(r).Begin("listen"); !slices.Equal(got, []string{"listen bgp address 192.0.2.11 port 1790;"}) {
		t.Errorf("IPv4 says %q", got)
	}
	if got := bird6(r).Begin("listen"); !slices.Equal(got, []string{"listen bgp address 2001:db8:0:1::11 port 1790;"}) {
		t.Errorf("IPv6 says %q", got)
	}
	r = render(t, replace(t, input(t, "B7"), ", listenPort: 1790", ""), "alpha")
	if got := bird(r).Begin("listen"); !slices.Equal(got, []string{"listen bgp address 192.0.2.11;"}) {
		t.Errorf("without a port IPv4 says %q", got)
	}
}
