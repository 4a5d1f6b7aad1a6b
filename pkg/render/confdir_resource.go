package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render/confd"
)

// resourceForm is the form of a template resource.
type resourceForm struct {
	Template struct {
		Src       string   `toml:"src"`
		Dest      string   `toml:"dest"`
		Keys      []string `toml:"keys"`
		Prefix    string   `toml:"prefix"`
		UID       *int64   `toml:"uid"`
		GID       *int64   `toml:"gid"`
		Owner     string   `toml:"owner"`
		Mode      string   `toml:"mode"`
		CheckCmd  string   `toml:"check_cmd"`
		ReloadCmd string   `toml:"reload_cmd"`
	} `toml:"template"`
}

// resource is a template resource with its template.
type resource struct {
	path string // of the file of conf.d
	text []byte
	// key is the template's among those of the set.
	key           string
	dest          string
	check, reload string // commands
	mode          fs.FileMode
	owner         *Owner
	template      *confd.Template
	// includes are the names of files that the template may have BIRD include.
	includes map[string]bool
}

// at is the line of a field.
func (r *resource) at(field string) calico.Position {
	p := calico.Position{File: r.path}
	if i := regexp.MustCompile(`(?m)^[ \t]*["']?` + regexp.QuoteMeta(field) + `["']?[ \t]*=`).FindIndex(r.text); i != nil {
		p.Line = 1 + bytes.Count(r.text[:i[0]], []byte("\n"))
	}
	return p
}

// resource reads a file of conf.d; nil when it or its template cannot be used.
func (l *confdirLoader) resource(path string) *resource {
	before := len(l.problems)
	r := &resource{path: path}
	var err error
	if r.text, err = readRegular(path); err != nil {
		l.report(path, fault{rule: calico.RuleUnreadable, message: "cannot be read: " + cause(err)})
		return nil
	}
	var form resourceForm
	meta, err := toml.Decode(string(r.text), &form)
	if err != nil {
		l.add(tomlFault(path, err))
		return nil
	}
	unknown := meta.Undecoded()
	for _, k := range unknown {
		if slices.ContainsFunc(unknown, func(o toml.Key) bool { return len(o) < len(k) && slices.Equal(o, k[:len(o)]) }) {
			continue // it is in a table that is not known
		}
		l.warn(r.at(k[len(k)-1]), calico.RuleUnknownField, fmt.Sprintf("field %s is not known; it is ignored, as by confd", k),
			calico.DidYouMean(k[len(k)-1], []string{"src", "dest", "keys", "prefix", "uid", "gid", "owner", "mode", "check_cmd", "reload_cmd"}))
	}
	t := form.Template
	fail := func(field string, f *fault) { l.add(r.at(field), f) }
	r.dest, r.check, r.reload = filepath.Clean(t.Dest), strings.TrimSpace(t.CheckCmd), strings.TrimSpace(t.ReloadCmd)
	switch {
	case t.Dest == "":
		fail("dest", newFault(calico.RuleMissingField, "", "dest is required"))
	case !filepath.IsAbs(t.Dest):
		fail("dest", newFault(calico.RuleWrongType, "", "dest %q is not an absolute path", t.Dest))
	case !fileName.MatchString(filepath.Base(r.dest)):
		fail("dest", newFault(calico.RuleWrongType, "letters, digits, _, - and . will do, and - and . not in front", "dest %q has no plain file name", t.Dest))
	}
	if t.Mode != "" {
		var f *fault
		if r.mode, f = modeValue(t.Mode); f != nil {
			fail("mode", f)
		} else if t.Mode[0] != '0' {
			l.warn(r.at("mode"), calico.RuleRange, fmt.Sprintf("mode %q is taken for octal %04o; confd takes it for a decimal number", t.Mode, r.mode), fmt.Sprintf(`write "%04o"`, r.mode))
		}
	}
	l.owner(r, t.Owner, t.UID, t.GID, fail)
	if len(t.Keys) == 0 {
		l.warn(r.at("keys"), calico.RuleMissingField, "keys is empty, so the template sees no keys", `"/" is all of them`)
	}
	if t.Src == "" {
		fail("src", newFault(calico.RuleMissingField, "", "src is required"))
	} else {
		l.template(r, t.Src, confd.Spec{Prefix: t.Prefix, Keys: t.Keys, Resource: path, Generation: l.o.Generation})
	}
	if calico.HasErrors(l.problems[before:]) {
		return nil
	}
	return r
}

// tomlPlace is how some errors of the decoder begin.
var tomlPlace = regexp.MustCompile(`^line (\d+) \(last key "([^"]*)"\): (.*)$`)

