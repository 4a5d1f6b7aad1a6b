package bgp

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// MaxSymbol is how many characters BIRD's symbols have at most.
const MaxSymbol = 64

// maxPolicyName leaves room for _ipv4 or _ipv6, which templates append where one daemon has
// the policies of both families.
const maxPolicyName = MaxSymbol - len("_ipv4")

// shorten fits a name into a number of characters: a longer one keeps its beginning and
// ends in an underscore and 16 hexadecimal digits of its SHA-256, in capitals.
func shorten(name string, size int) string {
	if len(name) <= size {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:size-17] + fmt.Sprintf("_%X", sum[:8])
}

// FilterFunctionName names the function of one direction, import or export, of a BGPFilter as
// Calico does, for a version that is 4 or 6 as a rule. A name that would be longer than
// BIRD's symbols is shortened.
func FilterFunctionName(filter, direction, version string) string {
	const parts = "bgp__importFilterV"
	return "bgp_" + shorten(filter, MaxSymbol-len(parts)-len(version)) + "_" + direction + "FilterV" + version
}

func filterFunctionName(filter, direction string, f Family) string {
	return FilterFunctionName(filter, direction, strconv.Itoa(int(f)))
}

const (
	directionImport = "import"
	directionExport = "export"
)

func rulesOf(b *calico.BGPFilter, direction string, f Family) []calico.FilterRule {
	switch {
	case direction == directionImport && f == IPv4:
		return b.ImportV4
	case direction == directionImport:
		return b.ImportV6
	case f == IPv4:
		return b.ExportV4
	}
	return b.ExportV6
}

// filterFunctions turns all BGPFilters into functions, used or not, so that the set of
// functions does not depend on the peers.
func (k *calculation) filterFunctions(v *View) {
	for _, name := range k.FilterNames() {
		b := k.Filters[name]
		for _, direction := range []string{directionImport, directionExport} {
			rules := rulesOf(b, direction, v.Family)
			if len(rules) == 0 {
				continue
			}
			f := FilterFunction{Name: filterFunctionName(name, direction, v.Family), BGPFilter: name, HasPeerType: hasPeerType(rules)}
			for i := range rules {
				f.Rules = append(f.Rules, filterRule(&rules[i]))
			}
			v.Filters = append(v.Filters, f)
		}
	}
}

func hasPeerType(rules []calico.FilterRule) bool {
	return slices.ContainsFunc(rules, func(r calico.FilterRule) bool { return r.PeerType != "" })
}

func filterRule(r *calico.FilterRule) FilterRule {
	out := FilterRule{Field: r.Field, PeerType: r.PeerType, Accept: r.Accept}
	add := func(c Condition) { out.Conditions = append(out.Conditions, c) }
	if r.Prefix.IsValid() {
		add(Condition{Prefix: &PrefixCondition{Operator: r.Match, Prefix: r.Prefix,
			HasLengths: r.HasLengths, Min: r.MinLength, Max: r.MaxLength}})
	}
	if r.RemotePeersOnly {
		add(Condition{FromPeer: true})
	}
	if r.Interface != "" {
		add(Condition{Interface: r.Interface})
	}
	if r.Community != nil {
		add(Condition{Community: r.Community})
	}
	if len(r.ASPathPrefix) > 0 {
		add(Condition{ASPathPrefix: r.ASPathPrefix})
	}
	if r.Priority != 0 {
		add(Condition{LocalPref: LocalPref(r.Priority)})
	}
	for _, o := range r.Operations {
		switch {
		case o.AddCommunity != nil:
			out.Operations = append(out.Operations, Operation{AddCommunity: o.AddCommunity})
		case o.SetPriority != 0:
			out.Operations = append(out.Operations, Operation{LocalPref: LocalPref(o.SetPriority)})
		}
		// The last AS to be prepended is the first of the path.
		for _, as := range slices.Backward(o.PrependASPath) {
			out.Operations = append(out.Operations, Operation{PrependAS: as})
		}
	}
	return out
}

// policies gives each peer the import and export policies that it shares with all peers
// that treat routes alike, and collects them.
func (k *calculation) policies(v *View, s *sessions) {
	from := map[string]*calico.BGPPeer{} // by protocol name; nil for the mesh
	filters := map[*calico.BGPPeer][]string{}
	for _, n := range s.list {
		if familyOf(n.addr) != v.Family {
			continue
		}
		from[protocolName(n.kind, n.endpoint)] = n.from
		if _, known := filters[n.from]; !known {
			filters[n.from] = k.existingFilters(n.from)
		}
	}
	// Peers by the thousands have a handful of policies.
	type kind struct {
		from     *calico.BGPPeer
		internal bool
	}
	known := map[kind][2]string{}
	imports, exports := map[string]Policy{}, map[string]Policy{}
	for i := range v.Peers {
		p := &v.Peers[i]
		of := kind{from[p.Name], p.Internal}
		names, ok := known[of]
		if !ok {
			in := policy(v, directionImport, filters[of.from], p.Internal)
			out := policy(v, directionExport, filters[of.from], p.Internal)
			imports[in.Name], exports[out.Name] = in, out
			names = [2]string{in.Name, out.Name}
			known[of] = names
		}
		p.Import, p.Export = names[0], names[1]
	}
	v.ImportPolicies, v.ExportPolicies = sortedPolicies(imports), sortedPolicies(exports)
}

func sortedPolicies(m map[string]Policy) []Policy {
	var out []Policy
	for _, p := range m {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Policy) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// policy makes the policy of peers that have these BGPFilters. Its name depends on what it
// does only, so that it stays when other peers come and go.
func policy(v *View, direction string, filters []string, internal bool) Policy {
	p := Policy{Internal: internal}
	named := []string{"calico_" + direction}
	parametrised := direction == directionExport
	for _, name := range filters {
		function := filterFunctionName(name, direction, v.Family)
		i := slices.IndexFunc(v.Filters, func(f FilterFunction) bool { return f.Name == function })
		if i < 0 {
			continue // no rules in this direction and family
		}
		call := FilterCall{Function: function, HasPeerType: v.Filters[i].HasPeerType, BGPFilter: name}
		p.Calls = append(p.Calls, call)
		named = append(named, name)
		parametrised = parametrised || call.HasPeerType
	}
	if parametrised {
		side := "external"
		if internal {
			side = "internal"
		}
		named[0] += "_" + side
	}
	p.Name = shorten(strings.Join(named, ":"), maxPolicyName)
	return p
}

// existingFilters returns the names of a BGPPeer's filters that exist, and reports the others.
func (k *calculation) existingFilters(p *calico.BGPPeer) []string {
	var out []string
	for i, name := range p.Filters {
		if name == "" {
			continue // reported where it was read
		}
		if _, ok := k.Filters[name]; ok {
			out = append(out, name)
			continue
		}
		k.report(p.Problem(calico.Error, calico.RuleMissingFilter, fmt.Sprintf("spec.filters[%d]", i),
			fmt.Sprintf("there is no BGPFilter %q; the peer is rendered without it, so routes it would have rejected are not", name),
			calico.DidYouMean(name, k.FilterNames())))
	}
	return out
}
