package launch

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// launched is a process that was made by launch, and may be BIRD by now.
type launched struct {
	t     *testing.T
	cmd   *exec.Cmd
	log   *lockedBuffer
	ended chan struct{}
}

// lockedBuffer is written by a command while the test reads.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (l *launched) signal(s syscall.Signal) {
	l.t.Helper()
	if err := l.cmd.Process.Signal(s); err != nil {
		l.t.Fatal(err)
	}
}

// exits waits for the end, with this code.
func (l *launched) exits(code int) {
	l.t.Helper()
	select {
	case <-l.ended:
	case <-time.After(patience):
		l.t.Fatalf("it does not end; it said:\n%s", l.log)
	}
	if got := l.cmd.ProcessState.ExitCode(); got != code {
		l.t.Errorf("exit code %d, want %d", got, code)
	}
}

func (l *launched) said(text string) {
	l.t.Helper()
	if !strings.Contains(l.log.String(), text) {
		l.t.Errorf("it has not said %q but\n%s", text, l.log)
	}
}

func (l *launched) untilSays(text string) {
	l.t.Helper()
	until(l.t, "it says "+text, func() bool { return strings.Contains(l.log.String(), text) })
}

// kept makes sure that the process that was started is this program by now.
func (l *launched) kept(binary string) {
	l.t.Helper()
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", l.cmd.Process.Pid)); err != nil || filepath.Base(exe) != filepath.Base(binary) {
		l.t.Errorf("process %d is %s, %v; want %s", l.cmd.Process.Pid, exe, err, binary)
	}
}

// args counts an argument of what the process is by now.
func (l *launched) args(arg string) int {
	l.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", l.cmd.Process.Pid))
	if err != nil {
		l.t.Fatal(err)
	}
	return strings.Count("\x00"+string(data), "\x00"+arg+"\x00")
}
