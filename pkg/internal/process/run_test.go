package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/test/shared"
)

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		rule, script string
		want         Result
		err          string
	}{
		{"success", "echo out; echo err >&2", Result{Output: "out\nerr"}, "<nil>"},
		{"silent success", "exit 0", Result{}, "<nil>"},
		{"failure", "echo oh; exit 3", Result{Output: "oh"}, "script: exit status 3: oh"},
		{"silent failure", "exit 3", Result{}, "script: exit status 3"},
		{"killed by another", "echo oh; kill -KILL $$", Result{Output: "oh"}, "script was ended by signal: killed: oh"},
		{"there is nothing to read", "cat; readlink /proc/self/fd/0", Result{Output: "/dev/null"}, "<nil>"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			c, _ := shell(t, tt.script)
			got, err := c.Run(t.Context())
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if fmt.Sprint(err) != tt.err {
				t.Errorf("error %v, want %s", err, tt.err)
			}
			if _, exited := errors.AsType[*exec.ExitError](err); exited != strings.Contains(tt.err, "exit status") {
				t.Errorf("wraps an ExitError: %t", exited)
			}
		})
	}
}

func TestRunWithoutProgram(t *testing.T) {
	c := Command{Name: "nothing", Path: "/nowhere/nothing"}
	_, err := c.Run(t.Context())
	if want := "nothing: fork/exec /nowhere/nothing: no such file or directory"; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("shutting down"))
	if _, err = c.Run(ctx); fmt.Sprint(err) != "nothing: shutting down" {
		t.Errorf("with an ended context: %v", err)
	}
}

// The sleeps are longer than any test waits. It is always the sleeping process itself that
// says it is up.
const (
	sleeping      = "exec 3>FIFO; echo up >&3; exec sleep 1000\n"
	childSleeping = "exec 3>FIFO; (echo up >&3; exec sleep 1000) &\n"
)

func TestC5TimeoutEndsTheWholeGroup(t *testing.T) {
	for _, tt := range []struct {
		rule, script, want string
		grace              time.Duration
	}{
		{"asked first", sleeping, "", patience},
		{"asked first, and it cleans up", "exec 3>FIFO; trap 'echo bye >&3; exit 0' TERM; echo up >&3; sleep 1000 & wait", "bye\n", patience},
		{"with a child in the way", childSleeping + "wait", "", patience},
		{"with a child that ignores SIGTERM", "exec 3>FIFO; (trap '' TERM; echo up >&3; exec sleep 1000) & wait", "", patience},
		{"ignoring SIGTERM", "trap '' TERM; " + childSleeping + "wait", "", 10 * time.Millisecond},
		{"in another group than it was started in", "exec 3>FIFO; exec env " + partVariable + "=mover " + program(t), "", patience},
		{"killed at once", "trap 'echo bye >&3' TERM; " + childSleeping + "wait", "", 0},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			c, fifo := shell(t, "echo last words; "+tt.script)
			c.Timeout, c.Grace = 500*time.Millisecond, tt.grace
			failed := make(chan error, 1)
			go func() { _, err := c.Run(t.Context()); failed <- err }()
			rest := watch(t, fifo)
			err := <-failed
			if want := "script did not end within 500ms: last words"; fmt.Sprint(err) != want || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want %s", err, want)
			}
			if got := rest(); got != tt.want {
				t.Errorf("it wrote %q, want %q", got, tt.want)
			}
		})
	}
}

// playMover goes to the group of the tests.
func playMover() {
	group, err := syscall.Getpgid(os.Getppid())
	if err == nil {
		err = syscall.Setpgid(0, group)
	}
	pipe := os.NewFile(3, "fifo")
	if err != nil {
		fmt.Fprintln(pipe, err)
		os.Exit(1)
	}
	fmt.Fprintln(pipe, "up")
	<-time.After(patience)
}

