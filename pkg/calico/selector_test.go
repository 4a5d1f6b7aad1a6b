package calico

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func mustSelector(t testing.TB, text string) *Selector {
	t.Helper()
	s, err := ParseSelector(text)
	if err != nil {
		t.Fatalf("ParseSelector(%q): %v", text, err)
	}
	return s
}

func TestSelectorMatches(t *testing.T) {
	rack1 := map[string]string{"rack": "r1", "role": "worker", "a.b/c_d-e": "x", "empty": "", "in": "not", "has": "it's", "say": `"hi"`}
	for _, tt := range []struct {
		rule, text string
		want       bool
	}{
		{"nothing written matches everything", "", true},
		{"blanks match everything", " \t ", true},
		{"all() matches everything", "all()", true},
		{"blanks may stand in all()", " all( ) ", true},
		{"global() matches every node", "global()", true},

		{"== on an equal value", "rack == 'r1'", true},
		{"== on another value", "rack == 'r2'", false},
		{"== needs no blanks", "rack=='r1'", true},
		{"double quotes serve as well", `rack == "r1"`, true},
		{"tabs are blanks", "rack\t==\t'r1'", true},
		{"an empty value is a value", "empty == ''", true},
		{"case counts", "rack == 'R1'", false},
		{"!= on an equal value", "rack != 'r1'", false},
		{"!= on another value", "rack != 'r2'", true},
		{"contains", "role contains 'ork'", true},
		{"contains the empty text", "role contains ''", true},
		{"contains, but not that", "role contains 'kro'", false},
		{"contains with its value close by", "role contains'ork'", true},
		{"starts with", "role starts with 'wor'", true},
		{"starts with, but at the end", "role starts with 'ker'", false},
		{"startswith in one word", "role startswith 'wor'", true},
		{"starts with over several blanks", "role starts \t with 'wor'", true},
		{"starts with and its value close by", "role starts with\"wor\"", true},
		{"ends with", "role ends with 'ker'", true},
		{"ends with, but at the start", "role ends with 'wor'", false},
		{"endswith in one word", "role endswith 'ker'", true},
		{"in a set", `rack in {'r0', "r1"}`, true},
		{"in a set without order", "rack in {'r9','r1','r5','r0'}", true},
		{"in another set", "rack in {'r2', 'r3'}", false},
		{"in with its set close by", "rack in{'r1'}", true},
		{"a trailing comma in a set", "rack in {'r1',}", true},
		{"in the empty set", "rack in {}", false},
		{"not in the empty set", "rack not in { }", true},
		{"not in a set", "rack not in {'r1'}", false},
		{"not in another set", "rack not in {'r2'}", true},
		{"notin in one word", "rack notin {'r2'}", true},
		{"not in over several blanks", "rack not  in{'r2'}", true},
		{"has", "has(rack)", true},
		{"blanks may stand in has()", "has( rack )", true},
		{"has a label with an empty value", "has(empty)", true},

		{"absent: ==", "zone == 'z'", false},
		{"absent: == ''", "zone == ''", false},
		{"absent: !=", "zone != 'z'", true},
		{"absent: contains", "zone contains ''", false},
		{"absent: starts with", "zone starts with ''", false},
		{"absent: ends with", "zone ends with ''", false},
		{"absent: in", "zone in {''}", false},
		{"absent: not in", "zone not in {'z'}", true},
		{"absent: has", "has(zone)", false},

		{"! negates", "!has(zone)", true},
		{"! may repeat", "!! ! has(zone)", true},
		{"! binds closer than &&", "!has(zone) && has(rack)", true},
		{"&& needs both", "has(rack) && has(zone)", false},
		{"|| needs one", "has(zone) || has(rack)", true},
		{"&& binds closer than ||", "has(rack) || has(rack) && has(zone)", true},
		{"parentheses come first", "(has(rack) || has(rack)) && has(zone)", false},
		{"long chains", "has(zone) || rack == 'x' || has(y) || role == 'worker'", true},
		{"no blanks at all", "!(has(zone)&&all())||has(y)", true},
		{"! in front of parentheses", "!(rack == 'r1')", false},

		{"label of every allowed kind of letter", "a.b/c_d-e == 'x'", true},
		{"label named as an operator", "in in {'not'}", true},
		{"label named as a function", "has == \"it's\"", true},
		{"the other quotes inside a value", `say == '"hi"'`, true},
		{"a line break inside a value", "rack != 'r\n1'", true},
		{"a backslash is no escape", `rack != '\'`, true},
		{"longest label", strings.Repeat("l", 512) + " != ''", true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := mustSelector(t, tt.text)
			if got := s.Matches(rack1); got != tt.want {
				t.Errorf("%q matches: %v, want %v", tt.text, got, tt.want)
			}
			if s.String() != tt.text {
				t.Errorf("String() = %q, want %q", s, tt.text)
			}
		})
	}
}

