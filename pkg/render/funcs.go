package render

import (
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

// functions are what templates can call besides text/template's own.
var functions = template.FuncMap{
	"quote":   quote,
	"symbol":  symbol,
	"comment": comment,
	"seconds": seconds,
	"policy":  newPolicyContext,
	"join":    strings.Join,
	"split":   strings.Split,
	"replace": strings.ReplaceAll,
	"lower":   strings.ToLower,
}

// quote writes a text as a BIRD string. BIRD has no escapes, so a text with a quote or a
// line break is an error. The error never shows the text, which may be a secret.
func quote(v any) (string, error) {
	var s string
	switch v := v.(type) {
	case string:
		s = v
	case bgp.Secret:
		s = v.Reveal()
	default:
		return "", fmt.Errorf("quote takes a string or a secret, not %T", v)
	}
	if strings.ContainsAny(s, "\"\n\r\x00") {
		return "", fmt.Errorf("the text contains a double quote, a line break or a NUL, which a BIRD string cannot hold")
	}
	return `"` + s + `"`, nil
}

var (
	plainSymbol  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	quotedSymbol = regexp.MustCompile(`^[-A-Za-z0-9_.:]+$`)
)

// symbol writes a name as a BIRD symbol, in single quotes where it needs them.
func symbol(name string) (string, error) {
	switch {
	case len(name) > bgp.MaxSymbol:
		return "", fmt.Errorf("the name %q has more than %d characters", name, bgp.MaxSymbol)
	case plainSymbol.MatchString(name):
		return name, nil
	case quotedSymbol.MatchString(name):
		return "'" + name + "'", nil
	}
	return "", fmt.Errorf("the name %q cannot be written as a BIRD symbol", name)
}

// comment writes a text as a comment to the end of the line. Nothing in it can end the line.
func comment(text string) string {
	return "# " + strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// seconds writes a duration as a number of whole seconds.
func seconds(v any) (string, error) {
	var d time.Duration
	switch v := v.(type) {
	case time.Duration:
		d = v
	case *time.Duration:
		if v == nil {
			return "", fmt.Errorf("seconds of a duration that is not set")
		}
		d = *v
	default:
		return "", fmt.Errorf("seconds takes a duration, not %T", v)
	}
	if d < 0 || d%time.Second != 0 {
		return "", fmt.Errorf("%s is not a number of whole seconds", d)
	}
	return fmt.Sprint(int64(d / time.Second)), nil
}

// policyContext is what a policy's template gets.
type policyContext struct {
	Policy bgp.Policy
	View   *bgp.View
}

func newPolicyContext(p bgp.Policy, v *bgp.View) policyContext { return policyContext{p, v} }
