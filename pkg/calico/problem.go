package calico

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Severity says how bad a Problem is.
type Severity int

const (
	// Info is worth knowing and changes no exit code.
	Info Severity = iota
	// Warning is probably not what was meant; everything was still rendered as asked.
	Warning
	// Error means something that was asked for is missing from the result.
	Error
)

var severityNames = [...]string{Info: "info", Warning: "warning", Error: "error"}

// String returns "info", "warning" or "error".
func (s Severity) String() string { return severityNames[s] }

// MarshalText makes a Severity a word in JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Severity) UnmarshalText(text []byte) error {
	i := slices.Index(severityNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("%q is no severity", text)
	}
	*s = Severity(i)
	return nil
}

// Position is a place in an input file. Line and Column count from 1; a zero Line
// means that only the file is known, and an empty File that nothing is.
type Position struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// IsZero reports whether nothing is known about the place.
func (p Position) IsZero() bool { return p == Position{} }

// String gives FILE:LINE:COLUMN, as compilers do, or as much of it as is known.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Problem is one thing that is wrong, doubtful or worth knowing about the input or
// the result. All packages report in this form. Message and Hint never hold a secret.
type Problem struct {
	Severity Severity `json:"severity"`
	// Rule is the stable identifier, one of the constants of this package.
	Rule string `json:"rule"`
	// Resource is KIND/NAME, or KIND/NAMESPACE/NAME for namespaced kinds.
	Resource string `json:"resource,omitempty"`
	// Field is the path inside the resource, such as spec.filters[0].
	Field    string   `json:"field,omitempty"`
	Position Position `json:"position,omitzero"`
	// Message is a full sentence without a full stop that also says what was done about it.
	Message string `json:"message"`
	// Hint says how to mend it, when that is known.
	Hint string `json:"hint,omitempty"`
}

// String gives the problem on one line, with a second line for the hint.
func (p Problem) String() string {
	var b strings.Builder
	if !p.Position.IsZero() {
		b.WriteString(Printable(p.Position.String()))
		b.WriteString(": ")
	}
	b.WriteString(p.Severity.String())
	b.WriteString(": ")
	if where := strings.TrimSpace(p.Resource + " " + p.Field); where != "" {
		b.WriteString(Printable(where))
		b.WriteString(": ")
	}
	fmt.Fprintf(&b, "%s [%s]", Printable(p.Message), p.Rule)
	if p.Hint != "" {
		b.WriteString("\n    hint: ")
		b.WriteString(Printable(p.Hint))
	}
	return b.String()
}

// Printable takes control characters out of a text that may come from anywhere, so that it
// can neither break a line nor steer a terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}

// SortProblems puts problems in a fixed order: by place, then resource, field,
// severity (worst first), rule and text.
func SortProblems(ps []Problem) {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Position.File, b.Position.File),
			cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column),
			cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Field, b.Field),
			cmp.Compare(b.Severity, a.Severity),
			cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Message, b.Message),
		)
	})
}

// Worst returns the highest severity among the problems, and false if there are none.
func Worst(ps []Problem) (Severity, bool) {
	if len(ps) == 0 {
		return Info, false
	}
	return slices.MaxFunc(ps, func(a, b Problem) int { return cmp.Compare(a.Severity, b.Severity) }).Severity, true
}

// HasErrors reports whether any of the problems is an error.
func HasErrors(ps []Problem) bool {
	worst, some := Worst(ps)
	return some && worst == Error
}
