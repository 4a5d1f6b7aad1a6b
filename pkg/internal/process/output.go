package process

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

const (
	// MaxOutput bounds the output that is kept, in bytes.
	MaxOutput = 64 << 10
	// MaxExcerpt bounds the output that people are shown, in bytes.
	MaxExcerpt = 1 << 10
)

// Tail is a writer that keeps the last MaxOutput bytes. The end is what counts: with
// thousands of peers BIRD's warnings alone may be longer, and the error comes last.
type Tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*MaxOutput {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-MaxOutput-1:]...)
	}
	return len(p), nil
}

// String returns what is kept, whole lines if possible.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return LastLines(string(t.kept), MaxOutput)
}

// LastLines returns the last whole lines of s that fit into n bytes, or the last n
// bytes if not even one does.
func LastLines(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	if _, whole, ok := strings.Cut(s, "\n"); ok && whole != "" {
		return whole
	}
	return s
}

// Excerpt returns the end of an output for people: printable, with no passwords, and no
// longer than MaxExcerpt.
func Excerpt(output string) string {
	return strings.ToValidUTF8(LastLines(Conceal(printable(output)), MaxExcerpt), "")
}

// escapes are what terminals obey: colours, window titles (ECMA-48 section 5.4 and 5.6).
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)`)

// printable takes out, or makes visible, what would do something to a terminal or a log.
func printable(text string) string {
	text = escapes.ReplaceAllString(text, "")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// password is one in BIRD's syntax, also with its end cut off or its quotes escaped.
var password = regexp.MustCompile(`(?i)(password\s+\\*")[^"\n]*`)

// Conceal puts a placeholder in place of passwords that a program quotes from a
// configuration.
func Conceal(text string) string { return password.ReplaceAllString(text, "${1}********") }
