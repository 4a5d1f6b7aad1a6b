package render

import (
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render/confd"
)

var (
	templateError   = regexp.MustCompile(`(?s)^template: (.+?:\d+(?::\d+)?): (.*)$`)
	location        = regexp.MustCompile(`^(.+?):(\d+)(?::(\d+))?$`)
	unknownField    = regexp.MustCompile(`can't evaluate field (\w+) in type \*?(?:bgp|calico|render)\.(\w+)`)
	unknownFunction = regexp.MustCompile(`function "(\w+)" not defined`)
)

// templateProblem brings an error of text/template into our form.
func templateProblem(err error) calico.Problem {
	p := calico.Problem{Severity: calico.Error, Rule: calico.RuleTemplate, Message: err.Error()}
	if m := templateError.FindStringSubmatch(err.Error()); m != nil {
		p.Position, p.Message = position(m[1]), m[2]
	}
	p.Hint = templateHint(p.Message)
	if missing, ok := errors.AsType[*confd.KeyError](err); ok {
		p.Hint = missing.Hint
	}
	return p
}

// position reads FILE:LINE:COLUMN or FILE:LINE as text/template writes it, which counts
// columns from 0.
func position(text string) calico.Position {
	m := location.FindStringSubmatch(text)
	if m == nil {
		return calico.Position{File: text}
	}
	p := calico.Position{File: m[1]}
	p.Line, _ = strconv.Atoi(m[2]) // digits by the expression
	if m[3] != "" {
		p.Column, _ = strconv.Atoi(m[3])
		p.Column++
	}
	return p
}

// types are what templates can reach, by name.
var types = func() map[string]reflect.Type {
	m := map[string]reflect.Type{}
	for _, v := range []any{bgp.Views{}, bgp.View{}, bgp.NodeInfo{}, bgp.Listen{}, bgp.Route{}, bgp.PoolReject{}, bgp.Gateway{}, bgp.NextHop{},
		bgp.CommunityRule{}, bgp.KernelRule{}, bgp.Peer{}, bgp.FilterFunction{}, bgp.FilterRule{}, bgp.Condition{},
		bgp.PrefixCondition{}, bgp.Operation{}, bgp.Policy{}, bgp.FilterCall{}, calico.Community{}, policyContext{}} {
		t := reflect.TypeOf(v)
		m[t.Name()] = t
	}
	return m
}()

// namesIn lists what templates can ask of a type: exported fields and methods.
func namesIn(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			names = append(names, f.Name)
		}
	}
	for i := range reflect.PointerTo(t).NumMethod() {
		names = append(names, reflect.PointerTo(t).Method(i).Name)
	}
	return names
}

// builtinFunctions are those of text/template.
var builtinFunctions = []string{"and", "call", "html", "index", "slice", "js", "len", "not", "or", "print", "printf",
	"println", "urlquery", "eq", "ge", "gt", "le", "lt", "ne"}

// templateHint suggests what a misspelt field or function may have meant.
func templateHint(message string) string {
	if m := unknownField.FindStringSubmatch(message); m != nil {
		if t, ok := types[m[2]]; ok {
			return calico.DidYouMean(m[1], namesIn(t))
		}
	}
	if m := unknownFunction.FindStringSubmatch(message); m != nil {
		return calico.DidYouMean(m[1], slices.AppendSeq(slices.Clone(builtinFunctions), maps.Keys(functions)))
	}
	return ""
}
