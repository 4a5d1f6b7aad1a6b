package render

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

// mask stands for a password where it is not to be seen.
const mask = "********"

// passwords returns the different passwords in Views, longer ones first, so that
// replacing one leaves nothing behind of another that contains it.
func passwords(views bgp.Views) [][]byte {
	seen := map[string]bool{}
	var out [][]byte
	for _, v := range views.All() {
		for _, p := range v.Peers {
			if s := p.Password.Reveal(); s != "" && !seen[s] {
				seen[s] = true
				out = append(out, []byte(s))
			}
		}
	}
	slices.SortFunc(out, func(a, b []byte) int { return len(b) - len(a) })
	return out
}

// literalPassword is a password in BIRD's syntax, which an operator may also have written
// into a template.
var literalPassword = regexp.MustCompile(`(password\s+)"[^"\n]*"`)

// holdsSecret errs on the safe side: a short password may be found in another word.
func holdsSecret(data []byte, secrets [][]byte) bool {
	return slices.ContainsFunc(secrets, func(s []byte) bool { return bytes.Contains(data, s) }) ||
		literalPassword.Match(data)
}

// Masked returns Views like these with placeholders for passwords, for showing what they
// render to.
func Masked(views bgp.Views) bgp.Views {
	return bgp.Views{IPv4: masked(views.IPv4), IPv6: masked(views.IPv6)}
}

func masked(v *bgp.View) *bgp.View {
	if v == nil {
		return nil
	}
	masked := *v
	masked.Peers = slices.Clone(v.Peers)
	for i := range masked.Peers {
		if masked.Peers[i].Password.IsSet() {
			masked.Peers[i].Password = bgp.NewSecret(mask)
		}
	}
	return &masked
}

// Conceal puts placeholders in place of the Views' passwords in a text, and of any password
// that stands there in BIRD's syntax.
func Conceal(views bgp.Views, text string) string {
	for _, s := range passwords(views) {
		text = strings.ReplaceAll(text, string(s), mask)
	}
	return literalPassword.ReplaceAllString(text, `${1}"`+mask+`"`)
}
