package bgp

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// sortedRoutes puts routes in the order of their text and drops repeated prefixes.
func sortedRoutes(routes []Route) []Route {
	slices.SortStableFunc(routes, func(a, b Route) int { return cmp.Compare(a.Prefix.String(), b.Prefix.String()) })
	return slices.CompactFunc(routes, func(a, b Route) bool { return a.Prefix == b.Prefix })
}

// routes fills in the static routes: this node's blocks, its service routes and the ways
// to peers that are reached through a gateway.
func (k *calculation) routes(v *View, s *sessions) {
	var blocks []Route
	pending := map[netip.Prefix]bool{}
	for _, b := range k.blocks(v.Family) {
		blocks = append(blocks, Route{Prefix: b.CIDR, Why: b.ID.String()})
		pending[b.CIDR] = b.State == calico.AffinityPendingDeletion
	}
	blocks = sortedRoutes(blocks)
	originated := map[netip.Prefix]bool{}
	originate := func(r Route) {
		if !originated[r.Prefix] {
			originated[r.Prefix] = true
			v.Blackholes = append(v.Blackholes, r)
		}
	}
	for _, b := range blocks {
		// A block that is a single address must stay reachable through the workload's own route.
		if !b.Prefix.IsSingleIP() {
			originate(b)
		}
		if !pending[b.Prefix] {
			v.Aggregates = append(v.Aggregates, b)
		}
	}
	for _, r := range v.ServiceRoutes {
		originate(r)
	}
	k.gateways(v, s)
	v.HasStatic = len(blocks) > 0 || len(v.ServiceRoutes) > 0 || len(v.Gateways) > 0
}

// blocks returns the blocks of addresses that belong to this node.
func (k *calculation) blocks(f Family) []*calico.BlockAffinity {
	var out []*calico.BlockAffinity
	if k.o.UsePodCIDR {
		for _, c := range k.me.PodCIDRs {
			if familyOf(c.Addr()) == f {
				out = append(out, &calico.BlockAffinity{Meta: calico.Meta{ID: k.me.ID}, CIDR: c, State: calico.AffinityConfirmed})
			}
		}
		return out
	}
	for _, b := range k.Affinities {
		if b.Node == k.me.Name && familyOf(b.CIDR.Addr()) == f {
			out = append(out, b)
		}
	}
	return out
}

func (k *calculation) gateways(v *View, s *sessions) {
	if !v.Address.IsValid() {
		return
	}
	via := map[netip.Addr]*session{}
	for _, n := range s.list {
		g := n.from.ReachableBy
		if !n.byAddress || !g.IsValid() || familyOf(n.addr) != v.Family || n.addr == v.Address {
			continue
		}
		if _, ok := k.peerPassword(n.from); !ok {
			continue
		}
		if first, dup := via[n.addr]; dup {
			if first.from.ReachableBy != g {
				k.report(n.from.Problem(calico.Warning, calico.RuleConflict, "spec.reachableBy",
					fmt.Sprintf("%s already reaches %s by %s; this gateway is not used", first.from.ID, n.addr, first.from.ReachableBy), ""))
			}
			continue
		}
		via[n.addr] = n
		v.Gateways = append(v.Gateways, Gateway{Address: n.addr, Via: g, Why: n.from.ID.String()})
	}
	slices.SortFunc(v.Gateways, func(a, b Gateway) int { return cmp.Compare(a.Address.String(), b.Address.String()) })
}
