package apply

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/test/shared"
)

// uniqueName is one that no other process on this machine has.
func uniqueName(t *testing.T, suffix string) string {
	t.Helper()
	return fmt.Sprintf("b%d%s", os.Getpid(), suffix)
}

func pidFileWith(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "bird.pid")
	writeFile(t, name, text, 0o644)
	return name
}

const noAnswer = "; a signal has no answer, so only bird -p and BIRD's log tell whether it took the configuration"

func TestSignalReloader(t *testing.T) {
	long := uniqueName(t, "-with-a-long-name")
	for _, tt := range []struct {
		rule, name string
		forks      int
		reloader   func(pid int) *SignalReloader
		sent, got  string
	}{
		{"to the process of the pid file", "bird", 0, func(pid int) *SignalReloader {
			return &SignalReloader{PIDFile: pidFileWith(t, fmt.Sprintln(pid))}
		}, "SIGHUP to bird", "0 hangup"},
		{"the pid file has no newline", "bird6", 0, func(pid int) *SignalReloader {
			return &SignalReloader{PIDFile: pidFileWith(t, fmt.Sprint(pid)), Signal: syscall.SIGUSR1}
		}, "SIGUSR1 to bird6", "0 user defined signal 1"},
		{"the pid file's process has another name", uniqueName(t, "p"), 0, func(pid int) *SignalReloader {
			return &SignalReloader{PIDFile: pidFileWith(t, fmt.Sprintln(pid)), Process: uniqueName(t, "p")}
		}, "SIGHUP to " + uniqueName(t, "p"), "0 hangup"},
		{"by its name", uniqueName(t, "n"), 0, func(int) *SignalReloader {
			return &SignalReloader{Process: uniqueName(t, "n")}
		}, "SIGHUP to " + uniqueName(t, "n"), "0 hangup"},
		{"by a name that the kernel cuts off", long, 0, func(int) *SignalReloader {
			return &SignalReloader{Process: long}
		}, "SIGHUP to " + long[:maxName], "0 hangup"},
		{"to the parent of what has its name", uniqueName(t, "f"), 2, func(int) *SignalReloader {
			return &SignalReloader{Process: uniqueName(t, "f")}
		}, "SIGHUP to " + uniqueName(t, "f"), "2 hangup"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			d := startDaemon(t, tt.name, tt.forks, 0)
			got, err := tt.reloader(d.pid()).Reload(t.Context(), "/nowhere/bird.cfg")
			if err != nil {
				t.Fatal(err)
			}
			want := Verdict{Words: fmt.Sprintf("sent %s (pid %d)", tt.sent, d.pid()) + noAnswer}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if line := d.next(t); line != tt.got {
				t.Errorf("the daemon says %q, want %q", line, tt.got)
			}
		})
	}
}

// failsToSignal has a reloader fail with this text.
func failsToSignal(t *testing.T, r *SignalReloader, text string, notRunning bool) {
	t.Helper()
	got, err := r.Reload(t.Context(), "")
	if got != (Verdict{}) || fmt.Sprint(err) != text {
		t.Errorf("got  %+v, %v\nwant %s", got, err, text)
	}
	if errors.Is(err, bird.ErrNotRunning) != notRunning {
		t.Errorf("%v: is ErrNotRunning: %t", err, !notRunning)
	}
}

func TestPIDFileIsReadStrictly(t *testing.T) {
	for _, tt := range []struct{ rule, text, want string }{
		{"nothing", "", "is empty: its daemon may be about to start"},
		{"no number", "bird", `has "bird", which is no process ID`},
		{"zero", "0\n", `has "0\n", which is no process ID`},
		{"a group", "-1\n", `has "-1\n", which is no process ID`},
		{"a sign", "+17\n", `has "+17\n", which is no process ID`},
		{"a leading zero", "017\n", `has "017\n", which is no process ID`},
		{"two lines", "17\n18\n", `has "17\n18\n", which is no process ID`},
		{"blanks", " 17\n", `has " 17\n", which is no process ID`},
		{"too large", "4294967297\n", `has "4294967297\n", which is no process ID`},
		{"a long text", strings.Repeat("1", 100), `has "11111111111111111111", which is no process ID`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			name := pidFileWith(t, tt.text)
			failsToSignal(t, &SignalReloader{PIDFile: name}, "pid file "+name+" "+tt.want, false)
		})
	}
	t.Run("no file", func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "bird.pid")
		failsToSignal(t, &SignalReloader{PIDFile: name}, "there is no pid file "+name, true)
	})
	t.Run("a named pipe that nobody writes to", func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "bird.pid")
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		failsToSignal(t, &SignalReloader{PIDFile: name}, "pid file "+name+" is no regular file", false)
	})
}

