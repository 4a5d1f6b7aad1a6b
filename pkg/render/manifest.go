package render

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// manifestName is the file that says what a set makes.
const manifestName = "set.yaml"

// manifestFile is the form of set.yaml.
type manifestFile struct {
	Description string           `yaml:"description"`
	Bird        string           `yaml:"bird"`
	Targets     []manifestTarget `yaml:"targets"`
}

type manifestTarget struct {
	Name   word       `yaml:"name"`
	Family word       `yaml:"family"`
	Binary word       `yaml:"binary"`
	Files  []fileForm `yaml:"files"`
}

// fileForm is the form of a file that a target makes.
type fileForm struct {
	Name     word `yaml:"name"`
	Template word `yaml:"template"`
	Family   word `yaml:"family"`
}

// line is where the target is, as far as that is known.
func (t manifestTarget) line() int { return cmp.Or(t.Name.line, t.Family.line, t.Binary.line) }

// fileName is what files and programs may be called: nothing that leads to another directory.
var fileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// request is a file that a target asks for, and where it does.
type request struct {
	FileSpec
	at calico.Position
}

// manifest reads set.yaml, and says where each of the files is asked for.
func (l *loader) manifest(src Source) (*Set, []request) {
	if src.FS == nil {
		if !l.failed() {
			l.fail(calico.Position{File: manifestName}, "the set has no such file, which says what it makes", "")
		}
		return nil, nil
	}
	label := path.Join(src.Label, manifestName)
	text, err := fs.ReadFile(src.FS, manifestName)
	if err != nil {
		l.unreadable(label, "cannot be read: "+cause(err), "")
		return nil, nil
	}
	var m manifestFile
	if faults := decodeStrict(text, &m); len(faults) > 0 {
		for _, f := range faults {
			l.fail(calico.Position{File: label, Line: f.line}, f.message, f.hint)
		}
		return nil, nil
	}
	set := &Set{Description: m.Description, Bird: m.Bird}
	r := manifestReader{loader: l, label: label, names: map[string]int{}, taken: map[string]int{}}
	for _, t := range m.Targets {
		set.Targets = append(set.Targets, r.target(t))
	}
	if len(set.Targets) == 0 {
		l.fail(calico.Position{File: label}, "the set makes nothing: it has no targets", "")
	}
	return set, r.requests
}

// manifestReader reads the targets of one set.yaml.
type manifestReader struct {
	*loader
	label    string
	names    map[string]int // of targets, with their lines
	taken    map[string]int // names of files, with their lines
	requests []request
}

func (r *manifestReader) target(t manifestTarget) Target {
	fail := func(line int, format string, args ...any) {
		r.fail(r.at(cmp.Or(line, t.line())), fmt.Sprintf("target %q: ", t.Name.text)+fmt.Sprintf(format, args...), "")
	}
	out := Target{Name: t.Name.text, Binary: t.Binary.text}
	if first, taken := r.names[out.Name]; taken && out.Name != "" {
		fail(0, "there is one of this name at %s already", r.at(first))
	}
	r.names[out.Name] = t.line()
	families, f := familyValue(t.Family.text)
	if out.Families = families; f != nil {
		fail(t.Family.line, "%s", f.message)
	}
	if t.Name.text == "" || t.Binary.text == "" || len(t.Files) == 0 {
		fail(0, "name, binary and files are required")
	}
	if t.Binary.text != "" && !fileName.MatchString(t.Binary.text) {
		fail(t.Binary.line, "binary %q is not the plain name of a program", t.Binary.text)
	}
	for _, f := range t.Files {
		for _, flaw := range f.flaws(r.label, r.taken) {
			fail(f.Name.line, "%s", flaw.message)
		}
		out.Files = append(out.Files, f.spec(families))
		r.requests = append(r.requests, request{f.spec(families), r.at(f.line())})
	}
	return out
}

func (r *manifestReader) at(line int) calico.Position {
	return calico.Position{File: r.label, Line: line}
}

// spec is the file in a target of some families. When it names none itself it is of the
// target's, be that one or both.
func (f fileForm) spec(families []bgp.Family) FileSpec {
	if f.Family.given() {
		families, _ = familyValue(f.Family.text) // flaws tells what is wrong with it
	}
	out := FileSpec{Name: f.Name.text, Template: f.Template.text}
	if len(families) == 1 {
		out.Family = families[0]
	}
	return out
}

// line is where the file's template is asked for, as far as that is known.
func (f fileForm) line() int { return cmp.Or(f.Template.line, f.Name.line) }

// flaws tells what is wrong with a file that is asked for in the file label. The names that
// are taken already, with their lines, get this one added.
func (f fileForm) flaws(label string, taken map[string]int) []*fault {
	var out []*fault
	name := f.Name.text
	if first, ok := taken[name]; ok {
		out = append(out, newFault(calico.RuleConflict, "", "file %q is made at %s already", name, calico.Position{File: label, Line: first}))
	}
	if !fileName.MatchString(name) {
		out = append(out, newFault(calico.RuleWrongType, "", "%q is not a plain file name", name))
	}
	if f.Template.text == "" {
		out = append(out, newFault(calico.RuleMissingField, "", "file %q: template is required", name))
	}
	if f.Family.given() {
		if _, flaw := familyValue(f.Family.text); flaw != nil {
			flaw.message = fmt.Sprintf("file %q: ", name) + flaw.message
			out = append(out, flaw)
		}
	}
	taken[name] = f.line()
	return out
}
