package bird

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func TestReadReply(t *testing.T) {
	for _, tt := range []struct {
		rule string
		in   string
		want Reply
	}{
		{"one line", "0001 BIRD 1.6.8 ready.\n", Reply{1, []Line{{1, "BIRD 1.6.8 ready."}}}},
		{"an empty final line", "0000 \n", Reply{0, []Line{{0, ""}}}},
		{"several codes", "0002-Reading configuration from /x\n0022-Undo scheduled in 4 s\n0004 Reconfiguration in progress\n",
			Reply{4, []Line{{2, "Reading configuration from /x"}, {22, "Undo scheduled in 4 s"}, {4, "Reconfiguration in progress"}}}},
		{"a continuation line has the code of the line before", "1000-BIRD 2.0.12\n1011-Router ID is 10.0.0.1\n Hostname is vm\n0013 Daemon is up and running\n",
			Reply{13, []Line{{1000, "BIRD 2.0.12"}, {1011, "Router ID is 10.0.0.1"}, {1011, "Hostname is vm"}, {13, "Daemon is up and running"}}}},
		{"a continuation line keeps its indentation", "0024-Graceful restart recovery in progress\n   Wait timer is 2/5\n0000 \n",
			Reply{0, []Line{{24, "Graceful restart recovery in progress"}, {24, "  Wait timer is 2/5"}, {0, ""}}}},
		{"a line of one blank is an empty line of data", "1006-x\n \n \ty\n0000 \n", Reply{0, []Line{{1006, "x"}, {1006, ""}, {1006, "\ty"}, {0, ""}}}},
		{"a final line may start with blanks", "8001   no\n", Reply{8001, []Line{{8001, "  no"}}}},
		{"an asynchronous line before the reply", "+Config timeout expired, starting undo\n0019 Nothing to do\n", Reply{19, []Line{{19, "Nothing to do"}}}},
		{"asynchronous lines within the reply", "0002-Reading\n+one\n+\n and\n+0000 \n0003 Reconfigured\n", Reply{3, []Line{{2, "Reading"}, {2, "and"}, {3, "Reconfigured"}}}},
		{"carriage returns", "0002-Reading\r\n \r\n0003 Reconfigured\r\n", Reply{3, []Line{{2, "Reading"}, {2, ""}, {3, "Reconfigured"}}}},
		{"control characters", "8002 a\x1b[2Jb\x00c\x7f \xff\u202e\n", Reply{8002, []Line{{8002, "a\ufffd[2Jb\ufffdc\ufffd \ufffd\ufffd"}}}},
		{"what follows is left alone", "0000 \n0001 next\n", Reply{0, []Line{{0, ""}}}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"at once": strings.NewReader(tt.in), "in pieces": iotest.OneByteReader(strings.NewReader(tt.in)),
			} {
				got, err := readReply(&lineReader{r: r})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func TestReadReplyRefuses(t *testing.T) {
	for _, tt := range []struct{ rule, in, want string }{
		{"nothing", "", "EOF"},
		{"half a line", "0001 BIRD", "EOF"},
		{"no final line", "0002-Reading\n+x\n", "EOF"},
		{"another protocol", "SSH-2.0-OpenSSH_9.2\n", `this is not BIRD: it says "SSH-2.0-OpenSSH_9.2"`},
		{"a continuation of nothing", " x\n", `this is not BIRD: it says " x"`},
		{"an empty line", "\n", `this is not BIRD: it says ""`},
		{"a code without a text", "0000\n", `this is not BIRD: it says "0000"`},
		{"a sign is no digit", "-001 x\n", `this is not BIRD: it says "-001 x"`},
		{"a line that is too long", strings.Repeat("x", maxLine+10_000), "this is not BIRD: a line of more than 64 KiB"},
		{"what it says is cut and quoted", "\x1b" + strings.Repeat("x", 100) + "\n", `this is not BIRD: it says "\x1b` + strings.Repeat("x", 59) + `"`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			_, err := readReply(&lineReader{r: strings.NewReader(tt.in)})
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestReadReplyBoundsMemory(t *testing.T) {
	for rule, line := range map[string]string{"long lines": "1000-" + strings.Repeat("x", 60<<10), "short lines": "1000-" + strings.Repeat("x", 200)} {
		endless := io.MultiReader(strings.NewReader(line+"\n"), &repeater{text: []byte(strings.Repeat(line+"\n", 1000))})
		if _, err := readReply(&lineReader{r: endless}); !errors.Is(err, errLongReply) {
			t.Errorf("%s: got %v", rule, err)
		}
	}
}

// repeater reads as the same text again and again.
type repeater struct {
	text []byte
	at   int
}

func (r *repeater) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

func TestLineReaderLosesNothingWhenInterrupted(t *testing.T) {
	lines := lineReader{r: io.MultiReader(strings.NewReader("0000 do"), iotest.ErrReader(iotest.ErrTimeout))}
	if _, err := lines.next(); !errors.Is(err, iotest.ErrTimeout) {
		t.Fatalf("got %v", err)
	}
	lines.r = strings.NewReader("ne\n")
	if line, err := lines.next(); string(line) != "0000 done" || err != nil {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestReplyWords(t *testing.T) {
	r := Reply{0, []Line{{2, "Reading configuration from /x"}, {24, "  Wait\ttimer "}, {0, ""}}}
	if got, want := r.Words(), "Reading configuration from /x; Wait timer"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Reply{}).Words(); got != "" {
		t.Errorf("no lines have the words %q", got)
	}
}

func FuzzReadReply(f *testing.F) {
	for _, seed := range []string{
		greeting, "0000 \n", "1000-BIRD 2.0.12\n1011-Router ID is 10.0.0.1\n Hostname is vm\n+x\n0013 Daemon is up and running\n0000 \n",
		" \n", "\n", "+\n", "0000", "9999-\r\n\r\n", "0002-\x00\xff\n \n0003 x\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, pieces := &lineReader{r: bytes.NewReader(in)}, &lineReader{r: iotest.OneByteReader(bytes.NewReader(in))}
		for {
			r, err := readReply(whole)
			again, errAgain := readReply(pieces)
			if diff := cmp.Diff(r, again); diff != "" || (err == nil) != (errAgain == nil) {
				t.Fatalf("in pieces it is another reply (%v, %v):\n%s", err, errAgain, diff)
			}
			if err != nil {
				return
			}
			if len(r.Lines) == 0 || r.last().Code != r.Code {
				t.Fatalf("the final line is not the last: %+v", r)
			}
			for _, line := range r.Lines {
				if line.Code < 0 || line.Code > 9999 {
					t.Errorf("code %d", line.Code)
				}
				if i := slices.IndexFunc([]rune(line.Text), func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) && r != unicode.ReplacementChar }); i >= 0 {
					t.Errorf("%q has a control character", line.Text)
				}
			}
		}
	})
}
