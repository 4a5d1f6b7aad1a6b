package process

import (
	"os/exec"
	"sync"
	"syscall"
	"unsafe"
)

// children are the commands that are running. Children belong to a process as a whole, and
// so does this.
var children = registry{commands: map[int]int{}, waited: make(chan struct{}, 1)}

// registry tells commands from orphans, the children that this process only inherited.
type registry struct {
	// mu is held while a command is started, so that nobody sees it unregistered, and
	// while an orphan is looked for.
	mu sync.Mutex
	// commands counts by process ID: a number can be used again before the command that
	// had it before is done with its output.
	commands map[int]int
	// waited gets something after a command was waited for.
	waited chan struct{}
}

// start starts a command. It must be waited for with wait.
func (r *registry) start(cmd *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	r.commands[cmd.Process.Pid]++
	return nil
}

func (r *registry) wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	pid := cmd.Process.Pid
	if r.commands[pid]--; r.commands[pid] == 0 {
		delete(r.commands, pid)
	}
	select {
	case r.waited <- struct{}{}:
	default: // it is told already
	}
	return err
}

// IsCommand tells whether a process is one that Run has started and not yet done with.
func IsCommand(pid int) bool {
	children.mu.Lock()
	defer children.mu.Unlock()
	return children.commands[pid] > 0
}

// reapOne reaps an orphan that has ended. It returns 0 when there is none, or when an
// ended command is to be waited for first, which is soon.
func (r *registry) reapOne() (pid int, status syscall.WaitStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := waitid(anyChild, 0, syscall.WEXITED|syscall.WNOWAIT|syscall.WNOHANG)
	if err != nil || pid == 0 || r.commands[pid] > 0 {
		return 0, 0
	}
	// Nobody else waits for it, so the number is still its own.
	if _, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); err != nil {
		return 0, 0
	}
	return pid, status
}

// awaitExit waits until a child has exited, and does not reap it.
func awaitExit(pid int) {
	// An error can only be that it is no child any more.
	_, _ = waitid(oneChild, pid, syscall.WEXITED|syscall.WNOWAIT)
}

// What waitid can be asked for: P_ALL and P_PID of waitid(2).
const (
	anyChild = 0
	oneChild = 1
)

// waitid calls waitid(2), which package syscall has no function for, and returns the
// process ID of the child, 0 for none with WNOHANG.
func waitid(which, id, options int) (int, error) {
	const is64bit = ^uint(0) >> 63
	var info struct { // siginfo_t, as the Go runtime has it
		signal, errno, code int32
		_                   [is64bit]int32
		pid                 int32
		_                   [128 - (4+is64bit)*4]byte
	}
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, uintptr(which), uintptr(id),
			uintptr(unsafe.Pointer(&info)), uintptr(options), 0, 0)
		switch errno {
		case 0:
			return int(info.pid), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}
