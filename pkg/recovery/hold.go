package recovery

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

// keepHolders leaves the peers that a recovery waits for as they are in another View: in
// BIRD 2 and 3 a recovery never gets over one that was changed or removed. Whatever would
// take such a peer's place comes later, too.
func (p *Plan) keepHolders(v, before *bgp.View, s State) {
	for _, old := range before.Peers {
		if !s.holds(old.Name) {
			continue
		}
		i, found := slices.BinarySearchFunc(v.Peers, old.Name, func(p bgp.Peer, name string) int { return strings.Compare(p.Name, name) })
		if found && samePeer(v.Peers[i], old) {
			continue
		}
		if found {
			v.Peers[i] = old
		} else {
			v.Peers = slices.Insert(v.Peers, i, old)
			p.Leaving = append(p.Leaving, old.Name)
		}
		p.Deferred = append(p.Deferred, old.Name)
		v.Peers = slices.DeleteFunc(v.Peers, func(n bgp.Peer) bool {
			return n.Name != old.Name && n.Address == old.Address && n.Port == old.Port
		})
		keepPolicies(v, before, old)
	}
}

// samePeer compares all but what only comments tell.
func samePeer(a, b bgp.Peer) bool {
	for _, p := range []*bgp.Peer{&a, &b} {
		p.Why, p.NodeName, p.NodeNotReady = "", "", false
	}
	return reflect.DeepEqual(a, b)
}

// keepPolicies gives a View the policies of a peer that comes from another one, and the
// filters that they call, as far as it has none of their names.
func keepPolicies(v, before *bgp.View, peer bgp.Peer) {
	for _, list := range []struct {
		name     string
		to, from *[]bgp.Policy
	}{{peer.Import, &v.ImportPolicies, &before.ImportPolicies}, {peer.Export, &v.ExportPolicies, &before.ExportPolicies}} {
		named := func(p bgp.Policy) bool { return p.Name == list.name }
		i := slices.IndexFunc(*list.from, named)
		if i < 0 || slices.ContainsFunc(*list.to, named) {
			continue
		}
		policy := (*list.from)[i]
		*list.to = append(slices.Clone(*list.to), policy)
		for _, call := range policy.Calls {
			called := func(f bgp.FilterFunction) bool { return f.Name == call.Function }
			if j := slices.IndexFunc(before.Filters, called); j >= 0 && !slices.ContainsFunc(v.Filters, called) {
				v.Filters = append(slices.Clone(v.Filters), before.Filters[j])
			}
		}
	}
}

// Disturbed lists the sessions that the recovery waits for and that another configuration
// would change or remove, whatever templates have made of the Views. It is nil where that
// does no harm. BIRD 3 survives no change at all, so there it is all that the recovery waits
// for: 3.1.8 crashes when a configuration has it reload a channel meanwhile.
func (s State) Disturbed(now, next InPlace) []string {
	if s.Condition != Recovering || !s.KeepsHolds() {
		return nil
	}
	if s.Version.Major >= 3 && !slices.EqualFunc(now.files, next.files, bytes.Equal) {
		return append([]string{}, s.Holders()...)
	}
	var names []string
	all := !slices.Equal(now.common, next.common)
	for name, session := range now.Sessions {
		if s.holds(name) && (all || next.Sessions[name].Text != session.Text) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
