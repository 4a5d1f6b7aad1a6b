package keys

import (
	"path"
	"slices"
	"strings"
)

// dir is a place in the tree: it can have a value, and others below it.
type dir struct {
	value *string
	below map[string]*dir
	// names are those of below in order; nil when they have not been needed.
	names []string
	// fill makes what is below when it is asked for first.
	fill func(*dir)
}

// open makes sure that what is below is there.
func (d *dir) open() {
	if f := d.fill; f != nil {
		d.fill = nil
		f(d)
	}
}

// at returns a place below, nil when there is none.
func (d *dir) at(elements []string) *dir {
	for _, e := range elements {
		d.open()
		if d = d.below[e]; d == nil {
			return nil
		}
	}
	return d
}

// make returns a place below, which is there afterwards.
func (d *dir) make(elements ...string) *dir {
	for _, e := range elements {
		next := d.below[e]
		if next == nil {
			if d.below == nil {
				d.below = map[string]*dir{}
			}
			next = &dir{}
			d.below[e], d.names = next, nil
		}
		d = next
	}
	return d
}

// set gives a place below a value.
func (d *dir) set(value string, elements ...string) { d.make(elements...).value = &value }

// lazy makes what is below a place when it is asked for.
func (d *dir) lazy(fill func(*dir), elements ...string) { d.make(elements...).fill = fill }

// sorted lists the names of what is directly below.
func (d *dir) sorted() []string {
	d.open()
	if d.names == nil {
		for name := range d.below {
			d.names = append(d.names, name)
		}
		slices.Sort(d.names)
	}
	return d.names
}

// join is a path with another element.
func join(at, name string) string {
	if at == "/" {
		return at + name
	}
	return at + "/" + name
}

// elementsOf takes an absolute, clean path apart.
func elementsOf(p string) []string {
	if p == "/" {
		return nil
	}
	return strings.Split(p[1:], "/")
}

// isClean tells that a path is absolute and written in its shortest form, as all keys are.
func isClean(p string) bool { return strings.HasPrefix(p, "/") && path.Clean(p) == p }
