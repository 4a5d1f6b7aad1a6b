package calico

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// fault says why a text is not the value it should be. The sentence goes on after the
// text in quotes; what becomes of it is added by those who know.
type fault struct{ rule, what, hint string }

// shown is how many bytes of a bad value a message shows.
const shown = 60

// quote puts a text from the input into a message: in quotes, on one line, not too long.
func quote(s string) string { return strconv.Quote(clip(s)) }

// plain does the same without quotes if the text is a plain word.
func plain(s string) string {
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if s == "" || strings.ContainsFunc(s, odd) {
		return quote(s)
	}
	return clip(s)
}

func clip(s string) string {
	if len(s) <= shown {
		return s
	}
	cut := shown
	for cut > shown-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// text reads a text. What looks like a number or a boolean is none: it needs quotes.
func (v value) text() (string, bool) {
	s := v.node.Value
	switch kind := v.typeName(); {
	case kind == aText:
		if v.oldBoolean() {
			v.report(Warning, RuleWrongType, v.show(s)+" without quotes is a boolean to kubectl; it is taken for text here", "put it in quotes")
		}
		return s, true
	case (kind == aNumber || kind == aBoolean) && !v.hush:
		v.wrongType(aText, "put it in quotes: "+strconv.Quote(clip(s)))
	default:
		v.wrongType(aText, "")
	}
	return "", false
}

// oldBoolean recognizes the plain words that YAML 1.1, hence kubectl, takes for booleans
// and YAML 1.2 for text.
func (v value) oldBoolean() bool {
	if v.node.Style != 0 || len(v.node.Value) > 3 {
		return false
	}
	switch strings.ToLower(v.node.Value) {
	case "yes", "no", "on", "off":
		return true
	}
	return false
}

func (v value) boolean() (b, ok bool) {
	if v.typeName() == aBoolean || v.oldBoolean() && v.typeName() == aText {
		switch strings.ToLower(v.node.Value) {
		case "true", "yes", "on":
			return true, true
		}
		return false, true
	}
	if s := v.node.Value; v.typeName() == aText && (s == "true" || s == "false") {
		// What is meant is plain, and the default may be the opposite.
		v.report(Warning, RuleWrongType, quote(s)+" is text where true or false belongs; it is taken for "+s, "remove the quotes")
		return s == "true", true
	}
	v.wrongType("true or false", "")
	return false, false
}

// optionalBool returns nil if the value is bad.
func (v value) optionalBool() *bool {
	if b, ok := v.boolean(); ok {
		return &b
	}
	return nil
}

// parseDecimal reads what is nothing but digits, without needless zeros in front:
// elsewhere those mean octal.
func parseDecimal(s string) (uint64, bool) {
	if s == "" || len(s) > 1 && s[0] == '0' || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil
}

// integer reads a number between bounds, both above -1; 0 if it is bad.
func (v value) integer(least, most uint64) (uint64, bool) {
	switch v.typeName() {
	case aNumber:
	case aText:
		v.wrongType(aNumber, "write it without quotes")
		return 0, false
	default:
		v.wrongType(aNumber, "")
		return 0, false
	}
	s := v.node.Value
	n, ok := parseDecimal(s)
	_, negative := parseDecimal(strings.TrimPrefix(s, "-"))
	switch {
	case ok && least <= n && n <= most:
		return n, true
	case ok || negative || strings.Trim(s, "0123456789") == "" && s[0] != '0':
		v.refuse(s, &fault{RuleRange, fmt.Sprintf("is outside %d to %d", least, most), ""})
	default:
		v.refuse(s, &fault{RuleWrongType, "is not a whole decimal number", ""})
	}
	return 0, false
}

// oneOf reads one of several words; "" if it is none of them.
func (v value) oneOf(words ...string) string {
	s, ok := v.text()
	if !ok {
		return ""
	}
	for _, w := range words {
		if s == w {
			return w
		}
	}
	v.refuse(s, notOneOf(s, words))
	return ""
}

func notOneOf(s string, words []string) *fault {
	return &fault{RuleEnum, "is not one of " + strings.Join(words, ", "), DidYouMean(s, words)}
}

// name reads the name of a resource; "" if it is bad.
func (v value) name() string {
	s, ok := v.text()
	if !ok {
		return ""
	}
	if f := checkName(s); f != nil {
		v.refuse(s, f)
		return ""
	}
	return s
}

// maxName is the longest name of a resource.
const maxName = 253

// checkName refuses what is not a DNS subdomain as Kubernetes defines it.
func checkName(s string) *fault {
	ok := 0 < len(s) && len(s) <= maxName
	for label := range strings.SplitSeq(s, ".") {
		ok = ok && label != "" && label[0] != '-' && label[len(label)-1] != '-'
	}
	for i := 0; i < len(s) && ok; i++ {
		c := s[i]
		ok = c == '-' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z'
	}
	if ok {
		return nil
	}
	return &fault{RuleName, fmt.Sprintf("is not a name: small letters, digits, - and ., at most %d of them", maxName), ""}
}

// selector reads a selector; nil if it is empty, which is as good as absent, or bad.
func (v value) selector() *Selector {
	const most = 1024
	s, ok := v.text()
	if !ok || s == "" {
		return nil
	}
	sel, err := ParseSelector(s)
	if err != nil {
		v.bad(RuleSelector, "not a selector: "+err.Error(), "")
		return nil
	}
	v.limit(len(s), most, "bytes")
	return sel
}

// interfacePattern reads a pattern of interface names; "" if it is bad.
func (v value) interfacePattern() string {
	s, ok := v.text()
	if !ok {
		return ""
	}
	if f := checkInterface(s); f != nil {
		v.refuse(s, f)
		return ""
	}
	return s
}

func checkInterface(s string) *fault {
	const most = 15 // Linux: IFNAMSIZ less the end mark
	odd := func(r rune) bool {
		return r >= utf8.RuneSelf || !isWordByte(byte(r)) && !strings.ContainsRune(".*-", r)
	}
	if s != "" && len(s) <= most && !strings.ContainsFunc(s, odd) {
		return nil
	}
	return &fault{RuleInterface, fmt.Sprintf("is not an interface pattern: letters, digits and _ . * -, at most %d of them", most), ""}
}

// seconds reads a duration in the form of Go's time.ParseDuration that is a number of
// whole seconds between bounds; nil if it is bad.
func (v value) seconds(least, most int, why string) *time.Duration {
	bounds := fmt.Sprintf("%ds to %ds", least, most)
	if why != "" {
		bounds += " (" + why + ")"
	}
	s, ok := v.scalar()
	if !ok {
		return nil
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		v.refuse(s, &fault{RuleDuration, "is not a duration in whole seconds from " + bounds, "write for example 90s"})
	case d%time.Second != 0:
		v.refuse(s, &fault{RuleDuration, "is not a number of whole seconds, from " + bounds, "write for example 90s"})
	case d < time.Duration(least)*time.Second || d > time.Duration(most)*time.Second:
		v.refuse(s, &fault{RuleRange, "is outside " + bounds, ""})
	default:
		return &d
	}
	return nil
}

// scalar reads any scalar as it is written.
func (v value) scalar() (string, bool) {
	switch v.typeName() {
	case aText, aNumber, aBoolean:
		return v.node.Value, true
	}
	v.wrongType(aText, "")
	return "", false
}
