package calico

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// maxLabelLength is the longest label name that Calico reads.
	maxLabelLength = 512
	// maxSelectorDepth bounds nested parentheses, far above what anyone writes, because
	// parsing and matching recurse that deep.
	maxSelectorDepth = 200
)

// ParseSelector reads a selector:
//
//	or        = and { "||" and }
//	and       = term { "&&" term }
//	term      = { "!" } ( "(" or ")" | "all()" | "global()" | "has(" label ")" | label test )
//	test      = ( "==" | "!=" | "contains" | "starts with" | "ends with" ) value
//	          | ( "in" | "not in" ) "{" [ value { "," value } [ "," ] ] "}"
//
// Values stand in single or double quotes and know no escapes; labels are made of
// letters, digits and _ . / -. Spaces and tabs may stand anywhere between these, and
// the two words of an operator may be written as one. A blank selector matches
// everything. The error is a *SelectorError.
func ParseSelector(text string) (*Selector, error) {
	p := selectorParser{text: text}
	p.blanks()
	if p.rest() == "" {
		return &Selector{text: text}, nil
	}
	root, err := p.or()
	if err != nil {
		return nil, err
	}
	p.blanks()
	switch rest := p.rest(); {
	case rest == "":
		return &Selector{text: text, root: root}, nil
	case rest[0] == ')':
		return nil, p.fail(`")" without "("`)
	default:
		return nil, p.fail(`expected "&&", "||" or the end`)
	}
}

// selectorParser walks over a selector's text; each method reads one thing of the
// grammar from pos on.
type selectorParser struct {
	text  string
	pos   int
	depth int
}

func (p *selectorParser) rest() string { return p.text[p.pos:] }

func (p *selectorParser) blanks() {
	p.pos = len(p.text) - len(strings.TrimLeft(p.rest(), " \t"))
}

// skip passes over s if it comes next.
func (p *selectorParser) skip(s string) bool {
	if !strings.HasPrefix(p.rest(), s) {
		return false
	}
	p.pos += len(s)
	return true
}

// run passes over the longest text made of bytes that ok accepts.
func (p *selectorParser) run(ok func(byte) bool) string {
	start := p.pos
	for p.pos < len(p.text) && ok(p.text[p.pos]) {
		p.pos++
	}
	return p.text[start:p.pos]
}

// fail makes the error for the current place.
func (p *selectorParser) fail(message string) error {
	if rest := p.rest(); rest != "" && (rest[0] == '\n' || rest[0] == '\r') {
		message = "a line break outside quotes is not allowed"
	}
	return &SelectorError{Text: p.text, Offset: p.pos, Message: message}
}

// failAt makes the error for a place that was already passed.
func (p *selectorParser) failAt(pos int, message string) error {
	p.pos = pos
	return p.fail(message)
}

func (p *selectorParser) or() (selectorNode, error) {
	operands, err := p.chain("||", p.and)
	if err != nil || len(operands) > 1 {
		return selectOr{operands}, err
	}
	return operands[0], nil
}

func (p *selectorParser) and() (selectorNode, error) {
	operands, err := p.chain("&&", p.term)
	if err != nil || len(operands) > 1 {
		return selectAnd{operands}, err
	}
	return operands[0], nil
}

// chain reads operands joined by an operator; at least one.
func (p *selectorParser) chain(operator string, operand func() (selectorNode, error)) ([]selectorNode, error) {
	var operands []selectorNode
	for {
		n, err := operand()
		if err != nil {
			return nil, err
		}
		operands = append(operands, n)
		p.blanks()
		if !p.skip(operator) {
			if p.skip(operator[:1]) {
				return nil, p.failAt(p.pos-1, fmt.Sprintf("%q is not an operator, write %q", operator[:1], operator))
			}
			return operands, nil
		}
	}
}

func (p *selectorParser) term() (selectorNode, error) {
	negate := false
	p.blanks()
	for p.skip("!") {
		negate = !negate
		p.blanks()
	}
	n, err := p.plainTerm()
	if negate && err == nil {
		n = selectNot{n}
	}
	return n, err
}

