package render

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// mask stands for a password where it is not to be seen.
const mask = "********"

// passwords returns the different passwords that files can hold, longer ones first, so that
// replacing one leaves nothing behind of another that contains it.
func passwords(in Input) [][]byte {
	seen := map[string]bool{}
	var out [][]byte
	add := func(s string) {
		if s != "" && !seen[s] {
			seen[s] = true
			out = append(out, []byte(s))
		}
		// As it stands in JSON and in messages.
		if quoted := strings.Trim(strconv.Quote(s), `"`); quoted != s && !seen[quoted] {
			seen[quoted] = true
			out = append(out, []byte(quoted))
		}
	}
	for _, v := range append(in.Views.All(), in.All.All()...) {
		for _, p := range v.Peers {
			add(p.Password.Reveal())
		}
	}
	if in.Cluster != nil {
		eachPassword(in.Cluster, func(s *calico.Secret, key string) {
			value := string(s.Data[key])
			add(value)
			add(strings.TrimRight(value, "\r\n"))
		})
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

// eachPassword visits the passwords of a cluster that BGP sessions ask for, in any namespace.
func eachPassword(c *calico.Cluster, visit func(s *calico.Secret, key string)) {
	var refs []*calico.SecretKeyRef
	for _, p := range c.Peers {
		refs = append(refs, p.Password)
	}
	refs = append(refs, c.Default().NodeMeshPassword)
	for _, ref := range refs {
		if ref == nil {
			continue
		}
		for _, s := range c.Secrets {
			if s.Name == ref.Name && s.Data[ref.Key] != nil {
				visit(s, ref.Key)
			}
		}
	}
}

// Masked returns an Input like this with placeholders for passwords, for showing what it
// renders to.
func Masked(in Input) Input {
	in.Views = bgp.Views{IPv4: masked(in.Views.IPv4), IPv6: masked(in.Views.IPv6)}
	in.All = bgp.Views{IPv4: masked(in.All.IPv4), IPv6: masked(in.All.IPv6)}
	if in.Cluster != nil {
		c := *in.Cluster
		c.Secrets = map[string]*calico.Secret{}
		for name, s := range in.Cluster.Secrets {
			copied := *s
			copied.Data = maps.Clone(s.Data)
			c.Secrets[name] = &copied
		}
		eachPassword(&c, func(s *calico.Secret, key string) { s.Data[key] = maskOf(s.Data[key]) })
		in.Cluster = &c
	}
	return in
}

// maskOf stands for a password, and can be used by a session if that can: what is shown must
// have the same sessions.
func maskOf(value []byte) []byte {
	line := bytes.TrimRight(value, "\r\n")
	switch {
	case len(line) == 0:
		return nil
	case bytes.ContainsAny(line, "\"\r\n\x00"):
		return []byte(mask + `"`)
	case len(line) > bgp.MaxPassword:
		return bytes.Repeat([]byte("*"), bgp.MaxPassword+1)
	}
	return []byte(mask)
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

// Conceal puts placeholders in place of the passwords of an Input in a text, and of any password
// that stands there in BIRD's syntax.
func Conceal(in Input, text string) string {
	for _, s := range passwords(in) {
		text = strings.ReplaceAll(text, string(s), mask)
	}
	return literalPassword.ReplaceAllString(text, `${1}"`+mask+`"`)
}
