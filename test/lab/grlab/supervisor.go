package grlab

import (
	"errors"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// supervisor keeps a program running: it starts it anew a while after it has ended, like
// runit does.
type supervisor struct {
	program func() (*exec.Cmd, error) // starts it
	pause   time.Duration

	mu      sync.Mutex
	starts  []time.Time
	err     error // why it could not be started last
	process *exec.Cmd
	stopped bool

	stop, done chan struct{}
}

func supervise(pause time.Duration, program func() (*exec.Cmd, error)) *supervisor {
	s := &supervisor{program: program, pause: pause, stop: make(chan struct{}), done: make(chan struct{})}
	go s.run()
	return s
}

func (s *supervisor) run() {
	defer close(s.done)
	for {
		if cmd := s.start(); cmd != nil {
			_ = cmd.Wait() // its log tells
			s.mu.Lock()
			s.process = nil
			s.mu.Unlock()
		}
		timer := time.NewTimer(s.pause)
		select {
		case <-s.stop:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// start returns nil when it was not started.
func (s *supervisor) start() *exec.Cmd {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	begin := time.Now()
	cmd, err := s.program()
	if s.err = err; err != nil {
		return nil
	}
	s.starts, s.process = append(s.starts, begin), cmd
	return cmd
}

// lastStart is when the program was started last.
func (s *supervisor) lastStart() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.starts) == 0 {
		return time.Time{}
	}
	return s.starts[len(s.starts)-1]
}

// crash ends the program as a crash does. It is started anew.
func (s *supervisor) crash() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return errors.Join(errors.New("it is not running"), s.err)
	}
	return s.process.Process.Signal(syscall.SIGKILL)
}

// close ends the program and its supervision.
func (s *supervisor) close() {
	s.mu.Lock()
	s.stopped = true
	if s.process != nil {
		_ = s.process.Process.Kill() // fails only when it has ended
	}
	s.mu.Unlock()
	close(s.stop)
	<-s.done
}
