package apply

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// forksVariable has the test's program, started under another name, play a daemon. It is the
// number of daemons that it is to start in turn.
const forksVariable = "BIRDCONFD_TEST_FORKS"

func init() {
	text := os.Getenv(forksVariable)
	if text == "" {
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGUSR1)
	if forks, _ := strconv.Atoi(text); forks > 0 {
		child := exec.Command(os.Args[0])
		child.Env = []string{fmt.Sprintf("%s=%d", forksVariable, forks-1)}
		child.Stdout = os.Stdout
		child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := child.Start(); err != nil {
			panic(err)
		}
	}
	fmt.Println(text, "up")
	for s := range signals {
		fmt.Println(text, s)
	}
}

// daemon is a process that tells what signals it gets.
type daemon struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	end   func()
}

func (d *daemon) pid() int { return d.cmd.Process.Pid }

// startDaemon starts a process with this name, and waits until it is up.
func startDaemon(t *testing.T, name string, forks int, cloneflags uintptr) *daemon {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(program, path); err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	if err := out.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = []string{fmt.Sprintf("%s=%d", forksVariable, forks)}
	cmd.Stdout = w
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: cloneflags}
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{cmd: cmd, lines: bufio.NewScanner(out)}
	d.end = func() {
		_ = cmd.Process.Kill() // fails only when it has ended
		_ = cmd.Wait()         // it was killed
	}
	t.Cleanup(d.end)
	for range forks + 1 {
		if line := d.next(t); !strings.HasSuffix(line, " up") {
			t.Fatalf("the daemon says %q", line)
		}
	}
	return d
}

func (d *daemon) next(t *testing.T) string {
	t.Helper()
	if !d.lines.Scan() {
		t.Fatalf("the daemon says nothing: %v", d.lines.Err())
	}
	return d.lines.Text()
}

// restOf reads what a daemon's pipe has until its end.
func restOf(d *daemon) io.Reader {
	r, w := io.Pipe()
	go func() {
		for d.lines.Scan() {
			fmt.Fprintln(w, d.lines.Text())
		}
		w.CloseWithError(d.lines.Err())
	}()
	return r
}
