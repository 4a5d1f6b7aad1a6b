package bird

import (
	"regexp"
	"strings"
)

// token matches what BIRD's configuration is made of, as far as it matters here: comments,
// strings, which end with their line, names, which may be quoted, numbers, and single
// other characters. (conf/cf-lex.l in BIRD's source.)
var token = regexp.MustCompile(`#[^\n]*|/\*(?s:.*?)(?:\*/|\z)|"[^"\n]*"?|` +
	`'[0-9A-Za-z_.:-]+'|[A-Za-z_][0-9A-Za-z_]*|[0-9][0-9A-Za-z_]*|\S`)

// BGPProtocols lists the names of the BGP protocols that a configuration file defines, in
// order. Templates are no protocols; protocols without a name are left out, as only BIRD
// knows how it calls them.
func BGPProtocols(config []byte) []string {
	var names []string
	before := [2]string{}
	for _, m := range token.FindAll(config, -1) {
		t := string(m)
		if isComment(t) {
			continue
		}
		if before == [2]string{"protocol", "bgp"} && t != "from" && isName(t) {
			names = append(names, unquoted(t))
		}
		before = [2]string{before[1], t}
	}
	return names
}

func isComment(token string) bool {
	return token[0] == '#' || len(token) > 1 && token[:2] == "/*"
}

func isName(token string) bool {
	return token[0] == '\'' && len(token) > 1 || token[0] == '_' || 'A' <= token[0] && token[0] <= 'Z' || 'a' <= token[0] && token[0] <= 'z'
}

func unquoted(name string) string {
	return strings.Trim(name, "'")
}
