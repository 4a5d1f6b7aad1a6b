package calico

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// batch is how many documents are read in one go.
const batch = 64

// stream reads all documents of a file. Documents are cut apart before they are parsed,
// so that one with a syntax error spoils only itself.
func (d *decoder) stream(data []byte) {
	for chunks := range slices.Chunk(cutDocuments(data), batch) {
		first, last := chunks[0], chunks[len(chunks)-1]
		if roots, ok := readTogether(data[first.start:last.end], len(chunks)); ok {
			for _, root := range roots {
				d.document(root, first.line)
			}
			continue
		}
		for _, c := range chunks {
			d.chunk(data[c.start:c.end], c.line)
		}
	}
}

// readTogether reads several documents with one parser, since making a parser costs as
// much as a short document. It gives up when one has a syntax error, and when one may
// have an anchor: yaml.v3 lets aliases reach into earlier documents.
func readTogether(text []byte, documents int) ([]*yaml.Node, bool) {
	if documents == 1 || bytes.IndexByte(text, '&') >= 0 {
		return nil, false
	}
	roots, err := readYAML(text)
	return roots, err == nil
}

// chunk reads the text of one document, or of several JSON values.
func (d *decoder) chunk(text []byte, line int) {
	roots, ok := readJSON(text)
	var err error
	if !ok {
		roots, err = readYAML(text)
	}
	for _, root := range roots {
		d.document(root, line)
	}
	if err != nil {
		d.problems = append(d.problems, d.syntaxProblem(text, line, err))
	}
}

// readYAML returns the roots of the documents before the first syntax error.
func readYAML(text []byte) (roots []*yaml.Node, err error) {
	// A panic of the parser is one document's trouble, not the end of the daemon.
	defer func() {
		if recover() != nil {
			err = errors.New("yaml: the parser cannot cope with this document")
		}
	}()
	for parser := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var n yaml.Node
		switch err := parser.Decode(&n); {
		case errors.Is(err, io.EOF):
			return roots, nil
		case err != nil:
			return roots, err
		case n.Kind == yaml.DocumentNode && len(n.Content) == 1:
			roots = append(roots, n.Content[0])
		}
	}
}

// chunkRange is the place of a document in the text.
type chunkRange struct {
	start, end int
	line       int // lines before it
}

// cutDocuments cuts a YAML stream at its document markers, which YAML allows nowhere
// else at the start of a line, not even inside quotes. What stands before the first
// marker of a document, be it comments or directives, stays with the document.
func cutDocuments(data []byte) []chunkRange {
	var chunks []chunkRange
	current := chunkRange{}
	content := false
	cut := func(at, line int) {
		if content {
			current.end = at
			chunks = append(chunks, current)
			current, content = chunkRange{start: at, line: line}, false
		}
	}
	line := 0
	for at := 0; at < len(data); line++ {
		next := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		text := data[at:next]
		switch {
		case isMarker(text, "---"):
			cut(at, line)
			content = true
		case isMarker(text, "..."):
			cut(next, line+1)
		case !content:
			text = bytes.TrimSpace(text)
			content = len(text) > 0 && text[0] != '#' && text[0] != '%'
		}
		at = next
	}
	cut(len(data), line)
	return chunks
}

func isMarker(line []byte, marker string) bool {
	return bytes.HasPrefix(line, []byte(marker)) &&
		(len(line) == len(marker) || strings.IndexByte(" \t\r\n", line[len(marker)]) >= 0)
}

var (
	yamlErrorForm  = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)
	yamlAnchorForm = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	// yaml.v3 counts lines from 0 in the errors of its parser, from 1 in those of its scanner.
	yamlParserForm = regexp.MustCompile(`^did not find expected (<|'-'|key|',' or|node content)|^undefined tag handle|^found duplicate %|^found incompatible`)
)

// syntaxProblem makes a Problem of an error of yaml.v3, whose messages hold nothing of
// the document but the name of an unknown anchor.
func (d *decoder) syntaxProblem(text []byte, line int, err error) Problem {
	p := Problem{Severity: Error, Rule: RuleSyntax}
	parts := yamlErrorForm.FindStringSubmatch(err.Error())
	if parts == nil {
		parts = []string{"", "", "not YAML"}
	}
	n, message := 1, parts[2]
	if parts[1] != "" {
		n, _ = strconv.Atoi(parts[1])
		if yamlParserForm.MatchString(message) {
			n++
			p.Hint = "look at this line and those below it for indentation or brackets that do not match"
		}
	}
	// The value of a password that starts with an asterisk looks like an alias.
	if anchor := yamlAnchorForm.FindStringSubmatch(message); anchor != nil {
		message = "an alias (*) names an anchor (&) that is not there"
		p.Hint = "quote a text that starts with an asterisk"
		n = 1 + bytes.Count(text[:max(0, bytes.Index(text, []byte("*"+anchor[1])))], []byte("\n"))
	}
	if tabIndented(text, n) {
		p.Hint = "indent with spaces, YAML does not take tabs"
	}
	p.Position = Position{File: d.file, Line: line + n}
	p.Message = fmt.Sprintf("not valid YAML: %s; the document is left out", message)
	return p
}

// tabIndented tells whether a line, counted from 1, starts with blanks that include a tab.
func tabIndented(text []byte, line int) bool {
	for range line - 1 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
	return bytes.IndexByte(indent, '\t') >= 0
}
