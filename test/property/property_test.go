// Package property checks what must hold for every cluster, with random ones.
package property

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/test/fromtext"
)

// TestMain bounds the number of random clusters and leaves no files behind, where the
// command line does not say otherwise. A failure names the seed to repeat it with.
func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{"rapid.checks": "60", "rapid.nofailfile": "true"} {
		if !given[name] {
			if err := flag.Set(name, value); err != nil {
				panic(err) // rapid has changed its flags
			}
		}
	}
	os.Exit(m.Run())
}

func (c cluster) input() fromtext.Input {
	return fromtext.Input{Name: "cluster.yaml", Text: c.text(), Workloads: c.workloads, Options: c.options}
}

// results renders every node.
func results(t *testing.T, r *rapid.T, c cluster) map[string]*fromtext.Result {
	t.Helper()
	snapshot := c.input().Decode()
	for _, p := range snapshot.Problems {
		if p.Severity == calico.Error {
			r.Fatalf("the generator makes bad input, or good input is refused: %s\n%s", p, c.text())
		}
	}
	all := map[string]*fromtext.Result{}
	for _, node := range c.nodes {
		result, err := snapshot.TryRender(fromtext.Set(t), node)
		if err != nil {
			r.Fatalf("%v\n%s", err, c.text())
		}
		all[node] = result
	}
	return all
}

func TestBirdAcceptsEveryCluster(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := drawCluster(r)
		all := results(t, r, c)
		for _, node := range c.nodes[:min(2, len(c.nodes))] {
			if err := all[node].TryCheck(t); err != nil {
				r.Fatalf("%v\n%s", err, c.text())
			}
		}
	})
}

func TestBird2AcceptsEveryCluster(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := drawCluster(r)
		snapshot := c.input().Decode()
		for _, node := range c.nodes[:min(2, len(c.nodes))] {
			result, err := snapshot.TryRender(fromtext.Bird2Set(t), node)
			if err == nil {
				err = result.TryCheck(t)
			}
			if err != nil {
				r.Fatalf("%v\n%s", err, c.text())
			}
		}
	})
}

// placeless takes positions away, which depend on the order of documents.
func placeless(problems []calico.Problem) []calico.Problem {
	out := slices.Clone(problems)
	for i := range out {
		out[i].Position = calico.Position{}
	}
	calico.SortProblems(out)
	return out
}

func TestW11OrderOfInputNeverShows(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := drawCluster(r)
		all := results(t, r, c)
		shuffled := c
		shuffled.documents = rapid.Permutation(c.documents).Draw(r, "documents")
		shuffled.workloads = rapid.Permutation(c.workloads).Draw(r, "workloads")
		for node, result := range results(t, r, shuffled) {
			for name, text := range all[node].Files {
				if result.Files[name] != text {
					r.Fatalf("%s of %s depends on the order\n%s", name, node, c.text())
				}
			}
			if !slices.Equal(placeless(result.Problems), placeless(all[node].Problems)) {
				r.Fatalf("problems of %s depend on the order:\n%v\n%v\n%s", node, result.Problems, all[node].Problems, c.text())
			}
		}

		// The same objects in another order, so that even positions are the same.
		objects, problems := calico.Decode("cluster.yaml", []byte(c.text()))
		objects = rapid.Permutation(objects).Draw(r, "objects")
		snapshot, more := calico.NewCluster(objects, shuffled.workloads)
		for _, node := range c.nodes {
			_, own := bgp.Compute(snapshot, node, c.options)
			got := slices.Concat(problems, more, own)
			calico.SortProblems(got)
			if !slices.Equal(got, all[node].Problems) {
				r.Fatalf("problems of %s depend on the order of objects:\n%v\n%v", node, got, all[node].Problems)
			}
		}
	})
}

func TestProblemsHoldNoPassword(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := drawCluster(r)
		for node, result := range results(t, r, c) {
			for _, p := range result.Problems {
				for _, password := range c.passwords {
					if strings.Contains(fmt.Sprintf("%v %+v", p, p), password) {
						r.Fatalf("a problem of %s holds %q: %s", node, password, p)
					}
				}
			}
			// Nor does anything that is printed of a View.
			for _, f := range bgp.Families {
				if v := result.Views.Of(f); v != nil && strings.Contains(fmt.Sprintf("%+v", *v), "pa55") {
					r.Fatalf("a View prints passwords")
				}
			}
		}
	})
}

func TestEveryPeerMakesSense(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := drawCluster(r)
		for node, result := range results(t, r, c) {
			for _, f := range bgp.Families {
				v := result.Views.Of(f)
				if v == nil {
					if len(result.Problems) == 0 {
						r.Fatalf("%s is withheld from %s without a word", f, node)
					}
					continue
				}
				if fault := peersFault(v); fault != "" {
					r.Fatalf("%s of %s: %s\n%s", f, node, fault, c.text())
				}
			}
		}
	})
}

