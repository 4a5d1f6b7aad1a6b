package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
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
	path          string // of the file of conf.d
	text          []byte
	dest          string
	check, reload string // commands
	mode          fs.FileMode
	owner         *Owner
	// template is nil when it does not load, for the reason broken.
	template *confd.Template
	broken   calico.Problem
	source   string // of the template, as far as it can be read
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
	r := l.readResource(path)
	if calico.HasErrors(l.problems[before:]) {
		l.incomplete = true
		return nil
	}
	return r
}

func (l *confdirLoader) readResource(path string) *resource {
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
	if !meta.IsDefined("template") {
		l.report(path, fault{rule: calico.RuleMissingField, message: "there is no table [template]"})
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
		l.mode(r, t.Mode, fail)
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
	return r
}

// tomlPlace is how some errors of the decoder begin.
var tomlPlace = regexp.MustCompile(`^line (\d+) \(last key "([^"]*)"\): (.*)$`)

// tomlTypes is an error about a value of the wrong type, and tomlType what its words mean.
var tomlTypes = regexp.MustCompile(`^(.*: )?(?:incompatible types: TOML value has type (\w+); destination has type|type mismatch for) (\w+).*$`)

func tomlType(word, otherwise string) string {
	return cmp.Or(map[string]string{"int64": "number", "float64": "number", "string": "text", "slice": "a list of texts", "struct": "a single table, as [template],",
		"bool": "true or false", "integer": "a number"}[word], otherwise)
}

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
	if m := tomlTypes.FindStringSubmatch(message); m != nil {
		rule = calico.RuleWrongType
		message = fmt.Sprintf("%sa %s stands where %s belongs", m[1], tomlType(m[2], "value"), tomlType(m[3], "another type of value"))
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
	r.source = string(text)
	r.includes = includesOf([]string{r.source})
	if l.places { // only what it includes matters, as far as that can be seen
		r.template = &confd.Template{Spec: spec}
		return
	}
	if err != nil {
		r.broken = l.unreadable(r.at("src"), path, err)
		return
	}
	if r.template, err = confd.Parse(spec, text); err != nil {
		r.broken = templateProblem(err)
		if m := unknownFunction.FindStringSubmatch(r.broken.Message); m != nil {
			r.broken.Hint = calico.DidYouMean(m[1], append(confd.FunctionNames(), builtinFunctions...))
		}
		return
	}
	r.includes = includesOf(r.template.Texts)
	if r.template.Calls["datetime"] {
		l.warn(calico.Position{File: path}, calico.RuleTemplate, "datetime makes the file another one each time it is made, and so has BIRD reloaded with each change of the cluster", "leave it out")
	}
}

// unreadable is why a template cannot be read.
func (l *confdirLoader) unreadable(at calico.Position, path string, err error) calico.Problem {
	p := calico.Problem{Severity: calico.Error, Rule: calico.RuleUnreadable, Position: at}
	if !errors.Is(err, fs.ErrNotExist) {
		p.Position, p.Message = calico.Position{File: path}, "cannot be read: "+cause(err)
		return p
	}
	if to, err := os.Readlink(path); err == nil {
		p.Message = fmt.Sprintf("template %s is a link to %s, which is not there", path, to)
		return p
	}
	var there []string
	entries, _ := os.ReadDir(filepath.Dir(path)) // the error is said already
	for _, e := range entries {
		there = append(there, e.Name())
	}
	p.Message, p.Hint = "there is no template "+path, calico.DidYouMean(filepath.Base(path), there)
	return p
}

// mode reads a mode. Whatever confd takes is taken, but for what would let everybody write.
func (l *confdirLoader) mode(r *resource, text string, fail func(string, *fault)) {
	const all, othersWrite = 0o777, 0o002
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0o"), 8, 32)
	switch {
	case err != nil:
		fail("mode", newFault(calico.RuleWrongType, octalHint, "mode %q is not an octal number", text))
		return
	case n == 0 || n > all:
		fail("mode", newFault(calico.RuleRange, octalHint, "mode %q is not from 0001 to 0777", text))
		return
	case n&othersWrite != 0:
		n &^= othersWrite
		l.warn(r.at("mode"), calico.RuleRange, fmt.Sprintf("mode %q would let everybody write the file; %04o is used", text, n), fmt.Sprintf(`write "%04o"`, n))
	}
	r.mode = fs.FileMode(n)
	if decimal, err := strconv.ParseUint(text, 10, 32); err == nil && text[0] != '0' {
		l.warn(r.at("mode"), calico.RuleRange, fmt.Sprintf("mode %q is taken for octal %04o; confd takes it for a decimal number, which is %04o", text, n, decimal), fmt.Sprintf(`write "%04o", or what you mean`, n))
	}
}

// includesOf are the files, as they are written, that texts have BIRD include.
func includesOf(texts []string) map[string]bool {
	out := map[string]bool{}
	for _, text := range texts {
		for _, m := range includePattern.FindAllStringSubmatch(text, -1) {
			out[m[1]] = true
		}
	}
	return out
}
