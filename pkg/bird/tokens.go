package bird

import "bytes"

// tokenLength is the length of the first of the tokens that BIRD's configuration is made
// of, as far as they matter here: comments, strings, which end with their line, names,
// which may be quoted, numbers, blanks, and single other characters. (conf/cf-lex.l in BIRD's
// source.)
func tokenLength(s []byte) int {
	switch c := s[0]; {
	case isBlank(c):
		n := 1
		for n < len(s) && isBlank(s[n]) {
			n++
		}
		return n
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
		for n < len(s) && (isWord(s[n]) || s[n] == '.' || s[n] == ':' || s[n] == '-') {
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

func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func isComment(token []byte) bool {
	return token[0] == '#' || len(token) > 1 && token[0] == '/' && token[1] == '*'
}

func isName(token []byte) bool {
	return token[0] == '\'' && len(token) > 1 || isWord(token[0]) && (token[0] < '0' || token[0] > '9')
}

// parted tells whether a blank between two characters of different tokens may make a
// difference to BIRD: whether together they can be part of one token, as in "10.0.0.1" or
// "<=". It may be wrong only by saying yes.
func parted(a, b byte) bool {
	switch {
	case isAlone(a) || isAlone(b):
		return false
	case a == '.' || b == '.':
		return true // in addresses, and in ".."
	}
	return inWord(a) == inWord(b)
}

func inWord(c byte) bool { return isWord(c) || c == ':' }

// isAlone tells whether a character is a token, or begins and ends one.
func isAlone(c byte) bool {
	switch c {
	case '{', '}', '(', ')', ';', ',', '"', '\'':
		return true
	}
	return false
}
