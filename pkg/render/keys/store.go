package keys

import (
	"path"
	"slices"
	"strings"

	"github.com/kelseyhightower/memkv"
)

// Store is what one template sees of a Tree. Its methods are those of memkv.Store, with the
// same answers. It is not for use by several goroutines.
type Store struct {
	root *dir
	// base is the path of the root in the tree.
	base string
	// cover are the beginnings of paths in the tree that are seen; nil for all.
	cover []string
}

// covers tells that a path in the tree is seen.
func (s *Store) covers(path string) bool {
	return s.cover == nil || slices.ContainsFunc(s.cover, func(c string) bool { return strings.HasPrefix(path, c) })
}

// leads tells that something below a path in the tree may be seen.
func (s *Store) leads(path string) bool {
	path = strings.TrimSuffix(path, "/") + "/"
	return s.covers(path) || slices.ContainsFunc(s.cover, func(c string) bool { return strings.HasPrefix(c, path) })
}

// absolute is a key's path in the tree.
func (s *Store) absolute(key string) string { return path.Join(s.base, key) }

// hasAny tells that a value is seen at a place or below it.
func (s *Store) hasAny(d *dir, at string) bool {
	return d.value != nil && s.covers(at) || s.hasBelow(d, at)
}

func (s *Store) hasBelow(d *dir, at string) bool {
	if !s.leads(at) {
		return false
	}
	for _, name := range d.sorted() {
		if s.hasAny(d.below[name], join(at, name)) {
			return true
		}
	}
	return false
}

// find returns the place of a clean key, which need not be seen; nil when there is none.
func (s *Store) find(key string) *dir { return s.root.at(elementsOf(key)) }

// IsEmpty tells that nothing at all is seen.
func (s *Store) IsEmpty() bool { return !s.hasAny(s.root, s.base) }

// Exists tells whether a key has a value.
func (s *Store) Exists(key string) bool {
	_, err := s.Get(key)
	return err == nil
}

// Get returns a key with its value, or a *memkv.KeyError.
func (s *Store) Get(key string) (memkv.KVPair, error) {
	if isClean(key) && s.covers(s.absolute(key)) {
		if d := s.find(key); d != nil && d.value != nil {
			return memkv.KVPair{Key: key, Value: *d.value}, nil
		}
	}
	return memkv.KVPair{}, &memkv.KeyError{Key: key, Err: memkv.ErrNotExist}
}

// GetValue returns a key's value; without one the first of the others, if any.
func (s *Store) GetValue(key string, otherwise ...string) (string, error) {
	kv, err := s.Get(key)
	if err != nil && len(otherwise) > 0 {
		return otherwise[0], nil
	}
	return kv.Value, err
}

// GetAll returns the keys that match a pattern of path.Match, sorted.
func (s *Store) GetAll(pattern string) (memkv.KVPairs, error) {
	out := memkv.KVPairs{}
	if _, err := path.Match(pattern, ""); err != nil {
		if s.hasAny(s.root, s.base) {
			return nil, err
		}
		return out, nil
	}
	// Within brackets, and after a backslash, a slash does not end an element.
	const odd = `[\`
	elements, at, fixed := []string{pattern}, s.root, "/"
	if strings.HasPrefix(pattern, "/") {
		elements = elementsOf(pattern)
	} else if !strings.ContainsAny(pattern, odd) {
		return out, nil
	}
	for len(elements) > 0 && !strings.ContainsAny(elements[0], `*?[\`) {
		if at = at.at(elements[:1]); at == nil {
			return out, nil
		}
		fixed, elements = join(fixed, elements[0]), elements[1:]
	}
	if slices.ContainsFunc(elements, func(e string) bool { return strings.ContainsAny(e, odd) }) {
		s.walk(at, fixed, func(key, value string) {
			if ok, _ := path.Match(pattern, key); ok {
				out = append(out, memkv.KVPair{Key: key, Value: value})
			}
		})
	} else {
		s.match(at, fixed, elements, &out)
	}
	slices.SortFunc(out, func(a, b memkv.KVPair) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// walk visits the keys at a place and below it that are seen.
func (s *Store) walk(d *dir, at string, visit func(key, value string)) {
	if d.value != nil && s.covers(s.absolute(at)) {
		visit(at, *d.value)
	}
	if !s.leads(s.absolute(at)) {
		return
	}
	for _, name := range d.sorted() {
		s.walk(d.below[name], join(at, name), visit)
	}
}

// match collects the keys below a place that match the elements of a pattern.
func (s *Store) match(d *dir, at string, elements []string, out *memkv.KVPairs) {
	if len(elements) == 0 {
		if d.value != nil && s.covers(s.absolute(at)) {
			*out = append(*out, memkv.KVPair{Key: at, Value: *d.value})
		}
		return
	}
	if !s.leads(s.absolute(at)) {
		return
	}
	if !strings.ContainsAny(elements[0], "*?") {
		if next := d.at(elements[:1]); next != nil {
			s.match(next, join(at, elements[0]), elements[1:], out)
		}
		return
	}
	for _, name := range d.sorted() {
		if ok, _ := path.Match(elements[0], name); ok {
			s.match(d.below[name], join(at, name), elements[1:], out)
		}
	}
}

// GetAllValues returns the values of GetAll, sorted.
func (s *Store) GetAllValues(pattern string) ([]string, error) {
	out := []string{}
	pairs, err := s.GetAll(pattern)
	for _, kv := range pairs {
		out = append(out, kv.Value)
	}
	slices.Sort(out)
	return out, err
}

// List returns the names directly below a path, and the path's own if it has a value itself.
func (s *Store) List(at string) []string {
	out := []string{}
	clean := path.Clean(at)
	if !strings.HasPrefix(clean, "/") {
		return out
	}
	d := s.find(clean)
	if d == nil {
		return out
	}
	if d.value != nil && at == clean && s.covers(s.absolute(at)) {
		out = append(out, path.Base(at))
	}
	if clean == "/" { // for memkv only keys of one element are below the root
		for _, name := range d.sorted() {
			if next := d.below[name]; next.value != nil && s.covers(s.absolute("/"+name)) {
				out = append(out, strippedFirst("/"+name, at))
			}
		}
	} else {
		for _, name := range s.below(d, clean, s.hasAny) {
			out = append(out, strippedFirst(join(clean, name), at))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// strippedFirst is the first element of a key without a path before it, which need not be
// written in its shortest form.
func strippedFirst(key, at string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(key, at), "/")
	first, _, _ := strings.Cut(rest, "/")
	return first
}

// ListDir returns the names directly below a path that have something below themselves.
func (s *Store) ListDir(at string) []string {
	out := []string{}
	clean := path.Clean(at)
	if !strings.HasPrefix(clean, "/") || clean == "/" || at != clean && at != clean+"/" {
		return out
	}
	if d := s.find(clean); d != nil {
		out = append(out, s.below(d, clean, s.hasBelow)...)
	}
	return out
}

// below lists the names directly below a place that are seen.
func (s *Store) below(d *dir, at string, seen func(*dir, string) bool) []string {
	path := s.absolute(at)
	if !s.leads(path) {
		return nil
	}
	var out []string
	for _, name := range d.sorted() {
		if seen(d.below[name], join(path, name)) {
			out = append(out, name)
		}
	}
	return out
}
