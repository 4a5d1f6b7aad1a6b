package render

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// hookPrefix begins the names of the templates that are meant to be filled.
const hookPrefix = "hook-"

// Load reads a set from its base and, over it, an operator's own directories. What these
// define takes the place of what the base defines under the same name, whatever the files
// are called; only set.yaml is replaced as a whole. The Set is nil when one of the problems
// is an error.
func Load(base Source, overlay ...Source) (*Set, []calico.Problem) {
	return loadSet(base, overlay, nil)
}

// loadSet is Load for whoever makes files besides those of set.yaml.
func loadSet(base Source, overlay []Source, more []request) (*Set, []calico.Problem) {
	l := loader{defined: map[string]definition{}}
	var manifest Source
	for layer, src := range append([]Source{base}, overlay...) {
		for _, part := range append([]Source{src}, src.parts...) {
			for _, name := range l.list(part) {
				if name == manifestName {
					manifest = part
				} else {
					l.parse(layer, part, name)
				}
			}
		}
	}
	set, requests := l.manifest(manifest)
	if set != nil && !l.failed() {
		l.checkCalls(append(requests, more...))
	}
	if l.failed() {
		return nil, l.problems
	}
	set.tmpl = newTemplate("birdconfd")
	for name, d := range l.defined {
		// The tree comes from a template that has just been made of it.
		template.Must(set.tmpl.AddParseTree(name, d.tree))
	}
	return set, l.problems
}

func newTemplate(name string) *template.Template {
	return template.New(name).Option("missingkey=error").Funcs(functions)
}

type loader struct {
	defined  map[string]definition
	problems []calico.Problem
}

// definition is what counts for a name: of several layers' definitions the last.
type definition struct {
	tree  *parse.Tree
	layer int // 0 is the base
	at    calico.Position
	// inBase tells that the base defines the name too.
	inBase bool
}

func (l *loader) report(severity calico.Severity, at calico.Position, message, hint string) {
	l.problems = append(l.problems, calico.Problem{Severity: severity, Rule: calico.RuleTemplate,
		Position: at, Message: message, Hint: hint})
}

func (l *loader) fail(at calico.Position, message, hint string) {
	l.report(calico.Error, at, message, hint)
}

func (l *loader) failed() bool {
	worst, ok := calico.Worst(l.problems)
	return ok && worst == calico.Error
}

func (l *loader) unreadable(file, message, hint string) {
	l.problems = append(l.problems, calico.Problem{Severity: calico.Error, Rule: calico.RuleUnreadable,
		Position: calico.Position{File: file}, Message: message, Hint: hint})
}

// list returns the names of a directory's files that count, sorted.
func (l *loader) list(src Source) []string {
	entries, err := fs.ReadDir(src.FS, ".")
	if err != nil {
		l.unreadable(src.Label, "the directory of templates cannot be read: "+cause(err), "")
		return nil
	}
	var names []string
	others := false
	for _, e := range entries {
		switch name := e.Name(); {
		case name == manifestName || path.Ext(name) == ".tmpl" && name[0] != '.':
			names = append(names, name)
		case name[0] != '.':
			others = true
		}
	}
	switch {
	case len(names) > 0:
	case others:
		l.unreadable(src.Label, "there is no template in the directory", "templates are in files that end in .tmpl")
	default: // somebody may have removed the last one
		l.report(calico.Warning, calico.Position{File: src.Label}, "the directory of templates is empty, so only the built-in ones are used", "")
	}
	return names
}

// cause leaves the path out of a file error, since the position names it already.
func cause(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

// parse reads one file and takes over what it defines.
func (l *loader) parse(layer int, src Source, name string) {
	label := path.Join(src.Label, name)
	text, err := fs.ReadFile(src.FS, name)
	if err != nil {
		l.unreadable(label, "cannot be read: "+cause(err), "")
		return
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // some editors begin a file with it
	file, err := newTemplate(label).Parse(string(text))
	if err != nil {
		l.problems = append(l.problems, templateProblem(err))
		return
	}
	templates := file.Templates()
	slices.SortFunc(templates, func(a, b *template.Template) int { return strings.Compare(a.Name(), b.Name()) })
	for _, t := range templates {
		if t.Name() != label {
			l.define(layer, t, calico.Position{File: label, Line: lineOfDefine(text, t.Name())})
		} else if n := outside(t.Root); n != nil {
			l.fail(calico.Position{File: label, Line: lineAt(text, n)},
				"there is text outside of define, which is never rendered", `put it between {{define "NAME"}} and {{end}}`)
		}
	}
}

func (l *loader) define(layer int, t *template.Template, at calico.Position) {
	name := t.Name()
	before, known := l.defined[name]
	switch {
	case known && before.layer == layer:
		l.fail(at, fmt.Sprintf("template %q is defined at %s too", name, before.at), "keep one of the two, or put both texts into one")
		return
	case layer > 0 && strings.HasPrefix(name, hookPrefix) && !before.inBase:
		l.fail(at, fmt.Sprintf("%q is not a hook of this set", name), l.hooks(name))
		return
	}
	l.defined[name] = definition{tree: t.Tree, layer: layer, at: at, inBase: layer == 0 || before.inBase}
}

func (l *loader) hooks(name string) string {
	hooks := slices.DeleteFunc(l.names(), func(n string) bool { return !strings.HasPrefix(n, hookPrefix) })
	if near := calico.DidYouMean(name, hooks); near != "" {
		return near
	}
	return "hooks: " + strings.Join(hooks, ", ")
}

// names lists what is defined.
func (l *loader) names() []string { return slices.Sorted(maps.Keys(l.defined)) }

// lineOfDefine is the number of the line that defines a template, 0 when it is written in
// some uncommon way.
func lineOfDefine(text []byte, name string) int {
	at := regexp.MustCompile(`\{\{-?\s*(?:define|block)\s+["` + "`]" + regexp.QuoteMeta(name) + `["` + "`]").FindIndex(text)
	if at == nil {
		return 0
	}
	return 1 + bytes.Count(text[:at[0]], []byte("\n"))
}

// outside finds what a file has outside of its definitions, nil if there is nothing.
func outside(root *parse.ListNode) parse.Node {
	i := slices.IndexFunc(root.Nodes, func(n parse.Node) bool {
		t, isText := n.(*parse.TextNode)
		return !isText || len(bytes.TrimSpace(t.Text)) > 0
	})
	if i < 0 {
		return nil
	}
	return root.Nodes[i]
}

// lineAt is the number of the line on which a node begins, empty lines aside.
func lineAt(text []byte, n parse.Node) int {
	at := int(n.Position())
	if t, ok := n.(*parse.TextNode); ok {
		at += len(t.Text) - len(bytes.TrimLeft(t.Text, " \t\r\n"))
	}
	return 1 + bytes.Count(text[:at], []byte("\n"))
}