// tomlFault brings an error of the TOML decoder into our form.
func tomlFault(path string, err error) (calico.Position, *fault) {
	at := calico.Position{File: path}
	message := strings.TrimPrefix(err.Error(), "toml: ")
	if m := tomlPlace.FindStringSubmatch(message); m != nil {
		at.Line, _ = strconv.Atoi(m[1]) // digits by the expression
		message = m[2] + ": " + m[3]
	}
	rule := calico.RuleSyntax
	if e, ok := errors.AsType[toml.ParseError](err); ok {
		at.Line, at.Column = e.Position.Line, e.Position.Col
		message = cmp.Or(e.Message, message)
		if e.LastKey != "" {
			message = e.LastKey + ": " + message
		}
	}
	if strings.Contains(message, "incompatible types") {
		rule = calico.RuleWrongType
	}
	return at, newFault(rule, "", "%s", message)
}

// owner reads who the file belongs to: uid and gid, or a name.
func (l *confdirLoader) owner(r *resource, name string, uid, gid *int64, fail func(string, *fault)) {
	if name != "" {
		var f *fault
		if r.owner, f = l.accounts.owner(name); f != nil {
			fail("owner", f)
		}
		if uid != nil || gid != nil {
			fail("owner", newFault(calico.RuleConflict, "keep one of them", "owner excludes uid and gid"))
		}
		return
	}
	if uid == nil && gid == nil {
		return
	}
	r.owner = &Owner{UID: -1, GID: -1}
	for _, of := range []struct {
		field string
		value *int64
		into  *int
	}{{"uid", uid, &r.owner.UID}, {"gid", gid, &r.owner.GID}} {
		if of.value == nil {
			continue
		}
		if *of.value < 0 || *of.value > 1<<32-2 {
			fail(of.field, newFault(calico.RuleRange, "", "%s %d is out of range", of.field, *of.value))
			continue
		}
		*of.into = int(*of.value)
	}
}

// includePattern is a statement by which BIRD reads another file.
var includePattern = regexp.MustCompile(`\binclude\s+"([^"{}]+)"`)

// template reads the template of a resource.
func (l *confdirLoader) template(r *resource, src string, spec confd.Spec) {
	top := filepath.Join(l.o.Dir, confdTemplates)
	if !filepath.IsLocal(src) {
		l.add(r.at("src"), newFault(calico.RuleWrongType, "", "src %q is not inside %s", src, top))
		return
	}
	path := filepath.Join(top, src)
	spec.Label = path
	text, err := readRegular(path)
	if l.places { // only what it includes matters, as far as that can be seen
		r.template = &confd.Template{Spec: spec, Texts: []string{string(text)}}
		r.key, r.includes = r.path, includesOf(r.template)
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		var there []string
		entries, _ := os.ReadDir(top) // the error is said already
		for _, e := range entries {
			there = append(there, e.Name())
		}
		l.add(r.at("src"), newFault(calico.RuleUnreadable, calico.DidYouMean(src, there), "there is no template %s", path))
		return
	} else if err != nil {
		l.report(path, fault{rule: calico.RuleUnreadable, message: "cannot be read: " + cause(err)})
		return
	}
	if r.template, err = confd.Parse(spec, text); err != nil {
		p := templateProblem(err)
		if m := unknownFunction.FindStringSubmatch(p.Message); m != nil {
			p.Hint = calico.DidYouMean(m[1], append(confd.FunctionNames(), builtinFunctions...))
		}
		l.take(p)
		return
	}
	r.key, r.includes = r.path, includesOf(r.template)
	for _, text := range r.template.Texts {
		for _, m := range includePattern.FindAllStringSubmatch(text, -1) {
			name := m[1]
			if filepath.IsAbs(name) && filepath.Dir(name) == filepath.Dir(r.dest) {
				l.warn(calico.Position{File: path}, calico.RuleBirdCheck, fmt.Sprintf("include %q names the directory, so that a check reads the file that is in place instead of the new one", name),
					fmt.Sprintf("write include %q", filepath.Base(name)))
			}
		}
	}
	if r.template.Calls["datetime"] {
		l.warn(calico.Position{File: path}, calico.RuleTemplate, "datetime makes the file another one each time it is made, and so has BIRD reloaded with each change of the cluster", "leave it out")
	}
}

// includesOf are the names of the files that a template's text has BIRD include.
func includesOf(t *confd.Template) map[string]bool {
	out := map[string]bool{}
	for _, text := range t.Texts {
		for _, m := range includePattern.FindAllStringSubmatch(text, -1) {
			out[filepath.Base(m[1])] = true
		}
	}
	return out
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
