package bgp

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// DefaultASNumber is the cluster's AS number when none is configured.
const DefaultASNumber = 64512

// DefaultRoutePriority is the kernel metric of ordinary routes when none is configured.
const DefaultRoutePriority = 1024

// Options are the settings of a node that do not come from the datastore. The zero
// value serves.
type Options struct {
	// RouterID is CALICO_ROUTER_ID: a dotted quad, or "hash" for one made of the node's name.
	RouterID string
	// AdvertiseClusterIPs is CALICO_ADVERTISE_CLUSTER_IPS: CIDRs, separated by commas,
	// that take the place of serviceClusterIPs.
	AdvertiseClusterIPs string
	// KubernetesNode is CALICO_K8S_NODE_REF: the node's name in EndpointSlices, when it differs.
	KubernetesNode string
	// SecretNamespace is NAMESPACE: where Secrets with passwords are; kube-system when empty.
	SecretNamespace string
	// UsePodCIDR is USE_POD_CIDR: blocks come from the nodes' podCIDRs.
	UsePodCIDR bool
	// Families restricts the calculation; empty means both.
	Families []Family
}

// Compute works out what the named node should run. When the node is not in the cluster
// both Views are nil and one Problem says so. Problems are sorted. Views are for a BIRD that
// has started.
func Compute(c *calico.Cluster, node string, o Options) (Views, []calico.Problem) {
	me := c.Node(node)
	if me == nil {
		return Views{}, []calico.Problem{unknownNode(c, node)}
	}
	k := newCalculation(c, me, o)
	v := k.compute()
	return v, k.problems
}

func (k *calculation) compute() Views {
	var v Views
	k.checkCluster()
	families := k.o.Families
	if len(families) == 0 {
		families = Families
	}
	sessions := k.sessions()
	services := k.services()
	for _, f := range families {
		view := k.view(f, sessions, services)
		if f == IPv6 {
			v.IPv6 = view
		} else {
			v.IPv4 = view
		}
	}
	k.reportMismatches()
	calico.SortProblems(k.problems)
	return v
}

func unknownNode(c *calico.Cluster, node string) calico.Problem {
	names := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		names[i] = n.Name
	}
	p := calico.Problem{Severity: calico.Error, Rule: calico.RuleNodeUnknown, Resource: "Node/" + node,
		Message: "there is no such node in the input, so nothing can be rendered for it"}
	switch near := calico.DidYouMean(node, names); {
	case near != "":
		p.Hint = near
	case len(names) == 0:
		p.Hint = "the input holds no Node at all"
	default:
		p.Hint = "nodes in the input: " + abbreviate(names, 8)
	}
	return p
}

