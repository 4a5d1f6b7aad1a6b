package calico

import (
	"cmp"
	"fmt"
	"slices"
)

// Cluster is a snapshot of everything that decides BGP configurations: immutable
// once made, each list sorted by name, so that the order of reading cannot show.
type Cluster struct {
	Configs        map[string]*BGPConfiguration // by name: "default", "node.<name>"
	Peers          []*BGPPeer
	Filters        map[string]*BGPFilter
	Pools          []*IPPool
	Nodes          []*Node
	Affinities     []*BlockAffinity
	Services       []*Service
	EndpointSlices []*EndpointSlice
	Secrets        map[string]*Secret // by NAMESPACE/NAME
	Workloads      []WorkloadEndpoint // of the node the snapshot was made on

	nodeByName map[string]*Node
}

// NewCluster makes a snapshot of objects, in any order. Of two objects with one
// identity the first stays and the second is reported, naming both places. A
// Kubernetes Node beside a Calico Node of the same name only tells whether the node is
// ready, and is reported when it says something about BGP too.
func NewCluster(objects []Object, workloads []WorkloadEndpoint) (*Cluster, []Problem) {
	c := &Cluster{
		Configs:    map[string]*BGPConfiguration{},
		Filters:    map[string]*BGPFilter{},
		Secrets:    map[string]*Secret{},
		Workloads:  slices.Clone(workloads),
		nodeByName: map[string]*Node{},
	}
	var problems []Problem
	seen := make(map[ID]Object, len(objects))
	for _, o := range objects {
		m := o.Common()
		first, dup := seen[m.ID]
		if !dup {
			seen[m.ID] = o
			continue
		}
		n, isNode := o.(*Node)
		if f, ok := first.(*Node); isNode && ok && f.Kubernetes != n.Kubernetes {
			core, own := n, f
			if f.Kubernetes {
				core, own = f, n
			}
			seen[m.ID] = withReadiness(own, core)
			if p, clash := nodeClash(core, own); clash {
				problems = append(problems, p)
			}
			continue
		}
		problems = append(problems, m.Problem(Error, RuleDuplicateResource, "",
			fmt.Sprintf("already defined at %s; this one is left out", first.Common().Origin.Position),
			"keep one of the two"))
	}
	for _, o := range seen {
		c.add(o)
	}
	c.sort()
	return c, problems
}

// withReadiness gives a Calico Node the readiness of the Kubernetes Node. Objects are never
// changed, since other snapshots may have them too.
func withReadiness(own, core *Node) *Node {
	if own.NotReady == core.NotReady {
		return own
	}
	n := *own
	n.NotReady = core.NotReady
	return &n
}

// nodeClash reports a Kubernetes Node that carries Calico's annotations although the
// node is also given as a Calico Node.
func nodeClash(core, own *Node) (Problem, bool) {
	if !core.IPv4.IsValid() && !core.IPv6.IsValid() && core.ASNumber == 0 && !core.ClusterID.IsValid() {
		return Problem{}, false
	}
	return core.Problem(Error, RuleDuplicateResource, "metadata.annotations",
		fmt.Sprintf("this node is also given as a Calico Node at %s; the annotations of the Kubernetes Node are not used", own.Origin.Position),
		"keep the BGP data in one of the two"), true
}

func (c *Cluster) add(o Object) {
	switch o := o.(type) {
	case *BGPConfiguration:
		c.Configs[o.Name] = o
	case *BGPPeer:
		c.Peers = append(c.Peers, o)
	case *BGPFilter:
		c.Filters[o.Name] = o
	case *IPPool:
		c.Pools = append(c.Pools, o)
	case *Node:
		c.Nodes = append(c.Nodes, o)
		c.nodeByName[o.Name] = o
	case *BlockAffinity:
		c.Affinities = append(c.Affinities, o)
	case *Service:
		c.Services = append(c.Services, o)
	case *EndpointSlice:
		c.EndpointSlices = append(c.EndpointSlices, o)
	case *Secret:
		c.Secrets[o.Namespace+"/"+o.Name] = o
	default:
		panic(fmt.Sprintf("calico: object of type %T in a cluster", o))
	}
}

func (c *Cluster) sort() {
	sortByID(c.Peers)
	sortByID(c.Pools)
	sortByID(c.Nodes)
	sortByID(c.Affinities)
	sortByID(c.Services)
	sortByID(c.EndpointSlices)
	slices.SortFunc(c.Workloads, func(a, b WorkloadEndpoint) int {
		return cmp.Or(cmp.Compare(a.BGPPeerName, b.BGPPeerName), a.IPv4.Compare(b.IPv4), a.IPv6.Compare(b.IPv6),
			cmp.Compare(a.Position.File, b.Position.File))
	})
}

func sortByID[T Object](s []T) {
	slices.SortFunc(s, func(a, b T) int {
		x, y := a.Common(), b.Common()
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
}

// Node returns the node of that name, or nil.
func (c *Cluster) Node(name string) *Node { return c.nodeByName[name] }

// Default returns the cluster-wide BGPConfiguration; an empty one if there is none.
func (c *Cluster) Default() *BGPConfiguration { return c.config("default") }

// ForNode returns the BGPConfiguration of one node; an empty one if there is none.
func (c *Cluster) ForNode(name string) *BGPConfiguration { return c.config("node." + name) }

func (c *Cluster) config(name string) *BGPConfiguration {
	if b, ok := c.Configs[name]; ok {
		return b
	}
	return &BGPConfiguration{Meta: Meta{ID: ID{Kind: "BGPConfiguration", Name: name}}}
}

// FilterNames returns the names of all BGPFilters in order.
func (c *Cluster) FilterNames() []string { return sortedKeys(c.Filters) }

// ConfigNames returns the names of all BGPConfigurations in order.
func (c *Cluster) ConfigNames() []string { return sortedKeys(c.Configs) }
