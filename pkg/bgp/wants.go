package bgp

import (
	"slices"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// Wants is what the configuration of one node depends on beside Calico's own resources and
// the nodes. Sources need not read more than that.
type Wants struct {
	// Services tells that Services and EndpointSlices decide what the node announces.
	Services bool
	// Secrets are the names of those with passwords of the node's sessions, sorted; all are
	// in Options.SecretNamespace.
	Secrets []string
}

// WantsOf tells what a node's configuration depends on. It is nothing as long as the node is
// not in the cluster.
func WantsOf(c *calico.Cluster, node string, o Options) Wants {
	me := c.Node(node)
	if me == nil {
		return Wants{}
	}
	k := newCalculation(c, me, o)
	if passwords := func(p *calico.BGPPeer) bool { return p.Password != nil }; k.config.NodeMeshPassword == nil && !slices.ContainsFunc(c.Peers, passwords) {
		k.services() // the sessions, which are most of the work, need nothing
		return k.wants
	}
	k.compute()
	slices.Sort(k.wants.Secrets)
	k.wants.Secrets = slices.Compact(k.wants.Secrets)
	return k.wants
}