// abbreviate lists at most n names.
func abbreviate(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

// calculation is the state of one Compute: the input, what is derived from it once, and
// the problems found.
type calculation struct {
	*calico.Cluster
	o        Options
	me       *calico.Node
	config   *calico.BGPConfiguration // cluster-wide
	own      *calico.BGPConfiguration // this node's
	globalAS uint32
	// byAddress finds nodes by BGP address, of both families; ports by node name.
	byAddress map[netip.Addr][]*calico.Node
	ports     map[string]uint16
	passwords map[*calico.BGPPeer]password
	// wants is what was looked for.
	wants    Wants
	reaching *reach
	// mismatches holds the names of the nodes at the other end.
	mismatches map[mismatch][]string
	problems   []calico.Problem
	reported   map[calico.Problem]bool
}

func newCalculation(c *calico.Cluster, me *calico.Node, o Options) *calculation {
	k := &calculation{
		Cluster: c, o: o, me: me,
		config: c.Default(), own: c.ForNode(me.Name),
		byAddress:  make(map[netip.Addr][]*calico.Node, len(c.Nodes)),
		ports:      map[string]uint16{},
		passwords:  map[*calico.BGPPeer]password{},
		reported:   map[calico.Problem]bool{},
		mismatches: map[mismatch][]string{},
	}
	k.globalAS = cmp.Or(k.config.ASNumber, DefaultASNumber)
	k.o.SecretNamespace = cmp.Or(o.SecretNamespace, "kube-system")
	k.o.KubernetesNode = cmp.Or(o.KubernetesNode, me.Name)
	for _, n := range c.Nodes {
		for _, f := range Families {
			if a := address(n, f); a.IsValid() {
				k.byAddress[a] = append(k.byAddress[a], n)
			}
		}
	}
	for name, b := range c.Configs {
		if node, ok := strings.CutPrefix(name, "node."); ok {
			k.ports[node] = b.ListenPort
		}
	}
	return k
}

// report adds a problem, once: what is wrong with one resource is found again for each of
// its sessions and for each family.
func (k *calculation) report(p calico.Problem) {
	if !k.reported[p] {
		k.reported[p] = true
		k.problems = append(k.problems, p)
	}
}

// address returns a node's BGP address of a family, invalid if it has none.
func address(n *calico.Node, f Family) netip.Addr { return network(n, f).Addr() }

// network returns a node's BGP address of a family with the length of its subnet.
func network(n *calico.Node, f Family) netip.Prefix {
	if f == IPv6 {
		return n.IPv6
	}
	return n.IPv4
}

func (k *calculation) asOf(n *calico.Node) uint32 { return cmp.Or(n.ASNumber, k.globalAS) }

// portOf returns the port a node listens on, 0 when nothing is configured.
func (k *calculation) portOf(n *calico.Node) uint16 {
	return cmp.Or(k.ports[n.Name], k.config.ListenPort)
}

// view computes one family; nil when it must be withheld.
func (k *calculation) view(f Family, s *sessions, services serviceRoutes) *View {
	if (f == IPv4 && k.me.BadIPv4) || (f == IPv6 && k.me.BadIPv6) {
		k.report(k.me.Problem(calico.Error, calico.RuleNodeAddress, fieldOfAddress(k.me, f),
			fmt.Sprintf("this node's own %s address cannot be read; nothing is rendered for %s, since that would end all its sessions", f, f), ""))
		return nil
	}
	v := &View{
		Family: f,
		Node:   NodeInfo{Name: k.me.Name, ASNumber: k.asOf(k.me), ClusterID: k.me.ClusterID},
		Listen: Listen{Port: k.portOf(k.me)},

		Address:                address(k.me, f),
		GracefulRestartWait:    k.config.GracefulRestartWait,
		GracefulRestartWaitFor: cmp.Or(k.own.GracefulRestartWaitFor, k.config.GracefulRestartWaitFor, calico.WaitForReadyNodes),
		Phase:                  Steady,
		LogLevel:               cmp.Or(k.own.LogLevel, k.config.LogLevel, calico.LogInfo),
		IgnoredInterfaces:      k.config.IgnoredInterfaces,
		RoutePriority:          cmp.Or(k.config.IPv4NormalRoutePriority, DefaultRoutePriority),
	}
	if f == IPv6 {
		v.RoutePriority = cmp.Or(k.config.IPv6NormalRoutePriority, DefaultRoutePriority)
	}
	if k.own.GracefulRestartWait != nil {
		v.GracefulRestartWait = k.own.GracefulRestartWait
	}
	if k.config.BindToNodeIP {
		v.Listen.Address = v.Address
	}
	var ok bool
	if v.RouterID, ok = k.routerID(f); !ok {
		return nil
	}
	v.Communities = k.communities(f)
	k.pools(v)
	k.wireguard(v)
	k.serviceView(v, services)
	k.filterFunctions(v)
	k.peers(v, s)
	k.routes(v, s)
	return v
}

func fieldOfAddress(n *calico.Node, f Family) string {
	switch {
	case n.Kubernetes && f == IPv6:
		return "metadata.annotations[projectcalico.org/IPv6Address]"
	case n.Kubernetes:
		return "metadata.annotations[projectcalico.org/IPv4Address]"
	case f == IPv6:
		return "spec.bgp.ipv6Address"
	}
	return "spec.bgp.ipv4Address"
}

const routerIDChoices = "give the node an IPv4 address, or set CALICO_ROUTER_ID to a dotted quad or to hash"

// routerID chooses the router id: CALICO_ROUTER_ID, else the node's IPv4 address. BIRD
// can only choose by itself in the IPv4 daemon, so IPv6 is withheld without one.
func (k *calculation) routerID(f Family) (netip.Addr, bool) {
	own := address(k.me, IPv4)
	switch id := k.o.RouterID; id {
	case "":
	case "hash":
		return HashRouterID(k.me.Name), true
	default:
		a, err := netip.ParseAddr(id)
		if err == nil && a.Is4() && !a.IsUnspecified() {
			return a, true
		}
		instead := "the node's IPv4 address is used"
		if !own.IsValid() {
			instead = "there is no IPv4 address to use instead"
		}
		k.report(calico.Problem{Severity: calico.Error, Rule: calico.RuleRouterID, Resource: k.me.ID.String(),
			Message: fmt.Sprintf("CALICO_ROUTER_ID=%.60q is not a router id; %s", id, instead), Hint: "use a dotted quad other than 0.0.0.0, or hash"})
	}
	if own.IsValid() || f == IPv4 {
		return own, true
	}
	k.report(k.me.Problem(calico.Error, calico.RuleRouterID, "",
		"there is no router id for IPv6, without which BIRD does not start; nothing is rendered for IPv6", routerIDChoices))
	return netip.Addr{}, false
}

// HashRouterID makes a router id of a node's name: the first four bytes of its SHA-256,
// brought out of the multicast range.
func HashRouterID(name string) netip.Addr {
	sum := sha256.Sum256([]byte(name))
	q := [4]byte(sum[:4])
	if q[0] > 223 {
		q[0] -= 32
	}
	if q == [4]byte{} {
		q[3] = 1
	}
	return netip.AddrFrom4(q)
}
