package bgp

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// checkCluster reports what is wrong with the cluster as a whole.
func (k *calculation) checkCluster() {
	k.checkConfigNames()
	var without []string
	for _, n := range k.Nodes {
		if !n.IPv4.IsValid() && !n.IPv6.IsValid() && n != k.me && !n.BadIPv4 && !n.BadIPv6 {
			without = append(without, n.Name)
		}
	}
	if len(without) > 0 {
		k.report(calico.Problem{Severity: calico.Warning, Rule: calico.RuleNodeAddress, Resource: "Node/" + without[0],
			Position: k.Node(without[0]).Origin.Position,
			Message:  "no BGP address, so no peering with: " + abbreviate(without, 10),
			Hint:     "has calico-node started there?"})
	}
	if !k.me.IPv4.IsValid() && !k.me.IPv6.IsValid() && !k.me.BadIPv4 && !k.me.BadIPv6 {
		k.report(k.me.Problem(calico.Warning, calico.RuleNodeAddress, "spec.bgp",
			"this node has no BGP address, so it gets no BGP sessions", ""))
	}
	shared := map[netip.Addr]bool{}
	for _, n := range k.Nodes {
		for _, f := range Families {
			a := address(n, f)
			if !a.IsValid() || len(k.byAddress[a]) < 2 || shared[a] {
				continue
			}
			shared[a] = true
			k.reportSharedAddress(a, f)
		}
	}
}

// maxSuggestions bounds how many names are compared with the names of all nodes. Of a few
// names without a node one may be a slip; many are what is left of nodes that are gone.
const maxSuggestions = 20

// checkConfigNames reports settings of nodes that are not there.
func (k *calculation) checkConfigNames() {
	suggestions := 0
	for _, name := range k.ConfigNames() {
		node, ok := strings.CutPrefix(name, "node.")
		if !ok || k.Node(node) != nil {
			continue
		}
		hint := ""
		if suggestions++; suggestions <= maxSuggestions {
			hint = k.nearNode(node)
		}
		k.report(k.Configs[name].Problem(calico.Warning, calico.RuleUnusedConfig, "metadata.name",
			fmt.Sprintf("there is no node %q, so this resource has no effect", node), hint))
	}
}

func (k *calculation) reportSharedAddress(a netip.Addr, f Family) {
	var names []string
	for _, n := range k.byAddress[a] {
		names = append(names, n.Name)
	}
	what := "there is at most one session with it"
	if a == address(k.me, f) {
		what = "it is also this node's own, so there is no session with the others"
	}
	k.report(k.byAddress[a][1].Problem(calico.Warning, calico.RuleNodeAddress, fieldOfAddress(k.byAddress[a][1], f),
		fmt.Sprintf("address %s belongs to several nodes (%s); %s", a, abbreviate(names, 5), what), ""))
}

func (k *calculation) nearNode(name string) string {
	names := make([]string, len(k.Nodes))
	for i, n := range k.Nodes {
		names[i] = n.Name
	}
	return calico.DidYouMean(name, names)
}
