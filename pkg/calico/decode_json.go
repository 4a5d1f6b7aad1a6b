package calico

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// maxJSONDepth bounds nesting, because reading recurses that deep.
const maxJSONDepth = 1000

// readJSON reads JSON values that follow one another, and fails if the text is anything
// else. It makes the nodes that yaml.v3 would make; but yaml.v3 does not know JSON's
// escapes \/ and \ud83d\ude00, and takes several times as long.
func readJSON(text []byte) ([]*yaml.Node, bool) {
	r := jsonReader{text: text, line: 1, column: 1}
	if isMarker(text, "---") {
		r.at = len("---")
	}
	r.blanks()
	if r.next() != '{' && r.next() != '[' || !utf8.Valid(text) {
		return nil, false
	}
	var roots []*yaml.Node
	for r.at < len(text) {
		n := r.value(0)
		if n == nil {
			return nil, false
		}
		roots = append(roots, n)
		r.blanks()
	}
	return roots, true
}

// jsonReader walks over a text. Its methods return nil or false on anything that is not
// JSON; where and why is left to the YAML parser to say, which reads the text then.
type jsonReader struct {
	text []byte
	at   int
	// line and column are those of the byte counted, which is never after at.
	line, column, counted int
}

// next returns the byte at the current place, 0 at the end.
func (r *jsonReader) next() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *jsonReader) blanks() {
	for ; ; r.at++ {
		switch r.next() {
		case ' ', '\t', '\r':
		case '\n':
			r.line, r.column, r.counted = r.line+1, 1, r.at+1
		default:
			return
		}
	}
}

// node makes a node that starts here.
func (r *jsonReader) node(kind yaml.Kind, tag string) *yaml.Node {
	r.column += utf8.RuneCount(r.text[r.counted:r.at])
	r.counted = r.at
	return &yaml.Node{Kind: kind, Tag: tag, Line: r.line, Column: r.column}
}

func (r *jsonReader) value(depth int) *yaml.Node {
	if depth > maxJSONDepth {
		return nil
	}
	switch c := r.next(); {
	case c == '{':
		return r.collection(yaml.MappingNode, "!!map", '}', depth)
	case c == '[':
		return r.collection(yaml.SequenceNode, "!!seq", ']', depth)
	case c == '"':
		return r.quoted()
	case c == '-' || '0' <= c && c <= '9':
		return r.number()
	}
	for _, w := range jsonWords {
		if bytes.HasPrefix(r.text[r.at:], []byte(w.text)) {
			n := r.node(yaml.ScalarNode, w.tag)
			n.Value = w.text
			r.at += len(w.text)
			return n
		}
	}
	return nil
}

var jsonWords = []struct{ text, tag string }{{"true", "!!bool"}, {"false", "!!bool"}, {"null", "!!null"}}

func (r *jsonReader) collection(kind yaml.Kind, tag string, end byte, depth int) *yaml.Node {
	n := r.node(kind, tag)
	r.at++
	if r.blanks(); r.next() == end {
		r.at++
		return n
	}
	for {
		r.blanks()
		if kind == yaml.MappingNode {
			key := r.key()
			if key == nil {
				return nil
			}
			n.Content = append(n.Content, key)
		}
		v := r.value(depth + 1)
		if v == nil {
			return nil
		}
		n.Content = append(n.Content, v)
		r.blanks()
		c := r.next()
		r.at++
		if c == end {
			return n
		}
		if c != ',' {
			return nil
		}
	}
}

// key reads a key with the colon and the blanks after it.
func (r *jsonReader) key() *yaml.Node {
	if r.next() != '"' {
		return nil
	}
	key := r.quoted()
	if r.blanks(); key == nil || r.next() != ':' {
		return nil
	}
	r.at++
	r.blanks()
	return key
}

// quoted reads a text in quotes.
func (r *jsonReader) quoted() *yaml.Node {
	n := r.node(yaml.ScalarNode, "!!str")
	n.Style = yaml.DoubleQuotedStyle
	start, escaped := r.at, false
	for r.at++; ; r.at++ {
		switch c := r.next(); {
		case c == '"':
			r.at++
			if !escaped {
				n.Value = string(r.text[start+1 : r.at-1])
			} else if json.Unmarshal(r.text[start:r.at], &n.Value) != nil {
				return nil
			}
			return n
		case c == '\\':
			escaped = true
			r.at++
		case c < ' ': // the end of the text too
			return nil
		}
	}
}

func (r *jsonReader) number() *yaml.Node {
	n := r.node(yaml.ScalarNode, "!!int")
	start := r.at
	for bytes.IndexByte([]byte("+-.0123456789Ee"), r.next()) >= 0 {
		r.at++
	}
	text := r.text[start:r.at]
	if bytes.ContainsAny(text, ".Ee") {
		n.Tag = "!!float"
	}
	if !json.Valid(text) {
		return nil
	}
	n.Value = string(text)
	return n
}
