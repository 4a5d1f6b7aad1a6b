package bgp

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

const ipipTunnel = "tunl0"

// pools fills in what the IP pools decide: what is given to BGP peers, and how routes get
// into the kernel.
func (k *calculation) pools(v *View) {
	v.TunnelInterfaces = []string{"*.cali", "*.calico"}
	ipip, plain := programs(k.config.ProgramClusterRoutes)
	if !ipip {
		v.TunnelInterfaces = append(v.TunnelInterfaces, ipipTunnel)
	}
	pools := k.poolsOf(v.Family)
	for _, p := range pools {
		if p.DisableBGPExport {
			v.PoolRejects = append(v.PoolRejects, PoolReject{Prefix: p.CIDR, Except: exportedInside(p, pools), Why: p.ID.String()})
		} else {
			v.PoolAccepts = append(v.PoolAccepts, Route{Prefix: p.CIDR, Why: p.ID.String()})
		}
		k.checkCrossSubnet(p, v.Family)
	}
	v.Kernel = k.kernel(v.Family, pools, ipip, plain)
}

// kernel decides how the routes of pools get into the kernel.
func (k *calculation) kernel(f Family, pools []*calico.IPPool, ipip, plain bool) []KernelRule {
	var out []KernelRule
	for _, p := range pools {
		rule := KernelRule{Prefix: p.CIDR, Action: KernelAccept, Why: p.ID.String()}
		encapsulated := p.IPIPMode != calico.EncapNever
		switch {
		case p.VXLANMode != calico.EncapNever, encapsulated && !ipip, !encapsulated && !plain:
			rule.Action = KernelReject
		case f == IPv6:
			continue // nothing to decide: the filter's default accepts
		case p.IPIPMode == calico.EncapAlways:
			rule.Action, rule.Tunnel = KernelTunnel, ipipTunnel
		case p.IPIPMode == calico.EncapCrossSubnet:
			rule.Action, rule.Tunnel = KernelTunnel, ipipTunnel
			if k.me.IPv4.IsValid() {
				rule.Action, rule.Subnet = KernelCrossSubnet, k.me.IPv4.Masked()
			}
		}
		out = append(out, rule)
	}
	return out
}

// KernelRules are a node's rules as they would be with another programClusterRoutes than is
// configured; nil when there is no such node.
func KernelRules(c *calico.Cluster, node string, f Family, program calico.ProgramClusterRoutes) []KernelRule {
	me := c.Node(node)
	if me == nil {
		return nil
	}
	k := newCalculation(c, me, Options{})
	ipip, plain := programs(program)
	return k.kernel(f, k.poolsOf(f), ipip, plain)
}

// exportedInside returns the pools inside another that are given to BGP peers although it
// is not: rejects come before everything else, so they must leave these out.
func exportedInside(outer *calico.IPPool, pools []*calico.IPPool) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range pools {
		if !p.DisableBGPExport && p.CIDR.Bits() > outer.CIDR.Bits() && outer.CIDR.Overlaps(p.CIDR) {
			out = append(out, p.CIDR)
		}
	}
	return out
}

// programs tells whether BIRD puts the routes of IPIP pools and of plain pools into the kernel.
func programs(p calico.ProgramClusterRoutes) (ipip, plain bool) {
	switch p {
	case calico.ProgramEnabled:
		return true, true
	case calico.ProgramIPIPOnly:
		return true, false
	case calico.ProgramDisabled:
		return false, false
	}
	return false, true
}

// poolsOf returns the pools of a family in the order in which they decide: by their text,
// but a pool before those that contain it. Of two with one CIDR the first by name counts.
func (k *calculation) poolsOf(f Family) []*calico.IPPool {
	byCIDR := map[netip.Prefix]*calico.IPPool{}
	var pools []*calico.IPPool
	for _, p := range k.Pools {
		if familyOf(p.CIDR.Addr()) != f {
			continue
		}
		if first, dup := byCIDR[p.CIDR]; dup {
			k.report(p.Problem(calico.Warning, calico.RuleDuplicatePool, "spec.cidr",
				fmt.Sprintf("%s has the same CIDR and comes first by name; this pool has no effect on BGP", first.ID), ""))
			continue
		}
		byCIDR[p.CIDR] = p
		pools = append(pools, p)
	}
	slices.SortFunc(pools, func(a, b *calico.IPPool) int { return cmp.Compare(a.CIDR.String(), b.CIDR.String()) })
	var out []*calico.IPPool
	for _, p := range pools {
		i := slices.IndexFunc(out, func(o *calico.IPPool) bool {
			return o.CIDR.Bits() < p.CIDR.Bits() && o.CIDR.Overlaps(p.CIDR)
		})
		if i < 0 {
			i = len(out)
		}
		out = slices.Insert(out, i, p)
	}
	return out
}

// checkCrossSubnet reports a pool that is encapsulated across subnets only, on a node whose
// address has no subnet: everything is then encapsulated.
func (k *calculation) checkCrossSubnet(p *calico.IPPool, f Family) {
	n := network(k.me, f)
	if (p.IPIPMode == calico.EncapCrossSubnet || p.VXLANMode == calico.EncapCrossSubnet) && n.IsValid() && n.IsSingleIP() {
		k.report(k.me.Problem(calico.Warning, calico.RuleTunnelEverything, fieldOfAddress(k.me, f),
			fmt.Sprintf("%s is encapsulated across subnets only, but this node's subnet is %s, so all its traffic is encapsulated", p.ID, n),
			"write the address with the length of its subnet"))
	}
}

// wireguard lists the nodes whose routes WireGuard programs, when this node runs it too.
func (k *calculation) wireguard(v *View) {
	of := func(n *calico.Node) netip.Addr {
		if v.Family == IPv6 {
			return n.WireguardIPv6
		}
		return n.WireguardIPv4
	}
	if !of(k.me).IsValid() {
		return
	}
	for _, n := range k.Nodes {
		if a := address(n, v.Family); n != k.me && a.IsValid() && of(n).IsValid() {
			v.WireguardNextHops = append(v.WireguardNextHops, NextHop{Address: a, Why: n.ID.String()})
		}
	}
	slices.SortFunc(v.WireguardNextHops, func(a, b NextHop) int { return cmp.Compare(a.Address.String(), b.Address.String()) })
	v.WireguardNextHops = slices.CompactFunc(v.WireguardNextHops, func(a, b NextHop) bool { return a.Address == b.Address })
}

// communities lists the communities to add, the node's own list before the cluster's,
// for each family by itself.
func (k *calculation) communities(f Family) []CommunityRule {
	for _, b := range []*calico.BGPConfiguration{k.own, k.config} {
		var out []CommunityRule
		listed := false
		for _, a := range b.PrefixAdvertisements {
			if familyOf(a.Prefix.Addr()) != f {
				continue
			}
			listed = true
			if len(a.Communities) > 0 {
				out = append(out, CommunityRule{Prefix: a.Prefix, Communities: a.Communities,
					Why: fmt.Sprintf("%s prefixAdvertisements[%d]", b.ID, a.Index)})
			}
		}
		if listed {
			return out
		}
	}
	return nil
}
