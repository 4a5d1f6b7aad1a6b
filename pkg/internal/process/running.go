package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// drainTime is how long output is still read after the program itself has ended, in
	// case something that it left behind keeps the pipe open.
	drainTime = time.Second
	// killTime is how long a program may take to vanish after SIGKILL.
	killTime = 2 * time.Second
)

// running is a program that has been started. It ends with collect or abandon.
type running struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has exited; it is not reaped by that
	output Tail
	pipe   *os.File      // where the output comes from
	read   chan struct{} // closed when all output is read
}

func start(c Command) (*running, error) {
	pipe, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	r := &running{cmd: exec.Command(c.Path, c.Args...), exited: make(chan struct{}), pipe: pipe, read: make(chan struct{})}
	r.cmd.Stdout, r.cmd.Stderr = w, w
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := children.start(r.cmd); err != nil {
		pipe.Close()
		return nil, err
	}
	go func() { awaitExit(r.cmd.Process.Pid); close(r.exited) }()
	go func() { _, _ = io.Copy(&r.output, pipe); close(r.read) }() // an error is that it was closed
	return r, nil
}

// collect takes in what is left of a program that has exited.
func (r *running) collect(stopped, leaveGroup bool) (Result, error) {
	if stopped {
		_ = r.kill(syscall.SIGKILL) // those that have not ended with the leader
	}
	held := !within(drainTime, r.read)
	if !leaveGroup {
		_ = r.kill(syscall.SIGKILL) // what the leader left behind; nothing, as a rule
	}
	err := children.wait(r.cmd)
	return Result{Output: r.text(), Held: held}, err
}

// abandon leaves a program alone that cannot be ended. It is reaped when it ends at last.
func (r *running) abandon() Result {
	go func() { <-r.exited; _ = children.wait(r.cmd) }()
	return Result{Output: r.text()}
}

// text ends the reading and returns the output.
func (r *running) text() string {
	r.pipe.Close()
	<-r.read
	return strings.TrimSpace(r.output.String())
}

// stop ends the group, unless the leader has exited already. An error tells that the leader
// is still there.
func (r *running) stop(grace time.Duration) (stopped bool, stuck error) {
	select {
	case <-r.exited:
		return false, nil
	default:
	}
	if grace > 0 {
		_ = r.kill(syscall.SIGTERM) // an error comes again with SIGKILL
		if within(grace, r.exited) {
			return true, nil
		}
	}
	err := r.kill(syscall.SIGKILL)
	switch {
	case within(killTime, r.exited):
		return true, nil
	case err != nil:
		return true, fmt.Errorf("it is still running: kill: %w", err)
	default:
		return true, errors.New("it is still there after SIGKILL")
	}
}

// kill sends a signal to the group, and to its leader once, even if that has gone to another
// group. The leader must not be reaped yet, so that the number is still its own.
func (r *running) kill(signal syscall.Signal) error {
	leader := r.cmd.Process.Pid
	err := syscall.Kill(-leader, signal)
	if group, _ := syscall.Getpgid(leader); group != leader {
		err = syscall.Kill(leader, signal)
	}
	return err
}

func within(d time.Duration, c <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}
