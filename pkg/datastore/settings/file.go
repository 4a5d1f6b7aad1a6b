package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// What Calico's file says that it is.
const (
	fileVersion = "projectcalico.org/v3"
	fileKind    = "CalicoAPIConfig"
)

// fromFile takes the settings from Calico's file.
func (r *reading) fromFile() {
	path := r.in.ConfigFile
	data, err := r.in.ReadFile(path)
	if err != nil {
		r.fail("--calico-config: %w", err)
		return
	}
	root, err := parse(data)
	if err != nil {
		r.fail("%s: %w", path, err)
		return
	}
	f := file{r, path}
	f.top(root)
	if names := r.ignored(); len(names) > 0 {
		r.note("%s says how the datastore is reached, so that %s count for nothing", path, strings.Join(names, ", "))
	}
}

// lineOf finds the line in an error of yaml.v3, the rest of which may quote a secret.
var lineOf = regexp.MustCompile(`line (\d+)`)

// parse reads the only document of a YAML or JSON text.
func parse(data []byte) (root *yaml.Node, err error) {
	defer func() { // of the parser
		if recover() != nil {
			err = errors.New("it is not valid YAML")
		}
	}()
	var document, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is empty")
		}
		if line := lineOf.FindString(err.Error()); line != "" {
			return nil, fmt.Errorf("it is not valid YAML, near %s", line)
		}
		return nil, errors.New("it is not valid YAML")
	}
	if !errors.Is(d.Decode(&more), io.EOF) {
		return nil, errors.New("it has more than one document")
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it is not a mapping with apiVersion, kind, metadata and spec")
	}
	return document.Content[0], nil
}

// file reads the parsed text.
type file struct {
	*reading
	path string
}

func (f file) at(n *yaml.Node, format string, args ...any) {
	f.fail("%s:%d: %s", f.path, n.Line, fmt.Sprintf(format, args...))
}

// each calls with for the entries of a mapping, each name once.
func (f file) each(n *yaml.Node, with func(name, value *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if seen[name.Value] {
			f.at(name, "%.60q is there twice", name.Value)
			continue
		}
		seen[name.Value] = true
		with(name, value)
	}
}

func (f file) top(root *yaml.Node) {
	said := map[string]string{}
	f.each(root, func(name, value *yaml.Node) {
		switch name.Value {
		case "apiVersion", "kind":
			said[name.Value] = value.Value
		case "metadata":
		case "spec":
			f.spec(value)
		default:
			f.unknown(name, []string{"apiVersion", "kind", "metadata", "spec"})
		}
	})
	if said["apiVersion"] != fileVersion || said["kind"] != fileKind {
		f.at(root, "it is not of apiVersion %s and kind %s", fileVersion, fileKind)
	}
}

func (f file) unknown(name *yaml.Node, known []string) {
	hint := calico.DidYouMean(name.Value, known)
	if hint != "" {
		hint = ", " + hint
	}
	f.at(name, "%.60q is no setting%s", name.Value, hint)
}

func (f file) spec(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		f.at(n, "spec is not a mapping")
		return
	}
	var known []string
	for _, k := range keys {
		known = append(known, k.file)
	}
	f.each(n, func(name, value *yaml.Node) {
		switch {
		case !slices.Contains(known, name.Value):
			f.unknown(name, known)
		case value.Kind != yaml.ScalarNode:
			f.at(value, "spec.%s is not a text, a number or a truth value", name.Value)
		case value.Tag != "!!null" && value.Value != "":
			f.raw[name.Value] = value.Value
			f.from[name.Value] = fmt.Sprintf("%s:%d: spec.%s", f.path, name.Line, name.Value)
		}
	})
}
