package render

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// configForm is the form of a conf.d file.
type configForm struct {
	Set       word         `yaml:"set"`
	Templates words        `yaml:"templates"`
	Targets   []targetForm `yaml:"targets"`
}

type targetForm struct {
	Name      word        `yaml:"name"`
	Family    word        `yaml:"family"`
	Binary    word        `yaml:"binary"`
	Version   word        `yaml:"version"`
	Check     word        `yaml:"check"`
	Directory word        `yaml:"directory"`
	Socket    word        `yaml:"socket"`
	Mode      word        `yaml:"mode"`
	Owner     word        `yaml:"owner"`
	Files     []fileForm  `yaml:"files"`
	Reload    *reloadForm `yaml:"reload"`
}

// line is where the target is, as far as that is known.
func (t targetForm) line() int {
	return cmp.Or(t.Name.line, t.Family.line, t.Binary.line, t.Version.line, t.Check.line, t.Directory.line,
		t.Socket.line, t.Mode.line, t.Owner.line)
}

type reloadForm struct {
	Signal  *signalForm `yaml:"signal"`
	Command words       `yaml:"command"`
	Timeout word        `yaml:"timeout"`
}

type signalForm struct {
	PIDFile word `yaml:"pid_file"`
	Process word `yaml:"process"`
	Name    word `yaml:"name"`
}

// requests are the files that the targets themselves ask for.
func (c configForm) requests(file string) []request {
	var out []request
	for _, t := range c.Targets {
		for _, f := range t.Files {
			if f.Template.text != "" { // else that is reported
				out = append(out, request{f.spec(nil), calico.Position{File: file, Line: f.line()}})
			}
		}
	}
	return out
}

// form reads the form of a file, and reports what is wrong with it.
func (l *configLoader) form(path string) (form configForm, ok bool) {
	text, err := readRegular(path)
	if err != nil {
		l.report(path, fault{rule: calico.RuleUnreadable, message: "cannot be read: " + cause(err)})
		return form, false
	}
	faults := decodeStrict(text, &form)
	for _, f := range faults {
		l.report(path, f)
	}
	return form, len(faults) == 0
}

// file reads one file of a conf.d directory.
func (l *configLoader) file(dir, name string) {
	path := filepath.Join(dir, name)
	form, ok := l.form(path)
	if !ok {
		return
	}
	at := calico.Position{File: path, Line: form.Set.line}
	if form.Set.given() && form.Set.text == "" {
		l.add(at, newFault(calico.RuleMissingField, "leave the field out for "+defaultSet, "set is empty"))
		return
	}
	set := l.set(form.Set.text, at, l.overlay(dir, path, form.Templates), form.requests(path))
	if len(form.Targets) == 0 {
		f := newFault(calico.RuleMissingField, "", "the file has no targets")
		if set != nil {
			f.hint = "the set has " + strings.Join(targetNames(set.Targets), ", ")
		}
		l.report(path, *f)
	}
	for _, t := range form.Targets {
		r := targetReader{configLoader: l, file: path, form: t}
		l.targets = append(l.targets, r.read(set))
	}
}

func (l *configLoader) overlay(dir, file string, templates words) []Source {
	var out []Source
	for _, t := range templates.list {
		if t.text == "" {
			l.add(calico.Position{File: file, Line: t.line}, newFault(calico.RuleMissingField, "", "templates is the name of a directory, or a list of them, and one is empty"))
			continue
		}
		path := beside(dir, t.text)
		out = append(out, Source{FS: os.DirFS(path), Label: path})
	}
	return out
}

// targetReader reads one target of a conf.d file.
type targetReader struct {
	*configLoader
	file string
	form targetForm
}

// fail reports a fault of the target, on a line if one is given.
func (r *targetReader) fail(line int, f *fault) {
	f.message = fmt.Sprintf("target %q: ", r.form.Name.text) + f.message
	r.add(r.at(line), f)
}

func (r *targetReader) at(line int) calico.Position {
	return calico.Position{File: r.file, Line: cmp.Or(line, r.form.line())}
}

