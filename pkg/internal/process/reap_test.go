package process

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/test/shared"
)

// partOf starts the test's program as PID 1 of new namespaces.
func partOf(t *testing.T, part string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program(t))
	cmd.Env = append(os.Environ(), partVariable+"="+part)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
	}
	return cmd
}

func TestP10OrphansAreReapedAndExitCodesAreKept(t *testing.T) {
	shared.NeedRoot(t, "a PID namespace")
	out, err := partOf(t, "init").CombinedOutput()
	if err != nil || string(out) != "good\n" {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestP10OnlyPID1Reaps(t *testing.T) {
	ReapOrphans(t.Context(), slog.New(slog.DiscardHandler)) // returns at once
}

// Orphans end before and after the command that leaves them, with codes of their own.
const leavingOrphans = `(exit 91) & (sleep 0.01; exit 92) >/dev/null 2>&1 & setsid sh -c "exit 93" & exit `

const leavers = 200

// playInit is PID 1, runs commands that leave orphans, and tells what is wrong.
func playInit() {
	if os.Getpid() != 1 {
		fmt.Println("not PID 1 but", os.Getpid())
		return
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		fmt.Println("make mounts private:", err)
		return
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		fmt.Println("mount /proc:", err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var log lockedBuffer
	var reaping sync.WaitGroup
	reaping.Go(func() {
		ReapOrphans(ctx, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	})
	if runOneByOne() && runLeavers() && noneIsLeft() && orphansOf(log.String()) {
		fmt.Println("good")
	}
	cancel()
	reaping.Wait()
	os.Exit(0)
}

// runOneByOne has no later end of a child that would hide that one was overlooked: an orphan
// may be behind the command that left it when the kernel is asked for what has ended.
func runOneByOne() bool {
	for range 50 {
		c := Command{Name: "sh", Path: "/bin/sh", Args: []string{"-c", "(exit 91) & exit 0"}}
		if _, err := c.Run(context.Background()); err != nil {
			fmt.Println(err)
			return false
		}
		if !noneIsLeft() {
			return false
		}
	}
	return true
}

func runLeavers() bool {
	var wrong atomic.Bool
	var workers sync.WaitGroup
	next := make(chan int)
	for range 8 {
		workers.Go(func() {
			for n := range next {
				c := Command{Name: "sh", Path: "/bin/sh", Args: []string{"-c", leavingOrphans + fmt.Sprint(n%90)}, LeaveGroup: n%2 == 0}
				_, err := c.Run(context.Background())
				want := fmt.Sprintf("sh: exit status %d", n%90)
				if n%90 == 0 {
					want = "<nil>"
				}
				if fmt.Sprint(err) != want {
					fmt.Printf("got %v, want %s\n", err, want)
					wrong.Store(true)
				}
			}
		})
	}
	for n := range leavers {
		next <- n
	}
	close(next)
	workers.Wait()
	return !wrong.Load() && children.count() == 0
}

// noneIsLeft waits until this process is the only one.
func noneIsLeft() bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for {
		left, err := filepath.Glob("/proc/[0-9]*/stat")
		if err != nil {
			panic(err)
		}
		if len(left) == 1 {
			return true
		}
		select {
		case <-tick.C:
		case <-limit:
			for _, name := range left {
				stat, _ := os.ReadFile(name) // it may end meanwhile
				fmt.Printf("left: %s\n", stat)
			}
			return false
		}
	}
}

// orphansOf looks whether the log tells of orphans, and of each only once: the exit codes
// of commands are below 90.
func orphansOf(log string) bool {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	for _, line := range lines {
		if !strings.Contains(line, "exit_code=9") && !strings.Contains(line, "exit_code=-1 signal=9") {
			fmt.Println("not an orphan:", line)
			return false
		}
	}
	if len(lines) < leavers {
		fmt.Println("only", len(lines), "orphans were reaped")
	}
	return len(lines) >= leavers
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
