package calico

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// maxCommunities is how many communities, prefixAdvertisements, and communities of one
// of those an API server takes.
const (
	maxCommunities       = 500
	maxAdvertCommunities = 50
)

// namedCommunity is an entry of spec.communities, or what is left of one.
type namedCommunity struct {
	NamedCommunity
	bad bool
}

var namedCommunityFields = fields[namedCommunity]{
	"name": func(c *namedCommunity, v value) { c.Name = v.name() },
	"value": func(c *namedCommunity, v value) {
		s, ok := v.text()
		if !ok {
			return
		}
		var f *fault
		if c.Value, f = parseCommunity(s); f != nil {
			v.refuse(s, f)
		}
	},
}

// namedCommunities reads the definitions of communities. A bad one is kept as such, so
// that its users are not told it were missing.
func (v value) namedCommunities() []namedCommunity {
	var out []namedCommunity
	for _, e := range v.entries() {
		var c namedCommunity
		e.fate.whole, e.fate.lost = true, &c.bad
		m := e.mapping()
		namedCommunityFields.readFrom(&c, m)
		m.require("name", "value")
		out = append(out, c)
	}
	v.limit(len(out), maxCommunities, "communities")
	return out
}

// advert is an entry of spec.prefixAdvertisements before its communities are looked up.
type advert struct {
	index       int
	prefix      netip.Prefix
	communities []value
}

var advertFields = fields[advert]{
	"cidr": func(a *advert, v value) { a.prefix = v.prefixOrAddr() },
	"communities": func(a *advert, v value) {
		v.fate.whole = false
		for _, e := range v.entries() {
			a.communities = append(a.communities, e.or("the community is left out"))
		}
		v.limit(len(a.communities), maxAdvertCommunities, "communities")
	},
}

func (v value) adverts() []advert {
	var out []advert
	for i, e := range v.entries() {
		lost := false
		a := advert{index: i}
		e.fate.whole, e.fate.lost = true, &lost
		m := e.mapping()
		advertFields.readFrom(&a, m)
		m.require("cidr", "communities")
		if !lost {
			out = append(out, a)
		}
	}
	v.limit(len(out), maxCommunities, "prefixAdvertisements")
	return out
}

// resolve looks up the communities of all prefixAdvertisements.
func (c *configReader) resolve() []PrefixAdvertisement {
	var out []PrefixAdvertisement
	for _, a := range c.adverts {
		p := PrefixAdvertisement{Prefix: a.prefix, Index: a.index}
		for _, v := range a.communities {
			if found, ok := c.community(v); ok {
				p.Communities = append(p.Communities, found)
			}
		}
		slices.SortFunc(p.Communities, func(a, b Community) int { return cmp.Compare(a.String(), b.String()) })
		p.Communities = slices.Compact(p.Communities)
		out = append(out, p)
	}
	return out
}

// community gives the community that an entry means, be it a value or a name.
func (c *configReader) community(v value) (Community, bool) {
	s, ok := v.text()
	if !ok {
		return Community{}, false
	}
	if strings.Contains(s, ":") { // no name has one
		found, f := parseCommunity(s)
		if f != nil {
			v.refuse(s, f)
		}
		return found, f == nil
	}
	names := make([]string, len(c.communities))
	for i, n := range c.communities {
		if n.Name == s {
			return n.Value, !n.bad
		}
		names[i] = n.Name
	}
	v.refuse(s, &fault{RuleUndefinedCommunity, "is not defined in spec.communities", v.o.suggest(s, names)})
	return Community{}, false
}
