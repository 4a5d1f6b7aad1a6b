package bird

import (
	"bytes"
	"slices"
)

// BGPProtocols lists the names of the BGP protocols that a configuration file defines, in
// order. Templates are no protocols; protocols without a name are left out, as only BIRD
// knows how it calls them.
func BGPProtocols(config []byte) []string {
	var names []string
	var second, last []byte
	for len(config) > 0 {
		n := tokenLength(config)
		t := config[:n]
		config = config[n:]
		if isBlank(t[0]) || isComment(t) {
			continue
		}
		if string(last) == "bgp" && string(second) == "protocol" && string(t) != "from" && isName(t) {
			names = append(names, string(bytes.Trim(t, "'")))
		}
		second, last = last, t
	}
	return names
}

// tokenLength is the length of the first of the tokens that BIRD's configuration is made
// of, as far as they matter here: comments, strings, which end with their line, names,
// which may be quoted, numbers, and single other characters. (conf/cf-lex.l in BIRD's
// source.)
func tokenLength(s []byte) int {
	switch c := s[0]; {
	case c == '#':
		return before(s, '\n')
	case c == '"':
		end := bytes.IndexAny(s[1:], "\"\n") + 1
		switch {
		case end == 0:
			return len(s)
		case s[end] == '"':
			return end + 1
		}
		return end
	case c == '/' && len(s) > 1 && s[1] == '*':
		if end := bytes.Index(s[2:], []byte("*/")); end >= 0 {
			return 2 + end + 2
		}
		return len(s)
	case c == '\'':
		n := 1
		for n < len(s) && (isWord(s[n]) || bytes.IndexByte([]byte(".:-"), s[n]) >= 0) {
			n++
		}
		if n > 1 && n < len(s) && s[n] == '\'' {
			return n + 1
		}
		return 1
	case isWord(c):
		n := 1
		for n < len(s) && isWord(s[n]) {
			n++
		}
		return n
	}
	return 1
}

// before is the length of what comes before a character.
func before(s []byte, c byte) int {
	if n := bytes.IndexByte(s, c); n >= 0 {
		return n
	}
	return len(s)
}

func isWord(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isBlank(c byte) bool { return slices.Contains([]byte(" \t\r\n\v\f"), c) }

func isComment(token []byte) bool {
	return token[0] == '#' || len(token) > 1 && token[0] == '/' && token[1] == '*'
}

func isName(token []byte) bool {
	return token[0] == '\'' && len(token) > 1 || isWord(token[0]) && (token[0] < '0' || token[0] > '9')
}