func TestStalePIDFile(t *testing.T) {
	t.Run("there is no such process", func(t *testing.T) {
		d := startDaemon(t, "bird", 0, 0)
		name := pidFileWith(t, fmt.Sprintln(d.pid()))
		d.end()
		failsToSignal(t, &SignalReloader{PIDFile: name}, fmt.Sprintf("%s: there is no process %d", name, d.pid()), true)
	})
	t.Run("it has ended and nobody has reaped it", func(t *testing.T) {
		d := startDaemon(t, "bird", 0, 0)
		name := pidFileWith(t, fmt.Sprintln(d.pid()))
		if err := d.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(restOf(d)); err != nil || len(rest) > 0 {
			t.Fatalf("it does not end: %q, %v", rest, err)
		}
		failsToSignal(t, &SignalReloader{PIDFile: name}, fmt.Sprintf("%s: there is no process %d", name, d.pid()), true)
	})
	t.Run("another program has its number", func(t *testing.T) {
		d := startDaemon(t, "nginx", 0, 0)
		name := pidFileWith(t, fmt.Sprintln(d.pid()))
		failsToSignal(t, &SignalReloader{PIDFile: name}, fmt.Sprintf("%s: process %d is nginx, not bird or bird6", name, d.pid()), false)
	})
	t.Run("birdconfd itself has its number", func(t *testing.T) {
		name := pidFileWith(t, fmt.Sprintln(os.Getpid()))
		failsToSignal(t, &SignalReloader{PIDFile: name}, fmt.Sprintf("%s: process %d is birdconfd itself", name, os.Getpid()), false)
	})
}

func TestProcessIsFoundByItsNameAlone(t *testing.T) {
	name := uniqueName(t, "x")
	t.Run("nobody has it", func(t *testing.T) {
		failsToSignal(t, &SignalReloader{Process: name}, "there is no process "+name, true)
	})
	t.Run("two have it", func(t *testing.T) {
		one, two := startDaemon(t, name, 0, 0), startDaemon(t, name, 0, 0)
		failsToSignal(t, &SignalReloader{Process: name}, fmt.Sprintf("process %s is ambiguous: pids %d, %d; use a control socket or a pid file",
			name, min(one.pid(), two.pid()), max(one.pid(), two.pid())), false)
	})
	t.Run("a script has it", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), name)
		writeFile(t, path, "#!/bin/sh\necho up; read line\n", 0o755)
		cmd := exec.Command(path)
		in, errIn := cmd.StdinPipe()
		out, errOut := cmd.StdoutPipe()
		if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
		if _, err := io.ReadFull(out, make([]byte, len("up\n"))); err != nil {
			t.Fatal(err)
		}
		failsToSignal(t, &SignalReloader{Process: name}, "there is no process "+name, true)
	})
	t.Run("one has it in another PID namespace", func(t *testing.T) {
		shared.NeedRoot(t, "a PID namespace")
		d := startDaemon(t, name, 0, syscall.CLONE_NEWPID)
		failsToSignal(t, &SignalReloader{Process: name}, "there is no process "+name+" in our PID namespace, and 1 in others", true)
		file := pidFileWith(t, fmt.Sprintln(d.pid()))
		failsToSignal(t, &SignalReloader{PIDFile: file, Process: name}, fmt.Sprintf("%s: process %d (%s) is in another PID namespace", file, d.pid(), name), false)
	})
	t.Run("no name is given", func(t *testing.T) {
		failsToSignal(t, &SignalReloader{}, "neither a pid file nor a process is given to signal", false)
	})
}

// A check that runs at the same time is no daemon, and a signal would end it.
func TestOwnCommandIsNotSignalled(t *testing.T) {
	name := uniqueName(t, "c")
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path, fifo := filepath.Join(dir, name), filepath.Join(dir, "fifo")
	if err := errors.Join(os.Symlink(program, path), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = script("exec env "+forksVariable+"=0 "+path+" >"+fifo).Reload(ctx, "") // it is ended by the test
	}()
	defer func() { cancel(); <-ended }()
	out, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "0 up\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	failsToSignal(t, &SignalReloader{Process: name}, "there is no process "+name, true)
}

func TestSignalAfterTheEndOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	shutdown := errors.New("shutting down")
	cancel(shutdown)
	if _, err := (&SignalReloader{PIDFile: "/nowhere"}).Reload(ctx, ""); !errors.Is(err, shutdown) {
		t.Errorf("got %v", err)
	}
}

func TestSignalReloadsBird(t *testing.T) {
	for name, binary := range map[string]func(testing.TB) string{"bird 1.6": birdtest.Bird, "bird6 1.6": birdtest.Bird6, "bird 2": birdtest.Bird2} {
		t.Run(name, func(t *testing.T) {
			const config = "log stderr all;\nrouter id 10.0.0.1;\nprotocol device { }\n"
			d := birdtest.Start(t, binary(t), config)
			writeFile(t, d.Config, config+"filter added { accept; }\n", 0o600)
			got, err := (&SignalReloader{PIDFile: filepath.Join(d.Dir, "bird.pid")}).Reload(t.Context(), d.Config)
			if err != nil || got.Confirmed || !strings.HasSuffix(got.Words, noAnswer) {
				t.Fatalf("got %+v, %v", got, err)
			}
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			limit := time.After(time.Minute)
			for !strings.Contains(d.Log(), "Reconfigured") {
				select {
				case <-tick.C:
				case <-limit:
					t.Fatal("BIRD is not reconfigured")
				}
			}
		})
	}
}
