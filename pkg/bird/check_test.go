package bird

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/internal/process"
)

// writeFiles fills a new directory and makes it the current one, which BIRD resolves
// relative names against.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

func TestCheckWithBird(t *testing.T) {
	const good = "router id 10.0.0.1;\nprotocol device { }\n"
	const broken = "# kernel\nprotocol banana { }\n"
	for _, tt := range []struct {
		rule  string
		main  string // bird.cfg; DIR stands for its directory
		given string // how bird.cfg is named to BIRD, after DIR
		want1 ConfigError
		want2 ConfigError // what BIRD 2 says
	}{
		{rule: "a good configuration passes", main: good, given: "DIR/bird.cfg"},
		{rule: "the file may be given relative to the current directory", main: good, given: "bird.cfg"},
		{
			rule: "syntax error in the main file", main: good + "protocol banana { }\n", given: "DIR/bird.cfg",
			want1: ConfigError{File: "DIR/bird.cfg", Line: 3, Column: 10, Message: "syntax error"},
			want2: ConfigError{File: "DIR/bird.cfg", Line: 3, Column: 10, Message: "syntax error, unexpected CF_SYM_UNDEFINED"},
		},
		{
			rule: "error in a file included by its name", main: `include "broken.cfg";` + "\n" + good, given: "DIR/bird.cfg",
			want1: ConfigError{File: "DIR/broken.cfg", Line: 2, Column: 10, Message: "syntax error"},
			want2: ConfigError{File: "DIR/broken.cfg", Line: 2, Column: 10, Message: "syntax error, unexpected CF_SYM_UNDEFINED"},
		},
		{
			rule: "error in a file included by its name from a relative file", main: `include "broken.cfg";` + "\n" + good, given: "bird.cfg",
			want1: ConfigError{File: "./broken.cfg", Line: 2, Column: 10, Message: "syntax error"},
			want2: ConfigError{File: "./broken.cfg", Line: 2, Column: 10, Message: "syntax error, unexpected CF_SYM_UNDEFINED"},
		},
		{
			rule: "error in a file included by its path", main: `include "DIR/broken.cfg";` + "\n" + good, given: "bird.cfg",
			want1: ConfigError{File: "DIR/broken.cfg", Line: 2, Column: 10, Message: "syntax error"},
			want2: ConfigError{File: "DIR/broken.cfg", Line: 2, Column: 10, Message: "syntax error, unexpected CF_SYM_UNDEFINED"},
		},
		{
			rule: "missing include", main: good + `include "absent.cfg";` + "\n", given: "DIR/bird.cfg",
			want1: ConfigError{File: "DIR/bird.cfg", Line: 3, Column: 1, Message: "Unable to open included file DIR/absent.cfg: No such file or directory"},
			want2: ConfigError{File: "DIR/bird.cfg", Line: 3, Column: 10, Message: "Unable to open included file DIR/absent.cfg: No such file or directory"},
		},
		{
			rule: "missing closing brace", main: good + "protocol static {\n", given: "DIR/bird.cfg",
			want1: ConfigError{File: "DIR/bird.cfg", Line: 1, Column: 0, Message: "syntax error"},
			want2: ConfigError{File: "DIR/bird.cfg", Line: 1, Column: 0, Message: "syntax error, unexpected END"},
		},
		{
			rule: "empty file", main: "", given: "DIR/bird.cfg",
			want1: ConfigError{File: "DIR/bird.cfg", Line: 1, Column: 1, Message: "No protocol is specified in the config file"},
			want2: ConfigError{File: "DIR/bird.cfg", Line: 1, Column: 1, Message: "No protocol is specified in the config file"},
		},
	} {
		for _, daemon := range []struct {
			name   string
			binary func(testing.TB) string
			want   ConfigError
		}{{"bird 1.6", birdtest.Bird, tt.want1}, {"bird6 1.6", birdtest.Bird6, tt.want1}, {"bird 2", birdtest.Bird2, tt.want2}} {
			t.Run(tt.rule+"/"+daemon.name, func(t *testing.T) {
				binary := daemon.binary(t)
				dir := writeFiles(t, map[string]string{"broken.cfg": broken})
				in := func(s string) string { return strings.ReplaceAll(s, "DIR", dir) }
				if err := os.WriteFile("bird.cfg", []byte(in(tt.main)), 0o644); err != nil {
					t.Fatal(err)
				}
				err := Checker{Binary: binary}.Check(t.Context(), in(tt.given))
				if daemon.want == (ConfigError{}) {
					if err != nil {
						t.Fatalf("refused: %v", err)
					}
					return
				}
				var got *ConfigError
				if !errors.As(err, &got) {
					t.Fatalf("got %v, want a ConfigError", err)
				}
				want := daemon.want
				want.File, want.Message, want.Output = in(want.File), in(want.Message), got.Output
				if diff := cmp.Diff(&want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if !strings.HasSuffix(got.Output, want.Message) {
					t.Errorf("Output %q does not end in the message", got.Output)
				}
			})
		}
	}
}

func TestCheckMissingMainFile(t *testing.T) {
	dir := writeFiles(t, nil)
	name := filepath.Join(dir, "absent.cfg")
	err := Checker{Binary: birdtest.Bird(t)}.Check(t.Context(), name)
	want := fmt.Sprintf("check %[1]s: bird -p: exit status 1: bird: Unable to open configuration file %[1]s: No such file or directory", name)
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// stub makes an executable that a test runs in place of BIRD. In its script FIFO is
// the path of a named pipe that watchProcesses reads.
func stub(t *testing.T, script string) (binary, fifo string) {
	t.Helper()
	dir := t.TempDir()
	binary, fifo = filepath.Join(dir, "bird"), filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	script = "#!/bin/sh\n" + strings.ReplaceAll(script, "FIFO", fifo)
	if err := os.WriteFile(binary, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return binary, fifo
}

// watchProcesses opens the pipe that a stub and its children hold open as long as they
// live, waits until the stub has written a line to it, and returns a function that
// waits for the last of them to end.
func watchProcesses(t *testing.T, fifo string) (allEnded func()) {
	t.Helper()
	f, err := os.Open(fifo) // waits for the stub to open it too
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(f, make([]byte, len("up\n"))); err != nil {
		t.Fatalf("the stub did not get up: %v", err)
	}
	return func() {
		t.Helper()
		if rest, err := io.ReadAll(f); err != nil || len(rest) > 0 {
			t.Errorf("a process of the stub is still there: read %q, %v", rest, err)
		}
	}
}

// The sleeps are longer than any test waits: what starts them has to end them. It is
// always the sleeping process itself that says it is up.
const (
	sleeping        = "exec 3>FIFO; echo up >&3; exec sleep 1000\n"
	leavingAChild   = "exec 3>FIFO; (echo up >&3; exec sleep 1000) &\n"
	waitingForChild = leavingAChild + "wait\n"
)

func TestCheckCancelledEndsTheWholeGroup(t *testing.T) {
	for rule, script := range map[string]string{
		"sleeping":                     sleeping,
		"ignoring SIGTERM":             "trap '' TERM; " + waitingForChild,
		"with a child in the way":      waitingForChild,
		"with output and a long sleep": "echo nothing to see; " + sleeping,
	} {
		t.Run(rule, func(t *testing.T) {
			binary, fifo := stub(t, script)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			result := make(chan error, 1)
			go func() { result <- Checker{Binary: binary}.Check(ctx, "bird.cfg") }()
			allEnded := watchProcesses(t, fifo)
			cancel(errors.New("shutting down"))
			if got, want := fmt.Sprint(<-result), "check bird.cfg: bird -p: shutting down"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			allEnded()
		})
	}
}

func TestCheckTimeout(t *testing.T) {
	for rule, script := range map[string]string{
		"sleeping":                "exec sleep 1000\n",
		"ignoring SIGTERM":        "trap '' TERM; sleep 1000\n",
		"with a child in the way": "sleep 1000 & wait\n",
	} {
		t.Run(rule, func(t *testing.T) {
			binary, _ := stub(t, script)
			err := Checker{Binary: binary, Timeout: 50 * time.Millisecond}.Check(t.Context(), "bird.cfg")
			want := "check bird.cfg: bird -p did not answer within 50ms: context deadline exceeded"
			if err == nil || err.Error() != want || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestCheckDoesNotWaitForChildrenLeftBehind(t *testing.T) {
	for rule, tt := range map[string]struct{ script, want string }{
		"accepted": {leavingAChild + "exit 0\n", "<nil>"},
		"refused":  {leavingAChild + "echo bird: t.conf:3:25 syntax error >&2; exit 1\n", "t.conf:3:25: syntax error"},
	} {
		t.Run(rule, func(t *testing.T) {
			binary, fifo := stub(t, tt.script)
			result := make(chan error, 1)
			go func() { result <- Checker{Binary: binary}.Check(t.Context(), "bird.cfg") }()
			allEnded := watchProcesses(t, fifo)
			if got := fmt.Sprint(<-result); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			allEnded()
		})
	}
}

func TestCheckStrangeAnswers(t *testing.T) {
	for _, tt := range []struct{ rule, script, want string }{
		{"nonsense and exit code 1", "echo; echo 'what now?'; exit 1", "check bird.cfg: bird -p: exit status 1: what now?"},
		{"silence and exit code 3", "exit 3", "check bird.cfg: bird -p: exit status 3"},
		{"a warning alone and exit code 1", "echo 'bird: t.conf:1:2: odd' >&2; exit 1", "check bird.cfg: bird -p: exit status 1: bird: t.conf:1:2: odd"},
		{"killed", "echo oh; kill -KILL $$", "check bird.cfg: bird -p was ended by signal: killed: oh"},
		{"a warning and exit code 0", "echo 'bird: t.conf:115:1: Missing authentication option, assuming MD5' >&2", "<nil>"},
		{"what looks like a refusal and exit code 0", "echo 'bird: t.conf:3:25 syntax error' >&2", "<nil>"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			binary, _ := stub(t, tt.script)
			if got := fmt.Sprint(Checker{Binary: binary}.Check(t.Context(), "bird.cfg")); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestCheckPassesItsArguments(t *testing.T) {
	binary, _ := stub(t, `echo "[$*]"; exit 1`)
	got := fmt.Sprint(Checker{Binary: binary}.Check(t.Context(), "/etc/my bird.cfg"))
	if want := "check /etc/my bird.cfg: bird -p: exit status 1: [-p -c /etc/my bird.cfg]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCheckBoundsOutput(t *testing.T) {
	warnings := `i=0; while [ $i -lt 4000 ]; do echo "bird: t.conf:$i:1: Missing authentication option, assuming MD5"; i=$((i+1)); done` + "\n"
	binary, _ := stub(t, warnings+"echo 'bird: t.conf:4001:1 syntax error'; exit 1\n")
	var refused *ConfigError
	if err := (Checker{Binary: binary}).Check(t.Context(), "bird.cfg"); !errors.As(err, &refused) || refused.Line != 4001 {
		t.Fatalf("got %v, want the refusal at the end of the output", err)
	}
	if n := len(refused.Output); n > process.MaxOutput || n < process.MaxOutput-100 {
		t.Errorf("kept %d bytes of output, want up to %d", n, process.MaxOutput)
	}
	if !strings.HasPrefix(refused.Output, "bird: t.conf:") {
		t.Errorf("output starts within a line: %.30q", refused.Output)
	}

	binary, _ = stub(t, warnings+"exit 1\n")
	err := Checker{Binary: binary}.Check(t.Context(), "bird.cfg")
	if n := len(err.Error()); n > process.MaxExcerpt+100 {
		t.Errorf("error of %d bytes", n)
	}
	if !strings.HasSuffix(err.Error(), "t.conf:3999:1: Missing authentication option, assuming MD5") {
		t.Errorf("error without the end of the output: %v", err)
	}
}

func TestCheckWithoutBinary(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Checker{Binary: "/nowhere/bird"}.Check(t.Context(), "bird.cfg")
	if want := `check bird.cfg: find program: exec: "/nowhere/bird": stat /nowhere/bird: no such file or directory`; fmt.Sprint(err) != want || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %s", err, want)
	}
	err = Checker{Binary: "no-such-bird"}.Check(t.Context(), "bird.cfg")
	if want := `check bird.cfg: find program "no-such-bird" in PATH, /usr/sbin, /usr/local/sbin, /sbin: executable file not found in $PATH`; fmt.Sprint(err) != want || !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v, want %s", err, want)
	}
}
