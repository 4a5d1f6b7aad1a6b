package process

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTailKeepsTheEnd(t *testing.T) {
	for _, size := range []int{1, 7, 1000, MaxOutput - 1, MaxOutput, MaxOutput + 1, 5 * MaxOutput} {
		var out Tail
		var all bytes.Buffer
		for i := 0; all.Len() < 4*MaxOutput; i++ {
			p := bytes.Repeat([]byte{byte('a' + i%26)}, size)
			all.Write(p)
			if n, err := out.Write(p); n != size || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
		}
		if want := all.Bytes()[all.Len()-MaxOutput:]; out.String() != string(want) {
			t.Errorf("writes of %d bytes: the end is not what was kept", size)
		}
	}
}

func TestP12ExcerptHasNoPasswords(t *testing.T) {
	const canary = "canary-3f9a"
	for _, tt := range []struct{ rule, in, want string }{
		{"in BIRD's syntax", `  password "canary-3f9a";` + "\nend", `  password "********";` + "\nend"},
		{"two in a line", `password "canary-3f9a"; password  "canary-3f9a";`, `password "********"; password  "********";`},
		{"cut off", `password "canary-3f9a`, `password "********`},
		{"on the next line", "password\n\t\"canary-3f9a\";", "password\n\t\"********\";"},
		{"quoted", `msg="password \"canary-3f9a\";"`, `msg="password \"********";"`},
		{"with colours", "\x1b[01;31m\x1b[Kpassword\x1b[m\x1b[K \"canary-3f9a\"", `password "********"`},
		{"in capitals", `PASSWORD "canary-3f9a"`, `PASSWORD "********"`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got := Excerpt(tt.in)
			if got != tt.want || strings.Contains(got, canary) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExcerptIsPrintable(t *testing.T) {
	for _, tt := range []struct{ rule, in, want string }{
		{"lines, tabs and other scripts stay", "a\n\tbé 木", "a\n\tbé 木"},
		{"carriage returns are ends of lines", "10%\r20%\r\nend", "10%\n20%\nend"},
		{"a window title is dropped", "\x1b]0;gotcha\x07text", "text"},
		{"other controls are shown to be there", "a\x00b\x07c\x1bd\u202e", "a\ufffdb\ufffdc\ufffdd\ufffd"},
		{"bytes that are no text too", "a\xffb", "a\ufffdb"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			if got := Excerpt(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	got := Excerpt(strings.Repeat("木", MaxExcerpt))
	if len(got) > MaxExcerpt || len(got) < MaxExcerpt-2 || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid: %t", len(got), utf8.ValidString(got))
	}
}

func TestLastLines(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"a\nb\nc", 5, "a\nb\nc"},
		{"a\nb\nc", 4, "b\nc"},
		{"aa\nb\nc", 5, "b\nc"},
		{"abcdef", 3, "def"},
		{"abc\n", 2, "c\n"},
	} {
		if got := LastLines(tt.in, tt.n); got != tt.want {
			t.Errorf("LastLines(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}
