package process

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long a test waits for what has to happen.
const patience = time.Minute

// partVariable has the test's program, started once more, play a part.
const partVariable = "BIRDCONFD_TEST_PROCESS"

func TestMain(m *testing.M) {
	switch os.Getenv(partVariable) {
	case "":
		goleak.VerifyTestMain(m)
	case "init":
		playInit()
	case "mover":
		playMover()
	case "powerless":
		playPowerless()
	}
}

// program is the test's own.
func program(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// shell is a command that runs a script, in which FIFO is the path of a named pipe that
// watch reads.
func shell(t *testing.T, script string) (c Command, fifo string) {
	t.Helper()
	fifo = filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	return Command{Name: "script", Path: "/bin/sh", Args: []string{"-c", strings.ReplaceAll(script, "FIFO", fifo)}, Timeout: patience}, fifo
}

// watch opens the pipe that the processes of a script hold open as long as they live,
// waits until one has written a line to it, and returns a function that waits for the
// last of them to end and returns what was written since.
func watch(t *testing.T, fifo string) (rest func() string) {
	t.Helper()
	f, err := os.Open(fifo) // waits for the script to open it too
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(f, make([]byte, len("up\n"))); err != nil {
		t.Fatalf("the script did not get up: %v", err)
	}
	return func() string {
		t.Helper()
		data, err := io.ReadAll(f)
		if err != nil {
			t.Errorf("a process of the script is still there: %v", err)
		}
		return string(data)
	}
}
