package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// fault is what is wrong with a file or one of its values: a Problem without its file.
type fault struct {
	rule          string
	line          int // 0: of the file as a whole
	message, hint string
}

func newFault(rule, hint, format string, args ...any) *fault {
	return &fault{rule: rule, message: fmt.Sprintf(format, args...), hint: hint}
}

// word is a text, as it is written, with the number of its line. The line is 0 when there
// is none, or a null.
type word struct {
	text string
	line int
}

func (w word) given() bool { return w.line > 0 }

// UnmarshalYAML reads a scalar.
func (w *word) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return notAWord(n)
	}
	w.text, w.line = n.Value, n.Line
	return nil
}

func notAWord(n *yaml.Node) error {
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: a word belongs here", n.Line)}}
}

// words are a list of texts, or a single one.
type words struct {
	list   []word
	single bool
	line   int
}

// UnmarshalYAML reads a scalar or a list of scalars.
func (w *words) UnmarshalYAML(n *yaml.Node) error {
	w.line = n.Line
	if n.Kind == yaml.ScalarNode {
		w.list, w.single = []word{{n.Value, n.Line}}, true
		return nil
	}
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			if item.ShortTag() == nullTag { // which the decoder would pass over
				return notAWord(item)
			}
		}
	}
	return n.Decode(&w.list)
}

// nullTag is YAML's name of the type of null.
const nullTag = "!!null"

// decodeStrict reads a file of one YAML document into the struct that into points to, and
// tells all that is wrong with its form: unknown fields, values of a wrong type, keys that
// come twice.
func decodeStrict(text []byte, into any) []fault {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	err := d.Decode(into)
	if errors.Is(err, io.EOF) {
		return []fault{{rule: calico.RuleSyntax, message: "the file is empty"}}
	}
	form := formOf(reflect.TypeOf(into).Elem())
	faults := form.faults(err)
	if _, decoded := errors.AsType[*yaml.TypeError](err); err != nil && !decoded {
		return faults
	}
	return append(faults, form.rest(d)...)
}

// rest tells whether anything follows the first document.
func (f form) rest(d *yaml.Decoder) []fault {
	for {
		var n yaml.Node
		if err := d.Decode(&n); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return f.faults(err)
		}
		if next := n.Content[0]; next.ShortTag() != nullTag {
			return []fault{{calico.RuleSyntax, next.Line, "a second document begins here, and only one is read", "put it into a file of its own"}}
		}
	}
}

// form is the fields of all structs that a file is read into, by the names of their types.
type form map[string][]string

func formOf(t reflect.Type) form {
	f := form{}
	f.add(t)
	return f
}

func (f form) add(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]()) {
		return
	}
	for i := range t.NumField() {
		f[t.String()] = append(f[t.String()], t.Field(i).Tag.Get("yaml"))
		f.add(t.Field(i).Type)
	}
}

var (
	yamlLine    = regexp.MustCompile(`(?s)^(?:yaml: )?line (\d+): (.*)$`)
	yamlUnknown = regexp.MustCompile(`(?s)^field (.+) not found in type (.+)$`)
	yamlWrong   = regexp.MustCompile("(?s)^cannot unmarshal !!(\\w+)(?: `(.*)`)? into (.+)$")
)

// faults brings an error of the YAML decoder into our form.
func (f form) faults(err error) []fault {
	if err == nil {
		return nil
	}
	te, decoded := errors.AsType[*yaml.TypeError](err)
	if !decoded {
		at, message := splitLine(err.Error())
		return []fault{{rule: calico.RuleSyntax, line: at, message: message}}
	}
	var out []fault
	for _, message := range te.Errors {
		out = append(out, f.fault(message))
	}
	return out
}

func (f form) fault(text string) fault {
	at, message := splitLine(text)
	out := fault{rule: calico.RuleWrongType, line: at, message: message}
	if m := yamlUnknown.FindStringSubmatch(message); m != nil {
		out.rule, out.message = calico.RuleUnknownField, fmt.Sprintf("there is no field %q here", m[1])
		out.hint = cmp.Or(calico.DidYouMean(m[1], f[m[2]]), "the fields here are "+strings.Join(f[m[2]], ", "))
	} else if m := yamlWrong.FindStringSubmatch(message); m != nil {
		what := map[string]string{"map": "a mapping", "seq": "a list"}[m[1]]
		out.message = cmp.Or(what, strconv.Quote(m[2])) + " is not what belongs here"
		if fields, ok := f[strings.TrimPrefix(m[3], "*")]; ok {
			out.hint = "a mapping with the fields " + strings.Join(fields, ", ") + " does"
		} else if strings.HasPrefix(m[3], "[]") {
			out.hint = "a list does"
		}
	} else if strings.HasPrefix(message, "mapping key ") {
		out.rule = calico.RuleDuplicateField
	}
	return out
}

// splitLine takes the number of the line off a message.
func splitLine(text string) (line int, message string) {
	m := yamlLine.FindStringSubmatch(text)
	if m == nil {
		return 0, strings.TrimPrefix(text, "yaml: ")
	}
	line, _ = strconv.Atoi(m[1]) // digits by the expression
	return line, m[2]
}
