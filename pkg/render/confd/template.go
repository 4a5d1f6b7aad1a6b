package confd

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/birdconfd/birdconfd/pkg/render/keys"
)

// Generation is which of Calico's template interfaces a template was written for.
type Generation string

// The three generations.
const (
	UpTo331 Generation = "3.31" // keys and values only
	Only332 Generation = "3.32" // getBGPConfig besides, and most of the former keys
	From333 Generation = "3.33" // more in getBGPConfig, former keys gone
)

// Spec is what conf.d says about a template.
type Spec struct {
	// Label stands for the file in messages, and Resource for the file of conf.d that names it.
	Label, Resource string
	// Prefix is taken away from paths before the template sees them, and joined with each of
	// Keys to the beginnings of the paths that it sees.
	Prefix string
	Keys   []string
	// Generation is the template's, "" to tell by what it asks for.
	Generation Generation
}

// Template is a template that has been parsed.
type Template struct {
	Spec
	// Calls has the names of the functions that it calls anywhere, and of the fields that it
	// asks for, these with a dot before them.
	Calls map[string]bool
	// Texts are the strings and the text in it, for whoever looks for something.
	Texts []string
	tmpl  *template.Template
}

// Limits bound the execution of templates. Zero values take the defaults.
type Limits struct {
	Time time.Duration // of all that are executed with the same Data
	Size int           // of each output, in bytes
}

// Defaults of Limits. A mesh of 5,000 nodes takes some tenths of a second and 3 MB.
const (
	DefaultTime = 5 * time.Second
	DefaultSize = 64 << 20
)

// Parse reads a template. An error is one of text/template.
func Parse(spec Spec, text []byte) (*Template, error) {
	tmpl, err := template.New(spec.Label).Funcs(functions(&run{})).Parse(string(text))
	if err != nil {
		return nil, err
	}
	t := &Template{Spec: spec, Calls: map[string]bool{}, tmpl: tmpl}
	for _, d := range tmpl.Templates() {
		if d.Tree == nil || d.Root == nil {
			continue
		}
		g := guard{tree: d.Tree, template: t}
		g.list(d.Root)
		d.Root.Nodes = append([]parse.Node{g.step(d.Root)}, d.Root.Nodes...)
	}
	if t.Generation == "" {
		t.Generation = generationOf(t)
	}
	return t, nil
}

// generationOf tells the generations apart by what they need: getBGPConfig was not there up
// to 3.31, and since 3.33 depends on a key that was not there before, which is then named.
func generationOf(t *Template) Generation {
	if !t.Calls["getBGPConfig"] {
		return UpTo331
	}
	if _, cover := keys.Expand(t.Prefix, t.Keys, ""); slices.Contains(cover, keys.Trigger) {
		return From333
	}
	return Only332
}

// Data is what templates of one daemon are executed with. It is not for use by several
// goroutines.
type Data struct {
	keys.Source
	// Getenv returns variables of the environment; nil for none.
	Getenv func(string) (string, bool)
	Limits Limits
	tree   *keys.Tree
	// started is when the first template was.
	started time.Time
}

// store is what a template sees.
func (d *Data) store(t *Template) *keys.Store {
	if d.tree == nil {
		d.tree = keys.New(d.Source)
	}
	return d.tree.Store(t.Prefix, t.Keys, d.Node)
}

// Execute makes a file. The error is an *Error or one of text/template.
func (t *Template) Execute(d *Data) (out Output, err error) {
	if d.started.IsZero() {
		d.started = time.Now()
	}
	r := &run{template: t, data: d, limits: d.Limits}
	if r.limits.Time == 0 {
		r.limits.Time = DefaultTime
	}
	if r.limits.Size == 0 {
		r.limits.Size = DefaultSize
	}
	tmpl, err := t.tmpl.Clone()
	if err != nil {
		return out, fmt.Errorf("%s: %w", t.Label, err)
	}
	defer func() {
		if p := recover(); p != nil {
			err = &Error{At: t.Label, Message: fmt.Sprintf("executing the template panics: %v", p)}
		}
	}()
	if err := tmpl.Funcs(functions(r)).Execute(r, handle{r}); err != nil {
		if placed, ok := errors.AsType[*Error](err); ok {
			return out, placed
		}
		return out, err
	}
	return Output{Data: r.out.Bytes(), SawSecret: r.secret}, nil
}

// Output is what a template makes. SawSecret tells that the template was given a password,
// whatever it made of it.
type Output struct {
	Data      []byte
	SawSecret bool
}

// Error is what is wrong at a place in a template, when text/template does not know better.
type Error struct {
	At      string // FILE:LINE:COLUMN, columns from 0
	Message string
}

func (e *Error) Error() string { return "template: " + e.At + ": " + e.Message }

// handle is the dot of templates. It has nothing in it.
type handle struct{ r *run }

// String is what a template prints that prints its dot.
func (handle) String() string { return "(the handle of the store)" }

// run is one execution.
type run struct {
	template *Template
	data     *Data
	limits   Limits
	steps    int
	depth    int
	secret   bool
	out      bytes.Buffer
	store    *keys.Store
	configs  map[int]*Config
}

// Write implements io.Writer for the output.
func (r *run) Write(p []byte) (int, error) {
	if r.out.Len()+len(p) > r.limits.Size {
		return 0, fmt.Errorf("its output is larger than %d bytes", r.limits.Size)
	}
	return r.out.Write(p)
}

// guards are the functions that guard calls.
func (r *run) guards() template.FuncMap {
	return template.FuncMap{stepFunction: r.step, printFunction: r.printed, enterFunction: r.enter, leaveFunction: r.leave}
}

// maxDepth is how deep templates may call each other; text/template's own limit costs 100 MB.
const maxDepth = 1000

// enter and leave are called around each call of a template.
func (r *run) enter(at string) (string, error) {
	if r.depth++; r.depth > maxDepth {
		return "", &Error{At: at, Message: fmt.Sprintf("templates call each other more than %d deep", maxDepth)}
	}
	return "", nil
}

func (r *run) leave() string { r.depth--; return "" }

// step is called in each round of each loop.
func (r *run) step(at string) (string, error) {
	if r.steps++; r.steps%64 == 0 && time.Since(r.data.started) > r.limits.Time {
		return "", &Error{At: at, Message: fmt.Sprintf("the templates have run for %s and were stopped in this loop", r.limits.Time)}
	}
	return "", nil
}

// printed is called with each value that is printed.
func (r *run) printed(at, expression string, v any) (any, error) {
	if v == nil {
		return nil, &Error{At: at, Message: fmt.Sprintf("{{%s}} has no value", expression)}
	}
	return v, nil
}
