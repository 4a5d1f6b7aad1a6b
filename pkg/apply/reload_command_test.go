package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// script is a reload command that a shell runs.
func script(text string) *CommandReloader {
	return &CommandReloader{Argv: []string{"sh", "-c", text}}
}

func TestCommandReloader(t *testing.T) {
	for _, tt := range []struct {
		rule string
		argv []string
		want Verdict
		err  string
	}{
		{"exit code 0", []string{"true"}, Verdict{Words: "true: exit 0"}, ""},
		{"exit code 0 and output", []string{"echo", "a b", "$HOME", ""}, Verdict{Words: `echo "a b" $HOME "": a b $HOME`}, ""},
		{"another exit code", []string{"sh", "-c", "echo no; exit 3"}, Verdict{}, `sh -c "echo no; exit 3": exit status 3: no`},
		{"a signal", []string{"sh", "-c", "kill -9 $$"}, Verdict{}, `sh -c "kill -9 $$" was ended by signal: killed`},
		{"output for a terminal", []string{"printf", `\033[31mred\033[0m \007`}, Verdict{Words: "printf \"\\\\033[31mred\\\\033[0m \\\\007\": red \ufffd"}, ""},
		{"no such program", []string{"no-such-program"}, Verdict{}, `find program "no-such-program" in PATH, /usr/sbin, /usr/local/sbin, /sbin: executable file not found in $PATH`},
		{"no command", nil, Verdict{}, "no reload command is given"},
		{"a long command line", []string{"true", strings.Repeat("é", 100)}, Verdict{Words: "true " + strings.Repeat("é", 57) + "…: exit 0"}, ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got, err := (&CommandReloader{Argv: tt.argv}).Reload(t.Context(), "/nowhere/bird.cfg")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text := fmt.Sprint(err); err != nil && text != tt.err || err == nil && tt.err != "" {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

func TestR1HangingCommandTimesOut(t *testing.T) {
	r := script("echo waiting for BIRD; sleep 1000; true")
	r.Timeout = 100 * time.Millisecond
	_, err := r.Reload(t.Context(), "")
	if want := `sh -c "echo waiting for BIRD; sleep 1000; true" did not end within 100ms: waiting for BIRD`; fmt.Sprint(err) != want || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestR2BackgroundChildIsToldAndLeftAlone(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	got, err := script("mkfifo "+fifo+"; setsid sh -c 'echo $$ >"+fifo+"; exec sleep 1000' & cat "+fifo).Reload(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	_, said, _ := strings.Cut(got.Words, "…: ")
	pid, warning, _ := strings.Cut(said, "; ")
	if want := "warning: it left something running that holds its output, which nobody reads any more"; warning != want {
		t.Errorf("words %q, want %q in them", got.Words, want)
	}
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatalf("words %q have no process", got.Words)
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Errorf("what the command started is not there: %v", err)
	}
}

// In R3 the reload is tried again, which only helps when it is really made again.
func TestR3FailureIsNotRemembered(t *testing.T) {
	r := script("[ -e " + filepath.Join(t.TempDir(), "tried") + " ] || { touch $_; exit 1; }")
	r.Argv[2] = strings.ReplaceAll(r.Argv[2], "$_", strings.Fields(r.Argv[2])[2])
	if _, err := r.Reload(t.Context(), ""); err == nil || !strings.HasSuffix(err.Error(), "exit status 1") {
		t.Errorf("first: %v", err)
	}
	if got, err := r.Reload(t.Context(), ""); err != nil || !strings.HasSuffix(got.Words, ": exit 0") {
		t.Errorf("second: %v, %v", got, err)
	}
}

func TestP2CommandGetsItsGraceAtShutdown(t *testing.T) {
	dir := t.TempDir()
	fifo, done := filepath.Join(dir, "fifo"), filepath.Join(dir, "done")
	if err := exec.Command("mkfifo", fifo).Run(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	shutdown := errors.New("shutting down")
	go func() {
		_, _ = os.ReadFile(fifo) // waits until the trap is set
		cancel(shutdown)
	}()
	_, err := script("trap 'touch "+done+"; exit 0' TERM; : >"+fifo+"; sleep 1000 & wait").Reload(ctx, "")
	if !errors.Is(err, shutdown) || !strings.HasSuffix(err.Error(), ": shutting down") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(done); err != nil {
		t.Errorf("it could not clean up: %v", err)
	}
}

func TestP12CommandOutputHasNoPasswords(t *testing.T) {
	const canary = "canary-77c1"
	for rule, text := range map[string]string{
		"success": `echo 'password "canary-77c1";'`,
		"failure": `echo 'password "canary-77c1";'; exit 1`,
		"timeout": `echo 'password "canary-77c1";'; sleep 1000`,
		"signal":  `echo 'password "canary-77c1";'; kill -9 $$`,
	} {
		t.Run(rule, func(t *testing.T) {
			r := script(text)
			r.Timeout = 10 * time.Second
			if rule == "timeout" {
				r.Timeout = 100 * time.Millisecond
			}
			got, err := r.Reload(t.Context(), "")
			all := fmt.Sprint(got.Words, err)
			if strings.Contains(all, canary) || strings.Count(all, "********") != 2 {
				t.Errorf("got %s", all)
			}
		})
	}
}
