package calico

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Selector is a parsed Calico selector: a condition on an object's labels. The zero
// Selector matches everything, as the empty selector does. It is immutable.
type Selector struct {
	text string
	root selectorNode // nil matches everything
}

// String returns the selector as it was written.
func (s *Selector) String() string { return s.text }

// Equal reports whether both selectors were written alike, or are both nil.
func (s *Selector) Equal(o *Selector) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.text == o.text
}

// Matches reports whether labels satisfy the selector. A label that is absent fails
// every condition except != and not in. It allocates nothing.
func (s *Selector) Matches(labels map[string]string) bool {
	return s.root == nil || s.root.matches(labels)
}

// SelectorError says where a selector stops making sense, and what would have.
type SelectorError struct {
	Text    string // the whole selector
	Offset  int    // byte of Text where the trouble is, len(Text) at the end
	Message string // without the place
}

// Error gives the message, the place counted in characters from 1 and the text there.
func (e *SelectorError) Error() string {
	before, rest := e.split()
	if rest == "" {
		return e.Message + " at the end"
	}
	const shown = 20
	if r := []rune(rest); len(r) > shown {
		rest = string(r[:shown]) + "…"
	}
	return fmt.Sprintf("%s at character %d, near %q", e.Message, utf8.RuneCountInString(before)+1, rest)
}

// Pointer gives the selector on one line and, below it, a caret under the place.
func (e *SelectorError) Pointer() string {
	before, rest := e.split()
	printable := func(r rune) rune {
		if r != '\t' && !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}
	// Tabs stay in both lines, so that the caret is right however wide they are shown.
	blank := func(r rune) rune {
		if r != '\t' {
			return ' '
		}
		return r
	}
	return strings.Map(printable, before) + strings.Map(printable, rest) + "\n" + strings.Map(blank, before) + "^"
}

func (e *SelectorError) split() (before, rest string) {
	i := min(max(e.Offset, 0), len(e.Text))
	return e.Text[:i], e.Text[i:]
}

// selectorNode is one condition. Chains of && and || are one node each, so that trees
// are only as deep as their text has parentheses.
type selectorNode interface {
	matches(labels map[string]string) bool
}

type (
	selectAll     struct{}
	selectNot     struct{ operand selectorNode }
	selectAnd     struct{ operands []selectorNode }
	selectOr      struct{ operands []selectorNode }
	selectHas     struct{ label string }
	selectCompare struct {
		label, value string
		compare      func(have, want string) bool
	}
	selectIn struct {
		label  string
		values []string // sorted
	}
)

func (selectAll) matches(map[string]string) bool { return true }

func (n selectNot) matches(labels map[string]string) bool { return !n.operand.matches(labels) }

func (n selectAnd) matches(labels map[string]string) bool {
	for _, o := range n.operands {
		if !o.matches(labels) {
			return false
		}
	}
	return true
}

func (n selectOr) matches(labels map[string]string) bool {
	for _, o := range n.operands {
		if o.matches(labels) {
			return true
		}
	}
	return false
}

func (n selectHas) matches(labels map[string]string) bool {
	_, ok := labels[n.label]
	return ok
}

func (n selectCompare) matches(labels map[string]string) bool {
	have, ok := labels[n.label]
	return ok && n.compare(have, n.value)
}

func (n selectIn) matches(labels map[string]string) bool {
	have, ok := labels[n.label]
	if !ok {
		return false
	}
	_, ok = slices.BinarySearch(n.values, have)
	return ok
}
