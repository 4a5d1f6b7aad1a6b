package render

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render/confd"
	"github.com/birdconfd/birdconfd/templates"
)

// Target is one BIRD daemon and its files.
type Target struct {
	Name string
	// Families are those of the Views that the files are made of: one or both.
	Families []bgp.Family
	// Binary is the daemon's program, which checks the files: a name, or an absolute path.
	Binary string
	Files  []FileSpec // the first is the one BIRD starts with
	// Beside is the directory of other files that Files may include, "" for none.
	Beside string
}

// Main is the name of the file that BIRD starts with.
func (t Target) Main() string { return t.Files[0].Name }

// FamilyName is how the families are written: IPv4, IPv6 or both.
func (t Target) FamilyName() string {
	if len(t.Families) == 1 {
		return t.Families[0].String()
	}
	return bothFamilies
}

// Only returns the target for some of its families; false when none is left. It keeps the
// files of the other families, which then are empty, since others may include them.
func (t Target) Only(families []bgp.Family) (Target, bool) {
	var left []bgp.Family
	for _, f := range t.Families {
		if slices.Contains(families, f) {
			left = append(left, f)
		}
	}
	t.Families = left
	return t, len(left) > 0
}

// ReadyFor tells that all the Views are there that the target needs.
func (t Target) ReadyFor(views bgp.Views) bool {
	return len(views.Only(t.Families).All()) == len(t.Families)
}

// FileSpec says which template makes which file.
type FileSpec struct {
	Name, Template string
	// Family is that of the View that the template gets; zero gives it the bgp.Views.
	Family bgp.Family
	// Mode and Owner are the file's own; zero and nil for those of the target.
	Mode  fs.FileMode
	Owner *Owner
}

// Set is a loaded set of templates with what it makes.
type Set struct {
	Description string
	// Bird is the version of BIRD the files are written for, such as "1.6"; empty for any.
	Bird    string
	Targets []Target
	tmpl    *template.Template
	// confd has templates written for confd, by FileSpec.Template; nil in a set of our own.
	confd map[string]*confd.Template
	// broken has what is wrong with those of them that do not load.
	broken map[string]calico.Problem
}

// IsConfd tells that the templates were written for confd: they see the whole cluster, and
// not only the Views.
func (s *Set) IsConfd() bool { return s.confd != nil }

// Source is a directory of templates. Label stands before file names in messages.
type Source struct {
	FS    fs.FS
	Label string
	// parts are other directories that belong to it.
	parts []Source
}

// Builtin returns the built-in set of that name.
func Builtin(name string) (Source, error) {
	if _, err := fs.Stat(templates.FS, path.Join(name, manifestName)); err != nil || !fs.ValidPath(name) {
		return Source{}, fmt.Errorf("there is no template set %q; there is: %s", name, strings.Join(BuiltinNames(), ", "))
	}
	own, shared := embedded(name), embedded(templates.Shared)
	own.parts = []Source{shared}
	return own, nil
}

// embedded is a directory of package templates.
func embedded(name string) Source {
	sub, err := fs.Sub(templates.FS, name)
	if err != nil {
		panic(err) // the name is a valid path
	}
	return Source{FS: sub, Label: "templates/" + name}
}

// BuiltinNames lists the built-in sets.
func BuiltinNames() []string {
	entries, _ := fs.ReadDir(templates.FS, ".") // an embedded directory is always readable
	var names []string
	for _, e := range entries {
		if e.Name() != templates.Shared {
			names = append(names, e.Name())
		}
	}
	return names
}