func TestSelectorZeroValues(t *testing.T) {
	var s Selector
	if !s.Matches(nil) || !s.Matches(map[string]string{"a": "b"}) {
		t.Error("the zero Selector does not match everything")
	}
	if mustSelector(t, "has(a)").Matches(nil) {
		t.Error("has(a) matches an object without labels")
	}
}

func TestParseSelectorErrors(t *testing.T) {
	deep := strings.Repeat("(", 201)
	for _, tt := range []struct {
		rule, text string
		offset     int
		want       string // of Error()
	}{
		{"value without quotes", "(abc == foo)", 8, `expected a value in quotes at character 9, near "foo)"`},
		{"value missing", "rack ==", 7, `expected a value in quotes at the end`},
		{"characters are counted, not bytes", "x == 'äöü' y", 14, `expected "&&", "||" or the end at character 12, near "y"`},
		{"long rests are cut", "has(rack) & " + strings.Repeat("y", 30), 10, `"&" is not an operator, write "&&" at character 11, near "& yyyyyyyyyyyyyyyyyy…"`},
		{"quote not closed", `rack == 'r1"`, 8, `a value without closing quote at character 9, near "'r1\""`},
		{"a label alone", "rack", 4, `expected an operator such as "==" or "in" at the end`},
		{"two labels", "rack r1", 5, `"r1" is not an operator at character 6, near "r1"`},
		{"single =", "rack = 'r1'", 5, `"=" is not an operator, write "==" at character 6, near "= 'r1'"`},
		{"single |", "has(a) | has(b)", 7, `"|" is not an operator, write "||" at character 8, near "| has(b)"`},
		{"misspelt operator", "rack contain 'r'", 5, `"contain" is not an operator (did you mean "contains"?) at character 6, near "contain 'r'"`},
		{"operator in capitals", "rack IN {'r'}", 5, `"IN" is not an operator (did you mean "in"?) at character 6, near "IN {'r'}"`},
		{"no boundary after starts with", "rack starts withr", 5, `"starts withr" is not an operator (did you mean "starts with"?) at character 6, near "starts withr"`},
		{"no boundary after in", "rack in_ {'r'}", 5, `"in_" is not an operator (did you mean "in"?) at character 6, near "in_ {'r'}"`},
		{"not without in", "rack not {'r'}", 5, `"not" is not an operator at character 6, near "not {'r'}"`},
		{"in without set", "rack in 'r1'", 8, `expected "{" at character 9, near "'r1'"`},
		{"set without comma", "rack in {'a' 'b'}", 13, `expected "," or "}" at character 14, near "'b'}"`},
		{"set of words", "rack in {a}", 9, `expected a value in quotes at character 10, near "a}"`},
		{"comma alone in a set", "rack in {,}", 9, `expected a value in quotes at character 10, near ",}"`},
		{"two commas in a set", "rack in {'a',,}", 13, `expected a value in quotes at character 14, near ",}"`},
		{"set not closed", "rack in {'a'", 12, `expected "," or "}" at the end`},
		{"set not closed after its comma", "rack in {'a', ", 14, `expected a value in quotes at the end`},
		{"parenthesis not closed", "(has(a)", 7, `expected "&&", "||" or ")" at the end`},
		{"parenthesis not opened", "has(a))", 6, `")" without "(" at character 7, near ")"`},
		{"empty parentheses", "()", 1, `expected a label name at character 2, near ")"`},
		{"unknown function", "any()", 0, `"any" is not a function; there are all(), global() and has(label) at character 1, near "any()"`},
		{"all with a label", "all(rack)", 4, `expected ")" at character 5, near "rack)"`},
		{"has without label", "has()", 4, `expected a label name at character 5, near ")"`},
		{"has with two labels", "has(a b)", 6, `expected ")" at character 7, near "b)"`},
		{"nothing after &&", "has(a) && ", 10, `expected a label name at the end`},
		{"&& at the start", "&& has(a)", 0, `expected a label name at character 1, near "&& has(a)"`},
		{"! alone", "!", 1, `expected a label name at the end`},
		{"character that no label has", "räck == 'r1'", 1, `expected an operator such as "==" or "in" at character 2, near "äck == 'r1'"`},
		{"line break", "all()\n", 5, `a line break outside quotes is not allowed at character 6, near "\n"`},
		{"label too long", strings.Repeat("l", 513) + " == ''", 0, `a label name longer than 512 characters at character 1, near "llllllllllllllllllll…"`},
		{"too deep", deep, 200, `more than 200 nested parentheses at character 201, near "("`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s, err := ParseSelector(tt.text)
			var e *SelectorError
			if s != nil || !errors.As(err, &e) {
				t.Fatalf("ParseSelector(%q) = %v, %v; want a SelectorError", tt.text, s, err)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if e.Offset != tt.offset || e.Text != tt.text {
				t.Errorf("Offset, Text = %d, %q; want %d, %q", e.Offset, e.Text, tt.offset, tt.text)
			}
		})
	}
}

