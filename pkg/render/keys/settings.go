package keys

import (
	"encoding/json"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// global fills in /calico/bgp/v1/global: settings of the cluster and peerings of every node.
func (b *builder) global(d *dir) {
	c := b.Cluster.Default()
	as := c.ASNumber
	if as == 0 {
		as = bgp.DefaultASNumber
	}
	d.set(Number(as), "as_num")
	d.set(b.mesh(c), "node_mesh")
	b.shared(d, c)
	if c.LogLevel == "" {
		d.set(string(calico.LogInfo), "loglevel")
	}
	if len(c.PrefixAdvertisements) > 0 {
		for _, f := range bgp.Families {
			text, _ := advertisements(c, f)
			d.set(text, "prefix_advertisements", "ip_"+suffix(f))
		}
	}
	b.former(d, c)
	for _, f := range bgp.Families {
		d.lazy(b.peers(b.Cluster.Node(b.Node), f, true), "peer_"+suffix(f))
	}
}

// mesh is the setting of the node-to-node mesh. One whose password cannot be used has no
// sessions, as in bgp.Compute: templates would make some without password.
func (b *builder) mesh(c *calico.BGPConfiguration) string {
	_, ok := b.peerings.MeshPassword()
	switch {
	case !ok || c.NodeToNodeMeshEnabled != nil && !*c.NodeToNodeMeshEnabled:
		return `{"enabled":false}`
	case c.NodeToNodeMeshEnabled == nil:
		return `{"enabled": true}` // Calico writes this one by hand
	}
	return `{"enabled":true}`
}

// shared are the settings that the cluster and single nodes have, and ours beside them.
func (b *builder) shared(d *dir, c *calico.BGPConfiguration) {
	d.optional(Number(c.ListenPort), "listen_port")
	d.optional(string(c.LogLevel), "loglevel")
	d.optional(Seconds(c.GracefulRestartWait), "graceful_restart_wait")
	d.optional(string(c.GracefulRestartWaitFor), "graceful_restart_wait_for")
}

// MeshPassword is the name of the key with the password of the mesh, and HasPassword stands in
// the value of each peering that has one.
const (
	MeshPassword = "node_mesh_password"
	HasPassword  = `"password":"`
)

// former are the keys that Calico had up to 3.31, and in part 3.32.
func (b *builder) former(d *dir, c *calico.BGPConfiguration) {
	d.optional(ranges(c.ServiceExternalIPs), "svc_external_ips")
	d.optional(ranges(c.ServiceLoadBalancerIPs), "svc_loadbalancer_ips")
	if b.Options.AdvertiseClusterIPs == "" {
		d.optional(ranges(c.ServiceClusterIPs), "svc_cluster_ips")
	}
	if c.BindToNodeIP {
		d.set("NodeIP", "bind_mode")
	}
	if c.IgnoredInterfaces != nil {
		d.set(strings.Join(c.IgnoredInterfaces, ","), "ignored_interfaces")
	}
	d.optional(Seconds(c.NodeMeshMaxRestartTime), "node_mesh_restart_time")
	if pw, ok := b.peerings.MeshPassword(); ok && pw.IsSet() {
		d.set(pw.Reveal(), MeshPassword)
	}
	d.optional(string(c.ProgramClusterRoutes), "program_cluster_routes")
}

// Seconds writes a duration in whole seconds, "" for none.
func Seconds(t *time.Duration) string {
	if t == nil {
		return ""
	}
	return strconv.FormatInt(int64(*t/time.Second), 10)
}

func ranges(list []calico.ServiceRange) string {
	var out []string
	for _, r := range list {
		out = append(out, r.Prefix.String())
	}
	return strings.Join(out, ",")
}

// advertisement is an element of prefix_advertisements.
type advertisement struct {
	CIDR        string   `json:"cidr"`
	Communities []string `json:"communities"`
}

// advertisements is the list of a family, "null" without any; false then.
func advertisements(c *calico.BGPConfiguration, f bgp.Family) (string, bool) {
	var list []advertisement
	for _, p := range c.PrefixAdvertisements {
		if p.Prefix.Addr().Is4() != (f == bgp.IPv4) {
			continue
		}
		a := advertisement{CIDR: p.Prefix.String(), Communities: []string{}}
		for _, of := range p.Communities {
			a.Communities = append(a.Communities, of.String())
		}
		list = append(list, a)
	}
	return text(list), list != nil
}

// text is JSON of what is sure to have one.
func text(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// hosts fills in /calico/bgp/v1/host: settings of all nodes and peerings of single ones.
func (b *builder) hosts(d *dir) {
	for _, n := range b.Cluster.Nodes {
		d.lazy(func(d *dir) { b.host(d, n) }, n.Name)
	}
	// A node's own settings do not need the node.
	for _, name := range b.Cluster.ConfigNames() {
		node, ok := strings.CutPrefix(name, "node.")
		if ok && b.Cluster.Node(node) == nil {
			b.own(d.make(node), node)
		}
	}
}

func (b *builder) own(d *dir, node string) {
	c := b.Cluster.ForNode(node)
	b.shared(d, c)
	for _, f := range bgp.Families {
		// Without a list of this family that of the cluster counts, as in bgp.Compute.
		if text, ok := advertisements(c, f); ok {
			d.set(text, "prefix_advertisements", "ip_"+suffix(f))
		}
	}
}

func (b *builder) host(d *dir, n *calico.Node) {
	for _, a := range []struct {
		network   netip.Prefix
		wireguard netip.Addr
		family    bgp.Family
	}{{n.IPv4, n.WireguardIPv4, bgp.IPv4}, {n.IPv6, n.WireguardIPv6, bgp.IPv6}} {
		ip := a.network.Addr()
		if b.owner(ip) != n {
			ip = netip.Addr{} // two sessions with one address would have one name
		}
		d.set(Address(ip), "ip_addr_"+suffix(a.family))
		if a.network.IsValid() {
			d.set(a.network.Masked().String(), "network_"+suffix(a.family))
		}
		d.set(Address(a.wireguard), "wireguard_addr_"+suffix(a.family))
		d.lazy(b.peers(n, a.family, false), "peer_"+suffix(a.family))
	}
	d.optional(Number(n.ASNumber), "as_num")
	d.set(Address(n.ClusterID), "rr_cluster_id")
	b.own(d, n.Name)
}

// owner is the node that gets the sessions with an address, which several have by mistake:
// this node, else the first by name, as in bgp.Compute.
func (b *builder) owner(a netip.Addr) *calico.Node {
	if b.owners == nil {
		b.owners = make(map[netip.Addr]*calico.Node, 2*len(b.Cluster.Nodes))
		for _, n := range append([]*calico.Node{b.Cluster.Node(b.Node)}, b.Cluster.Nodes...) {
			if n == nil {
				continue
			}
			for _, of := range []netip.Addr{n.IPv4.Addr(), n.IPv6.Addr()} {
				if _, taken := b.owners[of]; !taken {
					b.owners[of] = n
				}
			}
		}
	}
	return b.owners[a]
}

// Address writes an address, "" for none.
func Address(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
