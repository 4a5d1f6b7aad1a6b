package bird

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Reply is BIRD's answer to one command. The code of its last line tells the kind of
// answer: 0xxx for done, 8xxx for an error while it was carried out, 9xxx for a command that
// BIRD does not understand.
type Reply struct {
	Code int
	// Lines are in order, the final one last. Asynchronous ones are left out.
	Lines []Line
}

// Line is a line of a reply. Its text has no control characters but tabs.
type Line struct {
	Code int
	Text string
}

// Words are BIRD's words for people.
func (r Reply) Words() string {
	var words []string
	for _, line := range r.Lines {
		if text := strings.Join(strings.Fields(line.Text), " "); text != "" {
			words = append(words, text)
		}
	}
	return strings.Join(words, "; ")
}

// texts returns the lines without their codes.
func (r Reply) texts() []string {
	var texts []string
	for _, line := range r.Lines {
		texts = append(texts, line.Text)
	}
	return texts
}

// has tells whether a line has this code.
func (r Reply) has(code int) bool {
	return slices.ContainsFunc(r.Lines, func(l Line) bool { return l.Code == code })
}

func (r Reply) last() Line { return r.Lines[len(r.Lines)-1] }

const (
	// maxLine bounds a line, in bytes. BIRD's own are up to 4 KiB.
	maxLine = 64 << 10
	// maxReply bounds the memory that a reply takes, in bytes.
	maxReply = 64 << 20
	// lineCost is what a line takes besides its text.
	lineCost = 24
)

var (
	errLongLine  = fmt.Errorf("this is not BIRD: a line of more than %d KiB", maxLine>>10)
	errLongReply = fmt.Errorf("the answer is longer than %d MiB", maxReply>>20)
)

// readReply reads one reply. What it may look like is told in doc/reply_codes of BIRD's
// source: lines "1234-text" and in the end "1234 text", where a blank stands for the code of
// the line before; "+text" is asynchronous.
func readReply(lines *lineReader) (Reply, error) {
	var r Reply
	for size := 0; ; {
		raw, err := lines.next()
		if err != nil {
			return Reply{}, err
		}
		if len(raw) > 0 && raw[0] == '+' {
			continue
		}
		line, final, err := r.parse(string(raw))
		if err != nil {
			return Reply{}, err
		}
		if size += len(raw) + lineCost; size > maxReply {
			return Reply{}, errLongReply
		}
		r.Lines = append(r.Lines, line)
		if final {
			r.Code = line.Code
			return r, nil
		}
	}
}

// parse reads the line that follows those of r.
func (r *Reply) parse(raw string) (line Line, final bool, err error) {
	if text, ok := strings.CutPrefix(raw, " "); ok && len(r.Lines) > 0 {
		return Line{r.last().Code, printable(text)}, false, nil
	}
	if len(raw) < 5 || (raw[4] != ' ' && raw[4] != '-') {
		return Line{}, false, noReply(raw)
	}
	code, err := strconv.ParseUint(raw[:4], 10, 16)
	if err != nil {
		return Line{}, false, noReply(raw)
	}
	return Line{int(code), printable(raw[5:])}, raw[4] == ' ', nil
}

func noReply(raw string) error {
	return errors.New("this is not BIRD: it says " + strconv.QuoteToASCII(raw[:min(len(raw), 60)]))
}

// printable replaces what a terminal could take for a command.
func printable(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// lineReader reads lines. Unlike bufio.Reader it loses nothing when reading is interrupted
// in the middle of one.
type lineReader struct {
	r      io.Reader
	unused []byte
	room   [8 << 10]byte
}

// next returns the next line without its end. It is valid until the next call.
func (l *lineReader) next() ([]byte, error) {
	for from := 0; ; {
		if i := bytes.IndexByte(l.unused[from:], '\n'); i >= 0 {
			line := l.unused[:from+i]
			l.unused = l.unused[from+i+1:]
			return bytes.TrimSuffix(line, []byte("\r")), nil
		}
		if from = len(l.unused); from > maxLine {
			return nil, errLongLine
		}
		n, err := l.r.Read(l.room[:])
		l.unused = append(l.unused, l.room[:n]...)
		if err != nil && n == 0 {
			return nil, err
		}
	}
}