func TestSelectorErrorPointer(t *testing.T) {
	for _, tt := range []struct {
		rule, text, want string
	}{
		{"in the middle", "rack == foo", "rack == foo\n        ^"},
		{"at the end", "rack ==", "rack ==\n       ^"},
		{"tabs stay tabs", "rack\t==\tfoo", "rack\t==\tfoo\n    \t  \t^"},
		{"letters of several bytes take one place", "x == 'ä' y", "x == 'ä' y\n         ^"},
		{"what does not print becomes a space", "x == 'a\n\x1b' y", "x == 'a  ' y\n           ^"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			_, err := ParseSelector(tt.text)
			var e *SelectorError
			if !errors.As(err, &e) {
				t.Fatalf("ParseSelector(%q): %v", tt.text, err)
			}
			if diff := cmp.Diff(tt.want, e.Pointer()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSelectorNesting(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("(", n) + "has(a)" + strings.Repeat(")", n) }
	if !mustSelector(t, nested(maxSelectorDepth)).Matches(map[string]string{"a": ""}) {
		t.Error("the deepest allowed nesting does not match")
	}
	// Depth is what is bounded: one after the other there may be any number.
	mustSelector(t, nested(maxSelectorDepth)+" && "+nested(maxSelectorDepth))
	mustSelector(t, strings.Repeat("!", 1_000_001)+"has(a)")
	mustSelector(t, strings.Repeat("has(a) && ", 100_000)+"has(a)")
}

func TestSelectorEqual(t *testing.T) {
	a, b := mustSelector(t, "has(a)"), mustSelector(t, "has(b)")
	var none *Selector
	if !a.Equal(mustSelector(t, "has(a)")) || a.Equal(b) || a.Equal(none) || none.Equal(a) || !none.Equal(nil) {
		t.Error("selectors are equal when they are written alike, or both absent")
	}
}

func TestSelectorMatchesAllocatesNothing(t *testing.T) {
	s := mustSelector(t, "(!has(zone) && rack in {'r2', 'r1'}) && role starts with 'w' && (x == 'y' || role not in {'a'})")
	labels := map[string]string{"rack": "r1", "role": "worker"}
	if n := testing.AllocsPerRun(100, func() { s.Matches(labels) }); n != 0 {
		t.Errorf("Matches allocates %v times", n)
	}
}

// drawnSelector is the text of a selector together with what it means, worked out
// without the parser.
type drawnSelector struct {
	text  string
	match func(labels map[string]string) bool
}

var (
	drawLabel  = rapid.SampledFrom([]string{"a", "b.c", "d/e", "f-g", "in", "has"})
	drawValue  = rapid.SampledFrom([]string{"", "x", "xy", "yx", "z z", "==", "&&"})
	drawLabels = rapid.MapOf(drawLabel, drawValue)
	drawBlank  = rapid.SampledFrom([]string{"", " ", "\t "})
)

func drawTest(t *rapid.T) drawnSelector {
	label, value, other := drawLabel.Draw(t, "label"), drawValue.Draw(t, "value"), drawValue.Draw(t, "other")
	get := func(have func(string) bool) func(map[string]string) bool {
		return func(labels map[string]string) bool {
			v, ok := labels[label]
			return ok && have(v)
		}
	}
	kinds := []struct {
		format string
		have   func(string) bool
	}{
		{"%[1]s == '%[2]s'", func(v string) bool { return v == value }},
		{`%[1]s contains "%[2]s"`, func(v string) bool { return strings.Contains(v, value) }},
		{"%[1]s starts with '%[2]s'", func(v string) bool { return strings.HasPrefix(v, value) }},
		{"%[1]s ends with '%[2]s'", func(v string) bool { return strings.HasSuffix(v, value) }},
		{"%[1]s in {'%[2]s', \"%[3]s\"}", func(v string) bool { return v == value || v == other }},
		{"has(%[1]s)", func(string) bool { return true }},
		{"!%[1]s != '%[2]s'", func(v string) bool { return v == value }},
		{"!%[1]s not in {'%[2]s','%[3]s',}", func(v string) bool { return v == value || v == other }},
	}
	kind := kinds[rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")]
	return drawnSelector{fmt.Sprintf(kind.format+"%.0[2]s%.0[3]s", label, value, other), get(kind.have)}
}

func drawSelector(t *rapid.T, depth int) drawnSelector {
	kind := "test"
	if depth > 0 {
		kind = rapid.SampledFrom([]string{"test", "not", "and", "or"}).Draw(t, "kind")
	}
	if kind == "test" {
		return drawTest(t)
	}
	blank := drawBlank.Draw(t, "blank")
	a := drawSelector(t, depth-1)
	if kind == "not" {
		return drawnSelector{"!" + blank + "(" + a.text + ")", func(l map[string]string) bool { return !a.match(l) }}
	}
	b := drawSelector(t, depth-1)
	if kind == "and" {
		return drawnSelector{"(" + a.text + ")" + blank + "&&(" + b.text + blank + ")", func(l map[string]string) bool { return a.match(l) && b.match(l) }}
	}
	return drawnSelector{"(" + a.text + blank + "||" + blank + b.text + ")", func(l map[string]string) bool { return a.match(l) || b.match(l) }}
}

func TestSelectorProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawSelector(t, 4)
		s, err := ParseSelector(drawn.text)
		if err != nil {
			t.Fatalf("ParseSelector(%q): %v", drawn.text, err)
		}
		negated, err := ParseSelector("!(" + drawn.text + ")")
		if err != nil {
			t.Fatalf("ParseSelector of the negation: %v", err)
		}
		labels := drawLabels.Draw(t, "labels")
		if got, want := s.Matches(labels), drawn.match(labels); got != want {
			t.Errorf("%q matches %v: %v, want %v", drawn.text, labels, got, want)
		}
		if negated.Matches(labels) == s.Matches(labels) {
			t.Errorf("%q and its negation say the same of %v", drawn.text, labels)
		}
	})
}

func FuzzSelector(f *testing.F) {
	for _, text := range []string{
		"", "all()", "global()", "has(a)", "a == 'x' && !(b != \"y\" || c in {'p', 'q',})",
		"a not in {}", "a starts with 'x'", "a endswith 'x'", "a contains 'x'", "((", "a == 'x", "a in {'b'", "!!!", "\xff",
	} {
		f.Add(text)
	}
	labelSets := []map[string]string{nil, {"a": "x"}, {"a": "", "b": "y"}, {"a": "xx", "b": "", "c": "p"}, {"c": "q"}}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSelector(text)
		if err != nil {
			var e *SelectorError
			if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(text) {
				t.Fatalf("error without a place: %v", err)
			}
			if strings.ContainsAny(e.Error(), "\r\n") || strings.Count(e.Pointer(), "\n") != 1 {
				t.Errorf("error on several lines: %q, %q", e.Error(), e.Pointer())
			}
			return
		}
		again, err := ParseSelector(s.String())
		if err != nil {
			t.Fatalf("does not parse again: %v", err)
		}
		for _, labels := range labelSets {
			if s.Matches(labels) != again.Matches(labels) {
				t.Errorf("parsed again, %q judges %v otherwise", text, labels)
			}
		}
	})
}