func TestP2EndOfTheContextGivesGrace(t *testing.T) {
	c, fifo := shell(t, "exec 3>FIFO; trap 'echo bye >&3; exit 0' TERM; echo up >&3; sleep 1000 & wait")
	c.Grace, c.LeaveGroup = patience, true
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error, 1)
	go func() { _, err := c.Run(ctx); failed <- err }()
	rest := watch(t, fifo)
	shutdown := errors.New("shutting down")
	cancel(shutdown)
	if err := <-failed; fmt.Sprint(err) != "script: shutting down" || !errors.Is(err, shutdown) {
		t.Errorf("got %v", err)
	}
	if got := rest(); got != "bye\n" {
		t.Errorf("it wrote %q before its end", got)
	}
}

func TestR2BackgroundChildDoesNotHoldUpRun(t *testing.T) {
	for _, tt := range []struct {
		rule, child        string
		leave, held, alive bool
	}{
		{"of another session", "setsid sh -c 'UP'", false, true, true},
		{"of the group, which is left alone", "(UP)", true, true, true},
		{"of the group, with its output elsewhere", "(UP) >/dev/null 2>&1", true, false, true},
		{"of the group, which is ended", "(UP)", false, true, false},
		{"of the group, which is ended, with its output elsewhere", "(UP) >/dev/null 2>&1", false, false, false},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			child := strings.ReplaceAll(tt.child, "UP", "echo up >&3; echo $$ >FIFO.up; exec sleep 1000")
			c, fifo := shell(t, "exec 3>FIFO; mkfifo FIFO.up; "+child+" & read pid <FIFO.up; echo $!")
			c.LeaveGroup = tt.leave
			type ended struct {
				Result
				err error
			}
			done := make(chan ended, 1)
			go func() { r, err := c.Run(t.Context()); done <- ended{r, err} }()
			rest := watch(t, fifo)
			got := <-done
			pid, err := strconv.Atoi(got.Output)
			if err != nil || got.err != nil {
				t.Fatalf("got %q, %v", got.Output, got.err)
			}
			if got.Held != tt.held {
				t.Errorf("output held: %t", got.Held)
			}
			if tt.alive {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Errorf("what the script started is not there: %v", err)
				}
			}
			rest()
		})
	}
}

func TestOutputIsBounded(t *testing.T) {
	c, _ := shell(t, "head -c 20000000 /dev/zero | tr '\\0' x; echo; echo the end; exit 1")
	got, err := c.Run(t.Context())
	if want := "script: exit status 1: the end"; fmt.Sprint(err) != want {
		t.Errorf("got %.200v, want %s", err, want)
	}
	if len(got.Output) > MaxOutput {
		t.Errorf("kept %d bytes", len(got.Output))
	}
}

// R1: even what cannot be ended, such as a program of another user, does not hold up Run.
func TestR1ProgramThatCannotBeEnded(t *testing.T) {
	shared.NeedRoot(t, "to start what cannot be ended")
	cmd := partOf(t, "powerless")
	out, err := cmd.CombinedOutput()
	if want := "script did not end within 200ms; it is still running: kill: operation not permitted\n"; err != nil || string(out) != want {
		t.Errorf("got %s (%v), want %s", out, err, want)
	}
}

// playPowerless runs a program that it may not kill. It is PID 1, so nothing outlives it.
func playPowerless() {
	failed := make(chan error, 1)
	c := Command{Name: "script", Path: "/bin/sh", Args: []string{"-c", "exec sleep 1000"}, Timeout: 200 * time.Millisecond, Grace: time.Millisecond}
	go func() { _, err := c.Run(context.Background()); failed <- err }()
	for children.count() == 0 { // it is started as root
		select {
		case err := <-failed:
			fmt.Println("too late:", err)
			return
		default:
		}
	}
	const nobody = 65534
	if err := syscall.Setresuid(nobody, nobody, nobody); err != nil {
		panic(err)
	}
	fmt.Println(<-failed)
	os.Exit(0)
}

func (r *registry) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.commands)
}