// peersFault says what is wrong with the peers of a View by themselves.
func peersFault(v *bgp.View) string {
	type endpoint struct {
		address netip.Addr
		port    uint16
	}
	names, endpoints := map[string]bool{}, map[endpoint]string{}
	policy := func(list []bgp.Policy, name string) bool {
		return slices.ContainsFunc(list, func(p bgp.Policy) bool { return p.Name == name })
	}
	for _, p := range v.Peers {
		e := endpoint{p.Address, p.Port}
		switch {
		case names[p.Name]:
			return "two protocols are named " + p.Name
		case len(p.Name) > 64:
			return p.Name + " is too long a name"
		case endpoints[e] != "":
			return fmt.Sprintf("%s and %s are sessions with one address and port", p.Name, endpoints[e])
		case p.Address == v.Address:
			return p.Name + " is a session with our own address"
		case p.Address.Is4() != (v.Family == bgp.IPv4):
			return p.Name + " is of the other family"
		case p.Why == "":
			return p.Name + " does not say why it is there"
		case p.ASNumber == 0:
			return p.Name + " has no AS number"
		case !policy(v.ImportPolicies, p.Import) || !policy(v.ExportPolicies, p.Export):
			return p.Name + " has a policy that is not there"
		case p.RouteReflectorClient && (!p.Internal || !p.ClusterID.IsValid()):
			return p.Name + " is a client without being internal or without a cluster id"
		}
		names[p.Name], endpoints[e] = true, p.Name
	}
	if !slices.IsSortedFunc(v.Peers, func(a, b bgp.Peer) int { return strings.Compare(a.Name, b.Name) }) {
		return "peers are not sorted by name"
	}
	return ""
}

func TestSessionsFitTogether(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := drawCluster(r)
		all := results(t, r, c)
		for _, f := range bgp.Families {
			users := map[netip.Addr]int{}
			for _, n := range c.input().Decode().Nodes { // also those that are not rendered
				users[n.IPv4.Addr()]++
				users[n.IPv6.Addr()]++
			}
			for i, a := range c.nodes {
				for _, b := range c.nodes[:i] {
					x, y := all[a].Views.Of(f), all[b].Views.Of(f)
					if x == nil || y == nil || users[x.Address] > 1 || users[y.Address] > 1 {
						continue // a node without this family, or an address that is not one node's
					}
					if fault := pairFault(x, y, heldBack(all[a]) || heldBack(all[b])); fault != "" {
						r.Fatalf("%s, %s and %s: %s\n%s", f, a, b, fault, c.text())
					}
				}
			}
		}
	})
}

// heldBack tells that some sessions are missing for want of a password.
func heldBack(r *fromtext.Result) bool {
	return slices.ContainsFunc(r.Problems, func(p calico.Problem) bool { return p.Rule == calico.RulePassword && p.Severity == calico.Error })
}

// between returns the sessions of one node with another's address.
func between(x, y *bgp.View) []bgp.Peer {
	return slices.DeleteFunc(slices.Clone(x.Peers), func(p bgp.Peer) bool { return p.Address != y.Address })
}

// pairFault says what does not fit between the sessions of two nodes with each other.
func pairFault(x, y *bgp.View, held bool) string {
	there, back := between(x, y), between(y, x)
	for _, p := range there {
		for _, q := range back {
			switch {
			case p.Passive && q.Passive:
				return fmt.Sprintf("%s and %s are both passive", p.Name, q.Name)
			case p.Type == bgp.Mesh && q.Type == bgp.Mesh && p.Passive == q.Passive:
				return fmt.Sprintf("%s and %s of the mesh both connect", p.Name, q.Name)
			}
		}
	}
	active := func(p bgp.Peer) bool { return !p.Passive }
	passive := func(p bgp.Peer) bool { return p.Passive }
	for _, side := range [][2][]bgp.Peer{{there, back}, {back, there}} {
		// A side waits only for one that connects.
		if i := slices.IndexFunc(side[0], passive); i >= 0 && !held && !slices.ContainsFunc(side[1], active) {
			return fmt.Sprintf("%s waits for a connection that nobody makes", side[0][i].Name)
		}
		// The mesh is on both sides, unless an operator's own peer took its place.
		if slices.ContainsFunc(side[0], func(p bgp.Peer) bool { return p.Type == bgp.Mesh }) && !held && len(side[1]) == 0 {
			return "only one side has the mesh session"
		}
	}
	return ""
}
