package render

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

var quoteTests = []struct {
	rule string
	in   any
	want string // "" for an error
}{
	{"a word", "eth0", `"eth0"`},
	{"the empty string", "", `""`},
	{"blanks at the ends stay", " a b ", `" a b "`},
	{"what looks special to others is not special to BIRD", `\ ' # /* */ // ; { } $ % <nil>`, `"\ ' # /* */ // ; { } $ % <nil>"`},
	{"other scripts", "пароль", `"пароль"`},
	{"bytes that are not UTF-8", "\xff\xfe", "\"\xff\xfe\""},
	{"a tab", "a\tb", "\"a\tb\""},
	{"a password of the greatest length", strings.Repeat("x", 80), `"` + strings.Repeat("x", 80) + `"`},
	{"a secret", bgp.NewSecret("hunter2"), `"hunter2"`},
	{"a double quote", `hunter"2`, ""},
	{"a line feed", "hunter\n2", ""},
	{"a carriage return", "hunter\r2", ""},
	{"a NUL", "hunter\x002", ""},
	{"a secret with a double quote", bgp.NewSecret(`hunter"2`), ""},
	{"a number", 7, ""},
	{"nothing", nil, ""},
}

func TestQuote(t *testing.T) {
	for _, tt := range quoteTests {
		t.Run(tt.rule, func(t *testing.T) {
			got, err := quote(tt.in)
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("quote(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter") {
				t.Errorf("the error shows the value: %v", err)
			}
		})
	}
}

func TestQuoteErrors(t *testing.T) {
	_, err := quote(`a"b`)
	if want := "the text contains a double quote, a line break or a NUL, which a BIRD string cannot hold"; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = quote(7)
	if want := "quote takes a string or a secret, not int"; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// checkStatements has BIRD check a configuration.
func checkStatements(t *testing.T, statements string) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bird.cfg")
	if err := os.WriteFile(path, []byte("router id 192.0.2.1;\n"+statements), 0o600); err != nil {
		t.Fatal(err)
	}
	return bird.Checker{Binary: birdtest.Bird(t)}.Check(context.Background(), path)
}

// TestQuoteWithBird makes sure that quote refuses neither too much nor too little.
func TestQuoteWithBird(t *testing.T) {
	for _, tt := range quoteTests {
		t.Run(tt.rule, func(t *testing.T) {
			if tt.want == "" {
				return
			}
			if err := checkStatements(t, "protocol device {\n  description "+tt.want+";\n}\n"); err != nil {
				t.Errorf("BIRD refuses %s: %v", tt.want, err)
			}
		})
	}
	for _, bad := range []string{`a"b`, "a\nb"} {
		if err := checkStatements(t, "protocol device {\n  description \""+bad+"\";\n}\n"); err == nil {
			t.Errorf("BIRD takes %q, which quote refuses", bad)
		}
	}
}

var symbolTests = []struct{ in, want string }{
	{"Mesh_192_0_2_1", "Mesh_192_0_2_1"},
	{"_x", "_x"},
	{"bgp_to-tor_importFilterV4", "'bgp_to-tor_importFilterV4'"},
	{"calico_import:to-tor", "'calico_import:to-tor'"},
	{"a.b", "'a.b'"},
	{"1st", "'1st'"},
	{strings.Repeat("a", 64), strings.Repeat("a", 64)},
	{strings.Repeat("a", 63) + "-", "'" + strings.Repeat("a", 63) + "-'"},
	{strings.Repeat("a", 65), ""},
	{"", ""},
	{"a b", ""},
	{"a'b", ""},
	{"a\nb", ""},
	{"a;b", ""},
	{"ä", ""},
}

func TestSymbol(t *testing.T) {
	for _, tt := range symbolTests {
		got, err := symbol(tt.in)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("symbol(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
	for in, want := range map[string]string{
		"a b":                   `the name "a b" cannot be written as a BIRD symbol`,
		strings.Repeat("a", 65): `the name "` + strings.Repeat("a", 65) + `" has more than 64 characters`,
	} {
		if _, err := symbol(in); fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestSymbolWithBird(t *testing.T) {
	for _, tt := range symbolTests {
		if tt.want == "" {
			continue
		}
		if err := checkStatements(t, "protocol device "+tt.want+" {\n}\n"); err != nil {
			t.Errorf("BIRD refuses %s: %v", tt.want, err)
		}
	}
	if checkStatements(t, "protocol device "+strings.Repeat("a", 65)+" {\n}\n") == nil {
		t.Error("BIRD takes 65 characters, which symbol refuses")
	}
}

func TestComment(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"BGPPeer/tor via node", "# BGPPeer/tor via node"},
		{"a # b", "# a # b"},
		{"a\nprotocol static {", "# a protocol static {"},
		{"a\r\n\tb", "# a   b"},
		{"a\x00b\x7fc\x1b[2J", "# a b c [2J"},
		{"пул", "# пул"},
		{"", "# "},
	} {
		if got := comment(tt.in); got != tt.want {
			t.Errorf("comment(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestSeconds(t *testing.T) {
	d := 90 * time.Second
	for _, tt := range []struct {
		in        any
		want, err string
	}{
		{d, "90", ""},
		{&d, "90", ""},
		{time.Duration(0), "0", ""},
		{24 * time.Hour, "86400", ""},
		{1500 * time.Millisecond, "", "1.5s is not a number of whole seconds"},
		{-time.Second, "", "-1s is not a number of whole seconds"},
		{(*time.Duration)(nil), "", "seconds of a duration that is not set"},
		{90, "", "seconds takes a duration, not int"},
		{nil, "", "seconds takes a duration, not <nil>"},
	} {
		got, err := seconds(tt.in)
		if got != tt.want || (err == nil) != (tt.err == "") || (err != nil && err.Error() != tt.err) {
			t.Errorf("seconds(%v) = %q, %v; want %q, %s", tt.in, got, err, tt.want, tt.err)
		}
	}
}
