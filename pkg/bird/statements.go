package bird

import "iter"

// statement is one of those at the top level of a configuration.
type statement struct {
	// text are its tokens without comments, and with a blank only where one may make a
	// difference. It is valid until the next statement.
	text []byte
	// head are the tokens before its block, if it has one.
	head [][]byte
	// inner are the statements directly in its block that have none of their own, each
	// with its semicolon.
	inner [][]byte
}

// lines splits inner.
func (s statement) lines() iter.Seq[[][]byte] {
	return func(yield func([][]byte) bool) {
		begin := 0
		for i, t := range s.inner {
			if t[0] == ';' {
				if !yield(s.inner[begin:i]) {
					return
				}
				begin = i + 1
			}
		}
	}
}

// statements splits a configuration, right or wrong. Lines that include other files are
// statements like others.
func statements(config []byte) iter.Seq[statement] {
	return func(yield func(statement) bool) {
		var s statement
		depth, gap := 0, false
		whole := 0 // where the last statement in the block begins
		done := func() bool {
			good := len(s.text) == 0 || yield(s)
			s.text, s.head, s.inner, whole, depth = s.text[:0], s.head[:0], s.inner[:0], 0, 0
			return good
		}
		for len(config) > 0 {
			n := tokenLength(config)
			t := config[:n]
			config = config[n:]
			if isBlank(t[0]) || isComment(t) {
				gap = true
				continue
			}
			// Nothing but a protocol begins with this word, not even where BIRD finds an error.
			if depth == 0 && string(t) == "protocol" && !done() {
				return
			}
			if gap && len(s.text) > 0 && parted(s.text[len(s.text)-1], t[0]) {
				s.text = append(s.text, ' ')
			}
			s.text, gap = append(s.text, t...), false
			switch {
			case t[0] == '{':
				depth++
				s.inner = s.inner[:whole]
			case t[0] == '}':
				depth--
				s.inner = s.inner[:whole]
			case depth == 1:
				if s.inner = append(s.inner, t); t[0] == ';' {
					whole = len(s.inner)
				}
			case depth == 0 && t[0] != ';':
				s.head = append(s.head, t)
			}
			if depth <= 0 && (t[0] == ';' || t[0] == '}') && !done() {
				return
			}
		}
		done()
	}
}
