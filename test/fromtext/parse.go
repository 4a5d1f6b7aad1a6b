package fromtext

import (
	"slices"
	"strings"
	"testing"
)

// File is a BIRD file in parts: the statements outside of all blocks, and the blocks.
// Comments are taken out.
type File struct {
	Statements []string
	Blocks     []Block
}

// Block is a definition with braces: a protocol, template, function or filter.
type Block struct {
	Heading string // without the brace
	Comment string // the line above, without its mark
	// Statements are the lines inside, without indentation.
	Statements []string
	// Line is the number of the heading's line.
	Line int
}

// Parse takes a rendered file apart. It relies on the built-in templates, which begin
// nothing but headings, statements and closing braces in the first column.
func Parse(text string) File {
	var f File
	var open *Block
	comment := ""
	for i, line := range strings.Split(text, "\n") {
		code := uncommented(line)
		switch {
		case open != nil && line == "}":
			f.Blocks = append(f.Blocks, *open)
			open = nil
		case open != nil && code != "":
			open.Statements = append(open.Statements, code)
		case open != nil || code == "":
		case strings.HasSuffix(code, "{"):
			open = &Block{Heading: strings.TrimSpace(strings.TrimSuffix(code, "{")), Comment: comment, Line: i + 1}
		default:
			f.Statements = append(f.Statements, code)
		}
		comment = ""
		if strings.HasPrefix(line, "# ") {
			comment = line[2:]
		}
	}
	return f
}

// uncommented returns a line without its comment, which begins at the first # outside of
// a string, and without blanks around it.
func uncommented(line string) string {
	inString := false
	for i, c := range line {
		if c == '"' {
			inString = !inString
		}
		if c == '#' && !inString {
			line = line[:i]
			break
		}
	}
	return strings.TrimSpace(line)
}

// Block returns the block with a heading; a test without it fails.
func (f File) Block(t testing.TB, heading string) Block {
	t.Helper()
	i := slices.IndexFunc(f.Blocks, func(b Block) bool { return b.Heading == heading })
	if i < 0 {
		t.Fatalf("there is no %q, only %q", heading, f.Headings())
	}
	return f.Blocks[i]
}

// Session returns a BGP protocol by its name.
func (f File) Session(t testing.TB, name string) Block {
	t.Helper()
	return f.Block(t, sessionPrefix+name+sessionSuffix)
}

const sessionPrefix, sessionSuffix = "protocol bgp ", " from bgp_template"

// Sessions returns the names of all BGP protocols, in the order of the file.
func (f File) Sessions() []string {
	var names []string
	for _, b := range f.Blocks {
		if name, ok := strings.CutPrefix(b.Heading, sessionPrefix); ok {
			names = append(names, strings.TrimSuffix(name, sessionSuffix))
		}
	}
	return names
}

// Headings returns the headings of all blocks.
func (f File) Headings() []string {
	var out []string
	for _, b := range f.Blocks {
		out = append(out, b.Heading)
	}
	return out
}

// Has reports whether a statement stands in the block, as a line of its own.
func (b Block) Has(statement string) bool { return slices.Contains(b.Statements, statement) }

// Begin returns the statements that begin with a text.
func (b Block) Begin(text string) []string { return begin(b.Statements, text) }

// Begin returns the statements outside of blocks that begin with a text.
func (f File) Begin(text string) []string { return begin(f.Statements, text) }

func begin(statements []string, text string) []string {
	return slices.DeleteFunc(slices.Clone(statements), func(s string) bool { return !strings.HasPrefix(s, text) })
}
