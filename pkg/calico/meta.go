package calico

import (
	"maps"
	"slices"
	"strings"
)

// ID names a resource. Namespace is empty for cluster-scoped kinds.
type ID struct {
	Kind, Namespace, Name string
}

// String gives KIND/NAME or KIND/NAMESPACE/NAME.
func (id ID) String() string {
	if id.Namespace == "" {
		return id.Kind + "/" + id.Name
	}
	return id.Kind + "/" + id.Namespace + "/" + id.Name
}

// Meta is what all objects have: who they are, their labels and where they were read.
type Meta struct {
	ID
	Labels      map[string]string
	Annotations map[string]string
	Origin      Origin
}

// Object is any of the resource types of this package.
type Object interface {
	// Common returns the object's identity, labels and origin.
	Common() *Meta
}

// Common implements Object.
func (m *Meta) Common() *Meta { return m }

// Origin remembers where an object and its fields stand in the input, so that a
// problem found long after decoding still points at a line.
type Origin struct {
	Position
	// Spec is the spec as it was read, in JSON, of BGPConfigurations, BGPPeers and BGPFilters; nil
	// for other kinds, and where it cannot be written so.
	Spec   []byte
	fields map[string]Position
}

// At returns the place of a field path such as spec.filters[0], or of the nearest
// parent that is known, or of the object itself.
func (o Origin) At(path string) Position {
	for path != "" {
		if p, ok := o.fields[path]; ok {
			return p
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			break
		}
		path = path[:i]
	}
	return o.Position
}

// Problem makes a Problem about a field of this object.
func (m *Meta) Problem(s Severity, rule, field, message, hint string) Problem {
	return Problem{Severity: s, Rule: rule, Resource: m.ID.String(), Field: field,
		Position: m.Origin.At(field), Message: message, Hint: hint}
}

// sortedKeys returns a map's keys in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
