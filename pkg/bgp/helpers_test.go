package bgp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// object writes a resource; labels and spec are YAML in flow style.
func object(kind, name, labels, spec string) string {
	return fmt.Sprintf("---\napiVersion: projectcalico.org/v3\nkind: %s\nmetadata: {name: %s, labels: {%s}}\nspec: {%s}\n", kind, name, labels, spec)
}

func node(name, labels, bgp string) string {
	return object("Node", name, labels, "bgp: {"+bgp+"}")
}

// node4 is a node with an IPv4 address, and no more.
func node4(name, address string) string { return node(name, "", "ipv4Address: "+address) }

func peer(name, spec string) string     { return object("BGPPeer", name, "", spec) }
func pool(name, spec string) string     { return object("IPPool", name, "", spec) }
func filter(name, spec string) string   { return object("BGPFilter", name, "", spec) }
func config(spec string) string         { return object("BGPConfiguration", "default", "", spec) }
func configOf(node, spec string) string { return object("BGPConfiguration", "node."+node, "", spec) }

// secret writes a Secret of the default namespace for passwords. The value is written as
// a quoted text, so that any can be given.
func secret(name, key, value string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: kube-system}\nstringData: {%s: %q}\n", name, key, value)
}

func decode(t testing.TB, text string, workloads ...calico.WorkloadEndpoint) *calico.Cluster {
	t.Helper()
	objects, problems := calico.Decode("input.yaml", []byte(text))
	if len(problems) > 0 {
		t.Fatalf("the input of a test of package bgp must be good: %v", problems[0])
	}
	c, problems := calico.NewCluster(objects, workloads)
	if len(problems) > 0 {
		t.Fatalf("the input of a test of package bgp must be good: %v", problems[0])
	}
	return c
}

// result is what Compute returns.
type result struct {
	bgp.Views
	problems []calico.Problem
}

func compute(t testing.TB, node, text string, workloads ...calico.WorkloadEndpoint) result {
	t.Helper()
	return computeWith(t, node, bgp.Options{}, text, workloads...)
}

func computeWith(t testing.TB, node string, o bgp.Options, text string, workloads ...calico.WorkloadEndpoint) result {
	t.Helper()
	v, problems := bgp.Compute(decode(t, text, workloads...), node, o)
	return result{v, problems}
}

// describe writes a peer on one line: its name and every fact that is not the default.
func describe(p bgp.Peer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s as %d", p.Name, p.ASNumber)
	fact := func(there bool, format string, args ...any) {
		if there {
			fmt.Fprintf(&b, " "+format, args...)
		}
	}
	seconds := func(d *time.Duration) time.Duration {
		if d == nil {
			return 0
		}
		return *d
	}
	fact(p.Port != 0, "port %d", p.Port)
	fact(p.LocalASNumber != 0, "local %d", p.LocalASNumber)
	fact(!p.Internal, "external")
	fact(p.SourceAddress.IsValid(), "source %s", p.SourceAddress)
	fact(p.TTLSecurity != 0, "ttl %d", p.TTLSecurity)
	fact(p.Password.IsSet(), "password %s", p.Password.Reveal())
	fact(p.GracefulRestartTime != nil, "restart %s", seconds(p.GracefulRestartTime))
	fact(p.KeepaliveTime != nil, "keepalive %s", seconds(p.KeepaliveTime))
	fact(p.RouteReflectorClient, "client of %s", p.ClusterID)
	fact(p.NextHopSelf, "next hop self")
	fact(p.NextHopKeep, "next hop keep")
	fact(p.AllowLocalAS != 0, "allow local as %d", p.AllowLocalAS)
	fact(p.Passive, "passive")
	fact(p.NodeName != "", "is %s", p.NodeName)
	return b.String()
}

// wantPeers asserts all peers of a View as describe writes them.
func wantPeers(t *testing.T, v *bgp.View, want ...string) {
	t.Helper()
	var got []string
	for _, p := range v.Peers {
		got = append(got, describe(p))
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s peers of %s (-want +got):\n%s", v.Family, v.Node.Name, diff)
	}
}

// find returns the peer of that name.
func find(t *testing.T, v *bgp.View, name string) bgp.Peer {
	t.Helper()
	i := slices.IndexFunc(v.Peers, func(p bgp.Peer) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("there is no peer %s", name)
	}
	return v.Peers[i]
}

// wantProblems asserts all problems, each written as SEVERITY RULE RESOURCE FIELD and,
// after a colon, a part of what a person reads.
func wantProblems(t *testing.T, r result, wants ...string) {
	t.Helper()
	left := slices.Clone(r.problems)
	for _, w := range wants {
		head, part, _ := strings.Cut(w, ": ")
		i := slices.IndexFunc(left, func(p calico.Problem) bool {
			return head == strings.TrimRight(fmt.Sprintf("%s %s %s %s", p.Severity, p.Rule, p.Resource, p.Field), " ") &&
				strings.Contains(p.Message+"\n"+p.Hint, part)
		})
		if i < 0 {
			t.Errorf("missing problem: %s", w)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, p := range left {
		t.Errorf("not expected: %s", p)
	}
}

// prefixes lists routes as text.
func prefixes(routes []bgp.Route) []string {
	var out []string
	for _, r := range routes {
		out = append(out, r.Prefix.String())
	}
	return out
}

func wantEqual[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