func (p *selectorParser) plainTerm() (selectorNode, error) {
	if p.skip("(") {
		return p.parentheses()
	}
	start := p.pos
	word, err := p.label()
	if err != nil {
		return nil, err
	}
	if !p.skip("(") {
		return p.test(word)
	}
	var n selectorNode = selectAll{}
	switch word {
	case "all", "global":
		p.blanks()
	case "has":
		p.blanks()
		label, err := p.label()
		if err != nil {
			return nil, err
		}
		p.blanks()
		n = selectHas{label}
	default:
		return nil, p.failAt(start, fmt.Sprintf("%q is not a function; there are all(), global() and has(label)", word))
	}
	if !p.skip(")") {
		return nil, p.fail(`expected ")"`)
	}
	return n, nil
}

// parentheses reads on after an opening one.
func (p *selectorParser) parentheses() (selectorNode, error) {
	if p.depth++; p.depth > maxSelectorDepth {
		return nil, p.failAt(p.pos-1, fmt.Sprintf("more than %d nested parentheses", maxSelectorDepth))
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	p.depth--
	p.blanks()
	if !p.skip(")") {
		return nil, p.fail(`expected "&&", "||" or ")"`)
	}
	return n, nil
}

func (p *selectorParser) label() (string, error) {
	start := p.pos
	switch label := p.run(isLabelByte); {
	case label == "":
		return "", p.fail("expected a label name")
	case len(label) > maxLabelLength:
		return "", p.failAt(start, fmt.Sprintf("a label name longer than %d characters", maxLabelLength))
	default:
		return label, nil
	}
}

func equal(have, want string) bool { return have == want }

// selectorOperators holds all spellings of the operators that are words.
var selectorOperators = []string{"contains", "starts with", "startswith", "ends with", "endswith", "in", "not in", "notin"}

// test reads the operator after a label and what it compares with.
func (p *selectorParser) test(label string) (selectorNode, error) {
	p.blanks()
	start := p.pos
	switch {
	case p.skip("=="):
		return p.compare(label, equal)
	case p.skip("!="):
		n, err := p.compare(label, equal)
		return selectNot{n}, err
	case p.skip("="):
		return nil, p.failAt(start, `"=" is not an operator, write "=="`)
	}
	switch word := p.operator(); word {
	case "contains":
		return p.compare(label, strings.Contains)
	case "starts with", "startswith":
		return p.compare(label, strings.HasPrefix)
	case "ends with", "endswith":
		return p.compare(label, strings.HasSuffix)
	case "in":
		return p.set(label)
	case "not in", "notin":
		n, err := p.set(label)
		return selectNot{n}, err
	case "":
		return nil, p.fail(`expected an operator such as "==" or "in"`)
	default:
		message := fmt.Sprintf("%q is not an operator", word)
		if hint := DidYouMean(word, selectorOperators); hint != "" {
			message += " (" + hint + ")"
		}
		return nil, p.failAt(start, message)
	}
}

// operator reads an operator made of words, with one space between two of them.
func (p *selectorParser) operator() string {
	word := p.run(isWordByte)
	if word != "starts" && word != "ends" && word != "not" {
		return word
	}
	p.blanks()
	return strings.TrimRight(word+" "+p.run(isWordByte), " ")
}

func (p *selectorParser) compare(label string, compare func(have, want string) bool) (selectorNode, error) {
	value, err := p.value()
	return selectCompare{label: label, value: value, compare: compare}, err
}

func (p *selectorParser) set(label string) (selectorNode, error) {
	p.blanks()
	if !p.skip("{") {
		return nil, p.fail(`expected "{"`)
	}
	n := selectIn{label: label}
	for p.blanks(); !p.skip("}"); p.blanks() {
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		n.values = append(n.values, value)
		p.blanks()
		if !p.skip(",") && !strings.HasPrefix(p.rest(), "}") {
			return nil, p.fail(`expected "," or "}"`)
		}
	}
	slices.Sort(n.values)
	return n, nil
}

func (p *selectorParser) value() (string, error) {
	p.blanks()
	start := p.pos
	for _, quote := range []string{"'", `"`} {
		if !p.skip(quote) {
			continue
		}
		value, _, closed := strings.Cut(p.rest(), quote)
		if !closed {
			return "", p.failAt(start, "a value without closing quote")
		}
		p.pos += len(value) + len(quote)
		return value, nil
	}
	return "", p.fail("expected a value in quotes")
}

func isLabelByte(b byte) bool { return isWordByte(b) || b == '.' || b == '/' || b == '-' }

func isWordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}
