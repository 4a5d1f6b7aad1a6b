package calico

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
)

// Change is a resource in which two Clusters differ.
type Change struct {
	ID
	// What is "added", "changed" or "removed".
	What string
}

// Changes lists the resources in which two Clusters differ, sorted by ID. Only what is used
// counts: neither where a resource was read nor its annotations do. A nil Cluster is an
// empty one. Workloads go by their interface, or by their address when they have none.
func Changes(old, new *Cluster) []Change {
	if old == new {
		return nil
	}
	if old == nil {
		old = &Cluster{}
	}
	if new == nil {
		new = &Cluster{}
	}
	var out []Change
	out = compare(out, byID(old.Configs), byID(new.Configs))
	out = compare(out, old.Peers, new.Peers)
	out = compare(out, byID(old.Filters), byID(new.Filters))
	out = compare(out, old.Pools, new.Pools)
	out = compare(out, old.Nodes, new.Nodes)
	out = compare(out, old.Affinities, new.Affinities)
	out = compare(out, old.Services, new.Services)
	out = compare(out, old.EndpointSlices, new.EndpointSlices)
	out = compare(out, byID(old.Secrets), byID(new.Secrets))
	out = compareWorkloads(out, old.Workloads, new.Workloads)
	slices.SortFunc(out, func(a, b Change) int { return a.compare(b.ID) })
	return out
}

func (id ID) compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Kind, other.Kind), cmp.Compare(id.Namespace, other.Namespace), cmp.Compare(id.Name, other.Name))
}

// resource is a pointer to one of the kinds.
type resource[T any] interface {
	*T
	Object
}

// byID makes a list of a map, in the order in which lists are.
func byID[T any, P resource[T]](m map[string]P) []P {
	list := slices.AppendSeq(make([]P, 0, len(m)), maps.Values(m))
	sortByID(list)
	return list
}

// compare walks two lists that are sorted by name side by side.
func compare[T any, P resource[T]](out []Change, old, new []P) []Change {
	for len(old) > 0 || len(new) > 0 {
		order := len(new) - len(old) // decides when one of the two has come to its end
		if len(old) > 0 && len(new) > 0 {
			order = old[0].Common().compare(new[0].Common().ID)
		}
		switch {
		case order < 0:
			out = append(out, Change{old[0].Common().ID, "removed"})
			old = old[1:]
		case order > 0:
			out = append(out, Change{new[0].Common().ID, "added"})
			new = new[1:]
		default:
			if !sameContent(old[0], new[0]) {
				out = append(out, Change{new[0].Common().ID, "changed"})
			}
			old, new = old[1:], new[1:]
		}
	}
	return out
}

// sameContent compares all fields, those that are yet to be thought of included, but for the
// ones that are not used.
func sameContent[T any, P resource[T]](a, b P) bool {
	if a == b {
		return true
	}
	x, y := a.Common(), b.Common()
	if !maps.Equal(x.Labels, y.Labels) {
		return false
	}
	s, t := *a, *b
	for _, m := range []*Meta{P(&s).Common(), P(&t).Common()} {
		*m = Meta{ID: m.ID}
	}
	return reflect.DeepEqual(&s, &t)
}

// compareWorkloads compares workloads by the interfaces that they are behind.
func compareWorkloads(out []Change, old, new []WorkloadEndpoint) []Change {
	before, after := workloadsByID(old), workloadsByID(new)
	for id, was := range before {
		is, stays := after[id]
		switch {
		case !stays:
			out = append(out, Change{id, "removed"})
		case !slices.Equal(was, is):
			out = append(out, Change{id, "changed"})
		}
	}
	for id := range after {
		if _, was := before[id]; !was {
			out = append(out, Change{id, "added"})
		}
	}
	return out
}

func workloadsByID(workloads []WorkloadEndpoint) map[ID][]WorkloadEndpoint {
	out := make(map[ID][]WorkloadEndpoint, len(workloads))
	for _, w := range workloads {
		w.Position = Position{}
		id := ID{Kind: "WorkloadEndpoint", Name: w.Interface}
		switch {
		case id.Name != "":
		case w.IPv4.IsValid():
			id.Name = w.IPv4.String()
		default:
			id.Name = w.IPv6.String()
		}
		out[id] = append(out[id], w)
	}
	return out
}
