package calico

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// mapping is a value that is a mapping, with each of its keys once.
type mapping struct {
	value
	pairs []pair
	index map[string]int // of the pairs by name, once there are many
}

// pair is a key with its value.
type pair struct {
	key, node *yaml.Node
	name      string
	aliases   int
}

// mapping reads the keys of v: a key that comes twice is reported and counts only the
// first time; merge keys (<<) add what the mapping does not have itself. If v is not a
// mapping that is reported, and there are none.
func (v value) mapping() mapping {
	m := mapping{value: v}
	if v.node.Kind != yaml.MappingNode {
		v.wrongType(aMapping, "")
		return m
	}
	m.pairs = make([]pair, 0, len(v.node.Content)/2)
	m.collect(v)
	return m
}

// find returns the place of a key in pairs.
func (m *mapping) find(name string) (int, bool) {
	if m.index != nil {
		i, ok := m.index[name]
		return i, ok
	}
	i := slices.IndexFunc(m.pairs, func(p pair) bool { return p.name == name })
	return i, i >= 0
}

func (m *mapping) add(p pair) {
	const few = 16
	m.pairs = append(m.pairs, p)
	if m.index != nil {
		m.index[p.name] = len(m.pairs) - 1
	} else if len(m.pairs) > few {
		m.index = make(map[string]int, cap(m.pairs))
		for i, p := range m.pairs {
			m.index[p.name] = i
		}
	}
}

// collect adds the pairs of v, then those of the mappings it merges.
func (m *mapping) collect(v value) {
	var merged []*yaml.Node
	own := len(m.pairs)
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key, node := v.node.Content[i], v.node.Content[i+1]
		at := key
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		first, again := m.find(key.Value)
		switch {
		case key.Kind != yaml.ScalarNode:
			v.child(at, v.path).ignore(RuleWrongType, "a key is not text", "")
		case key.ShortTag() == "!!merge":
			merged = append(merged, node)
		case !again:
			m.add(pair{key: at, node: node, name: key.Value, aliases: v.aliases})
		case first >= own:
			twice := v.child(at, join(v.path, plain(key.Value)))
			twice.report(Error, RuleDuplicateField, "the key stands here a second time; the first one counts", "")
		}
	}
	for _, n := range merged {
		m.merge(v.child(n, v.path))
	}
}

func (m *mapping) merge(v value) {
	switch v.node.Kind {
	case yaml.MappingNode:
		m.collect(v)
	case yaml.SequenceNode:
		for _, n := range v.node.Content {
			m.merge(v.child(n, v.path))
		}
	default:
		if !v.null() {
			v.ignore(RuleSyntax, "a merge key (<<) wants a mapping, or a list of them", "")
		}
	}
}

// of returns the value of one of the mapping's pairs.
func (m mapping) of(p pair) value {
	v := m.value
	v.aliases = p.aliases
	v = v.child(p.node, join(m.path, p.name))
	if !m.fate.whole {
		v.fate = unset
	}
	return v
}

// get returns the value of a key, and false if it is absent or null.
func (m mapping) get(name string) (value, bool) {
	i, ok := m.find(name)
	if !ok {
		return value{}, false
	}
	v := m.of(m.pairs[i])
	return v, !v.null()
}

// require reports the keys that are absent, if the value is a mapping at all.
func (m mapping) require(names ...string) {
	if m.node.Kind != yaml.MappingNode {
		return
	}
	for _, name := range names {
		if _, ok := m.get(name); !ok {
			m.missing(name, "")
		}
	}
}

// field returns the value of a key for a message about it; the mapping itself if the
// key is absent.
func (m mapping) field(name string) value {
	if v, ok := m.get(name); ok {
		return v
	}
	return m.value
}

// fields says which keys a mapping may have, and where their values go in a T.
type fields[T any] map[string]func(*T, value)

// skip is for fields that are known, and of no consequence here.
func skip[T any](*T, value) {}

// read takes the fields of the mapping v to t. A key that is not in f is reported; a
// null is as good as absent.
func (f fields[T]) read(t *T, v value) { f.readFrom(t, v.mapping()) }

func (f fields[T]) readFrom(t *T, m mapping) {
	for _, p := range m.pairs {
		into, ok := f[p.name]
		if !ok {
			m.unknown(p, sortedKeys(f))
			continue
		}
		if v := m.of(p); !v.null() {
			if !v.o.sparse {
				v.o.note(v.path, v.position())
			}
			into(t, v)
		}
	}
}

// readKnown is readFrom for mappings with many fields that mean nothing here.
func (f fields[T]) readKnown(t *T, m mapping) {
	for _, p := range m.pairs {
		if into, ok := f[p.name]; ok {
			if v := m.of(p); !v.null() {
				into(t, v)
			}
		}
	}
}

// known reads a mapping inside a foreign object.
func (f fields[T]) known(t *T, v value) { f.readKnown(t, v.mapping()) }

// section is for spec, without which nothing is left of an object.
func (f fields[T]) section(t *T, v value) {
	if v.node.Kind != yaml.MappingNode {
		v.essential().wrongType(aMapping, "")
		return
	}
	f.read(t, v)
}

// unknown reports a field that this kind does not have.
func (m mapping) unknown(p pair, candidates []string) {
	v := m.value
	v.at = p.key
	message, hint := "there is no such field", v.o.suggest(p.name, candidates)
	if v.hush {
		// What stands there may be a secret in the wrong place.
		message, hint = "a field in here is not one of "+strings.Join(candidates, ", "), ""
	} else {
		v.path = join(m.path, plain(p.name))
		if hint == "" {
			hint = "this version does not know it; a newer Calico may"
		}
	}
	v.ignore(RuleUnknownField, message, hint)
}

// root is the table for the top level of a Calico object.
func root[T any](spec, status func(*T, value)) fields[T] {
	return fields[T]{"apiVersion": skip[T], "kind": skip[T], "metadata": skip[T], "spec": spec, "status": status}
}

// join puts a path and a key together.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// stringMap reads labels or annotations; an entry that is not text is left out.
func (m mapping) stringMap() map[string]string {
	out := make(map[string]string, len(m.pairs))
	for _, p := range m.pairs {
		e := m.of(p)
		e.path = m.path + "[" + plain(p.name) + "]"
		e.fate = leftOut
		if e.null() {
			out[p.name] = ""
			continue
		}
		s, ok := e.text()
		if !ok {
			continue
		}
		out[p.name] = s
		if strings.HasPrefix(p.name, ownAnnotations) || p.name == foldedMetadata {
			m.o.note(e.path, e.position())
		}
	}
	return out
}