// value hands what a field says to parse, and reports what is wrong with it. A field that
// is not given has the value otherwise.
func value[T any](r *targetReader, w word, otherwise T, parse func(string) (T, *fault)) T {
	if !w.given() {
		return otherwise
	}
	v, f := parse(w.text)
	if f != nil {
		r.fail(w.line, f)
	}
	return v
}

// read makes a target of the form. Without a set only what stands there is checked.
func (r *targetReader) read(set *Set) placed {
	form := r.form
	out := placed{TargetConfig: TargetConfig{Target: r.base(set), Set: set}, at: r.at(0), socketAt: r.at(form.Socket.line)}
	if set != nil {
		out.Version = set.Bird
	}
	r.families(&out.Target)
	out.Binary = value(r, form.Binary, out.Binary, binaryValue)
	out.Version = value(r, form.Version, out.Version, versionValue)
	out.Check = value(r, form.Check, CheckRequire, checkValue)
	out.Directory = value(r, form.Directory, DefaultDirectory, absolute("directory"))
	out.Mode = value(r, form.Mode, 0, modeValue)
	out.Owner = value(r, form.Owner, nil, r.accounts.owner)
	if form.Files != nil {
		out.Files = r.files(out.Families)
	}
	for i := range out.Files {
		at := r.at(0)
		if i < len(form.Files) {
			at = r.at(form.Files[i].line())
		}
		out.filesAt = append(out.filesAt, at)
	}
	out.Socket = value(r, form.Socket, filepath.Join(defaultSockets, form.Name.text+".ctl"), socketValue)
	if form.Reload != nil {
		if out.Reload = r.reload(); form.Socket.given() && out.Socket != "" {
			r.fail(form.Reload.line(), newFault(calico.RuleConflict, "keep one of them; a socket also tells what BIRD made of the files",
				"socket and reload exclude each other"))
		}
		out.Socket = ""
	}
	return out
}

// base is the target of the set that the form builds on, or a new one.
func (r *targetReader) base(set *Set) Target {
	form := r.form
	if !form.Name.given() {
		r.fail(0, newFault(calico.RuleMissingField, "", "name is required"))
	} else if !fileName.MatchString(form.Name.text) {
		r.fail(form.Name.line, newFault(calico.RuleWrongType, "letters, digits, _, - and . will do, and - and . not in front", "the name is not plain"))
	}
	t := Target{Name: form.Name.text}
	if set == nil {
		return t
	}
	if i := slices.IndexFunc(set.Targets, func(of Target) bool { return of.Name == t.Name }); i >= 0 {
		return set.Targets[i]
	}
	var missing []string
	for _, field := range []struct {
		name  string
		given bool
	}{{"family", form.Family.given()}, {"binary", form.Binary.given()}, {"files", form.Files != nil}} {
		if !field.given {
			missing = append(missing, field.name)
		}
	}
	if len(missing) > 0 && form.Name.given() {
		names := targetNames(set.Targets)
		r.fail(form.Name.line, newFault(calico.RuleMissingField, calico.DidYouMean(t.Name, names),
			"the set has no such target (it has %s), so this one needs %s", strings.Join(names, ", "), strings.Join(missing, ", ")))
	}
	return t
}

// families sets the target's families. Files of the set go along from one to the other.
func (r *targetReader) families(t *Target) {
	before := t.Families
	t.Families = value(r, r.form.Family, before, familyValue)
	switch {
	case len(before) != 1 || r.form.Files != nil:
	case len(t.Families) == 2:
		r.fail(r.form.Family.line, newFault(calico.RuleConflict, "name files for both", "the set's files are for %s only", before[0]))
	case len(t.Families) == 1:
		t.Files = slices.Clone(t.Files)
		for i := range t.Files {
			if f := &t.Files[i]; f.Family == before[0] {
				f.Family = t.Families[0]
			}
		}
	}
}

func (r *targetReader) files(families []bgp.Family) []FileSpec {
	var out []FileSpec
	if len(r.form.Files) == 0 {
		r.fail(0, newFault(calico.RuleMissingField, "", "files is empty"))
	}
	taken := map[string]int{}
	for _, f := range r.form.Files {
		for _, flaw := range f.flaws(r.file, taken) {
			r.fail(f.line(), flaw)
		}
		out = append(out, f.spec(families))
	}
	return out
}
