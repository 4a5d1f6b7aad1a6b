package calico

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// value is a node of the document together with what a Problem about it needs.
type value struct {
	o    *object
	node *yaml.Node // what it is: an alias has been followed
	at   *yaml.Node // where it stands
	path string
	fate fate
	hush bool // never quoted
	// aliases counts those that led here.
	aliases int
}

// fate is what becomes of the part of an object around a bad value.
type fate struct {
	text string // for the reader: "the peer is left out"
	lost *bool  // set when a value was bad; nil when nobody asks
	// whole means that all values inside share the fate: one bad, all is lost.
	whole bool
	// strict means that what has no meaning spoils the part, too.
	strict bool
}

// unset is the fate of most fields, and leftOut that of entries in lists.
var (
	unset   = fate{text: "the field counts as unset"}
	leftOut = fate{text: "the entry is left out"}
)

// nothing stands in for values that must not be reached.
var nothing = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}

// child makes the value of a node inside v.
func (v value) child(n *yaml.Node, path string) value {
	v.at, v.node, v.path = n, n, path
	if n.Kind == yaml.AliasNode {
		v.node = n.Alias
		v.aliases++
	}
	if v.aliases > 0 && !v.o.d.spend(v) {
		v.node = nothing
	}
	return v
}

// spend counts a value reached through aliases. It reports false when there are so many
// that the document must have been made to explode, or has an anchor inside itself.
func (d *decoder) spend(v value) bool {
	d.aliased++
	if d.aliased <= maxAliased && v.aliases <= maxAliasDepth {
		return true
	}
	if !v.o.lost {
		v.report(Error, RuleSyntax, "the aliases (*) lead to too many values, or into themselves; the resource is left out", "")
	}
	v.o.lost = true
	return false
}

// with returns v with another fate.
func (v value) with(f fate) value { v.fate = f; return v }

// or returns v with another text about its fate.
func (v value) or(fateText string) value { v.fate.text = fateText; return v }

// essential returns v with the fate of the whole object.
func (v value) essential() value { return v.with(v.o.fate()) }

func (v value) null() bool {
	return v.node.Kind == yaml.ScalarNode && v.node.ShortTag() == "!!null"
}

func (v value) position() Position {
	if v.o.d.whole {
		return Position{File: v.o.d.file}
	}
	return Position{File: v.o.d.file, Line: v.o.d.line + v.at.Line, Column: v.at.Column}
}

func (v value) report(s Severity, rule, message, hint string) {
	v.o.d.problems = append(v.o.d.problems, Problem{Severity: s, Rule: rule, Resource: v.o.resource(),
		Field: v.path, Position: v.position(), Message: message, Hint: hint})
}

// bad reports an Error and what it leads to.
func (v value) bad(rule, message, hint string) {
	v.report(Error, rule, message+"; "+v.fate.text, hint)
	if v.fate.lost != nil {
		*v.fate.lost = true
	}
}

// ignore reports what has no meaning and is passed over, unless that would change the
// meaning of the rest.
func (v value) ignore(rule, message, hint string) {
	if v.fate.strict {
		v.bad(rule, message, hint)
		return
	}
	v.report(Error, rule, message+"; it is ignored", hint)
}

// refuse reports that a text is not what it should be.
func (v value) refuse(text string, f *fault) { v.bad(f.rule, v.show(text)+" "+f.what, f.hint) }

// doubt reports the same as a Warning; outcome says what was done.
func (v value) doubt(text string, f *fault, outcome string) {
	v.report(Warning, f.rule, v.show(text)+" "+f.what+"; "+outcome, f.hint)
}

// show quotes a text, unless it may be a secret. Numbers need no quotes.
func (v value) show(text string) string {
	switch {
	case v.hush:
		return "the value"
	case v.typeName() == aNumber:
		return plain(text)
	}
	return quote(text)
}

// missing reports a required field that is absent.
func (v value) missing(name, hint string) {
	v.path = strings.TrimPrefix(v.path+"."+name, ".")
	v.bad(RuleMissingField, "the field is required", hint)
}

// wrongType reports a value of another type than belongs in its place.
func (v value) wrongType(want, hint string) {
	v.bad(RuleWrongType, v.typeName()+" stands where "+want+" belongs", hint)
}

// Types of values, as messages name them.
const (
	aMapping = "a mapping"
	aList    = "a list"
	aNull    = "nothing"
	aBoolean = "a boolean"
	aNumber  = "a number"
	aText    = "text"
)

// typeName names the type of a value.
func (v value) typeName() string {
	switch v.node.Kind {
	case yaml.MappingNode:
		return aMapping
	case yaml.SequenceNode:
		return aList
	}
	switch tag := v.node.ShortTag(); tag {
	case "!!null":
		return aNull
	case "!!bool":
		return aBoolean
	case "!!int", "!!float":
		return aNumber
	case "!!str", "!!timestamp":
		return aText
	}
	return "a value with a tag (!)"
}

// entries returns the entries of a list.
func (v value) entries() iter.Seq2[int, value] {
	return func(yield func(int, value) bool) {
		if v.node.Kind != yaml.SequenceNode {
			v.wrongType(aList, "")
			return
		}
		for i, n := range v.node.Content {
			e := v.child(n, v.path+"["+strconv.Itoa(i)+"]")
			if !v.fate.whole {
				e.fate = leftOut
			}
			if !v.o.sparse {
				v.o.note(e.path, e.position())
			}
			if !yield(i, e) {
				return
			}
		}
	}
}

// limit warns of a list or text that an API server refuses for its size.
func (v value) limit(size, most int, unit string) {
	if size > most {
		v.report(Warning, RuleRange, fmt.Sprintf("%d %s where an API server takes at most %d; all are used", size, unit, most), "")
	}
}
