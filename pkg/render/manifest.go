package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

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
	Name   word `yaml:"name"`
	Family word `yaml:"family"`
	Binary word `yaml:"binary"`
	Files  []struct {
		Name     word `yaml:"name"`
		Template word `yaml:"template"`
	} `yaml:"files"`
}

// line is where the target is, as far as that is known.
func (t manifestTarget) line() int { return cmp.Or(t.Name.line, t.Family.line, t.Binary.line) }

// word is a text with the number of its line.
type word struct {
	text string
	line int
}

// UnmarshalYAML reads a scalar.
func (w *word) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: a word belongs here", n.Line)}}
	}
	w.text, w.line = n.Value, n.Line
	return nil
}

var manifestFields = []string{"description", "bird", "targets", "name", "family", "binary", "files", "template"}

// fileName is what files and programs may be called: nothing that leads to another directory.
var fileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// manifest reads set.yaml, and says where each of the files is asked for.
func (l *loader) manifest(src Source) (*Set, map[string]calico.Position) {
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
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&m); err != nil {
		l.badManifest(label, err)
		return nil, nil
	}
	set := &Set{Description: m.Description, Bird: m.Bird}
	origins := map[string]calico.Position{}
	for _, t := range m.Targets {
		set.Targets = append(set.Targets, l.target(label, t, origins))
	}
	if len(set.Targets) == 0 {
		l.fail(calico.Position{File: label}, "the set makes nothing: it has no targets", "")
	}
	return set, origins
}

func (l *loader) target(label string, t manifestTarget, origins map[string]calico.Position) Target {
	fail := func(line int, format string, args ...any) {
		l.fail(calico.Position{File: label, Line: cmp.Or(line, t.line())}, fmt.Sprintf("target %q: ", t.Name.text)+fmt.Sprintf(format, args...), "")
	}
	out := Target{Name: t.Name.text, Binary: t.Binary.text, Family: bgp.IPv4}
	switch t.Family.text {
	case bgp.IPv4.String():
	case bgp.IPv6.String():
		out.Family = bgp.IPv6
	default:
		fail(t.Family.line, "family is IPv4 or IPv6, not %q", t.Family.text)
	}
	if t.Name.text == "" || t.Binary.text == "" || len(t.Files) == 0 {
		fail(0, "name, binary and files are required")
	}
	if t.Binary.text != "" && !fileName.MatchString(t.Binary.text) {
		fail(t.Binary.line, "binary %q is not the plain name of a program", t.Binary.text)
	}
	for _, f := range t.Files {
		name := f.Name.text
		if first, taken := origins[name]; taken {
			fail(f.Name.line, "file %q is made at %s already", name, first)
		}
		if !fileName.MatchString(name) {
			fail(f.Name.line, "%q is not a plain file name", name)
		}
		if f.Template.text == "" {
			fail(f.Name.line, "file %q: template is required", name)
		}
		origins[name] = calico.Position{File: label, Line: cmp.Or(f.Template.line, f.Name.line)}
		out.Files = append(out.Files, FileSpec{name, f.Template.text})
	}
	return out
}

var (
	yamlLine    = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	yamlUnknown = regexp.MustCompile(`^field (.+) not found in type`)
	yamlWrong   = regexp.MustCompile("^cannot unmarshal !!(\\w+)(?: `(.*)`)? into ")
)

// badManifest brings the errors of the YAML decoder into our form.
func (l *loader) badManifest(label string, err error) {
	messages := []string{err.Error()}
	if te, ok := errors.AsType[*yaml.TypeError](err); ok {
		messages = te.Errors
	} else if errors.Is(err, io.EOF) {
		messages = []string{"the file is empty"}
	}
	for _, message := range messages {
		at, hint := calico.Position{File: label}, ""
		if m := yamlLine.FindStringSubmatch(message); m != nil {
			at.Line, _ = strconv.Atoi(m[1]) // digits by the expression
			message = m[2]
		}
		if m := yamlUnknown.FindStringSubmatch(message); m != nil {
			message, hint = fmt.Sprintf("there is no field %q here", m[1]), calico.DidYouMean(m[1], manifestFields)
		} else if m := yamlWrong.FindStringSubmatch(message); m != nil {
			what := map[string]string{"map": "a mapping", "seq": "a list"}[m[1]]
			message = cmp.Or(what, strconv.Quote(m[2])) + " is not what belongs here"
		}
		l.fail(at, strings.TrimPrefix(message, "yaml: "), hint)
	}
}
