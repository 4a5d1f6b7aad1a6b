package bgp

import "slices"

// Views holds a node's View of each family. A nil View is withheld: rendering it would
// give BIRD something it refuses or would tear down what runs; a Problem says why.
type Views struct {
	IPv4, IPv6 *View
}

// Of returns the View of a family, nil when it is withheld.
func (v Views) Of(f Family) *View {
	if f == IPv6 {
		return v.IPv6
	}
	return v.IPv4
}

// Only returns the Views of some families; the others are nil.
func (v Views) Only(families []Family) Views {
	if !slices.Contains(families, IPv4) {
		v.IPv4 = nil
	}
	if !slices.Contains(families, IPv6) {
		v.IPv6 = nil
	}
	return v
}

// All lists the Views that are there.
func (v Views) All() []*View {
	return slices.DeleteFunc([]*View{v.IPv4, v.IPv6}, func(of *View) bool { return of == nil })
}
