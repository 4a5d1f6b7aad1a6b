package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// patience is how long anything may take. Machines that run tests are busy.
	patience = 120 * time.Second
	// pollEvery is how often something that is waited for is looked at.
	pollEvery = 20 * time.Millisecond
	// tailBytes is how much of a server's output is shown.
	tailBytes = 6 << 10
)

// process is a server that runs, or has run. It can be started again.
type process struct {
	binary string
	args   []string
	log    string // path of the file with its output of all starts

	pid   int
	from  int           // where in the log its output of this start begins
	ended chan struct{} // closed when it has ended
}

// start runs it. It does not wait until it is ready.
func (p *process) start() error {
	if p.running() {
		return fmt.Errorf("%s runs already", p.name())
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if info, err := log.Stat(); err == nil {
		p.from = int(info.Size())
	}
	cmd := exec.Command(p.binary, p.args...)
	cmd.Dir = filepath.Dir(p.log)
	cmd.Env = []string{} // what is set here for etcd's own tools is not for this one
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		// The signal comes when the thread ends that has started the process, so this one
		// is kept until the process has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		defer log.Close()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the log tells why it ended
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", p.name(), err)
	}
	p.pid, p.ended = cmd.Process.Pid, ended
	return nil
}

func (p *process) name() string { return filepath.Base(p.binary) }

func (p *process) running() bool {
	if p.ended == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// signal sends it a signal, if it runs.
func (p *process) signal(s syscall.Signal) {
	if p.running() {
		_ = syscall.Kill(-p.pid, s) // fails only when it has just ended
	}
}

// kill ends it as a crash does, and waits for that.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	if p.ended != nil {
		<-p.ended
	}
}

// tail returns the end of its output, for a person.
func (p *process) tail() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	if cut := len(data) - tailBytes; cut > 0 {
		data = data[cut:]
	}
	return fmt.Sprintf("end of the log of %s:\n%s", p.name(), data)
}

// lostPort tells whether it has ended because somebody else has one of its ports.
func (p *process) lostPort() bool {
	data, err := os.ReadFile(p.log)
	return err == nil && !p.running() && strings.Contains(string(data[p.from:]), "address already in use")
}

// untilReady waits until it is ready, or has ended.
func (p *process) untilReady(ready func(context.Context) error) error {
	var last error
	err := poll(func(ctx context.Context) (bool, error) {
		if !p.running() {
			return false, errors.New("it has ended")
		}
		last = ready(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s is not ready: %w (%v)\n%s", p.name(), err, last, p.tail())
	}
	return nil
}

// poll asks again and again, until the answer is yes or an error, or patience ends.
func poll(done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if ok, err := done(ctx); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("not within %v", patience)
		}
	}
}

// startAgain starts it at the ports that it had, and waits until it is ready. Somebody may
// have one of them for a moment.
func (p *process) startAgain(ready func(context.Context) error) error {
	var err error
	for range portTries {
		if err = p.start(); err != nil {
			return err
		}
		if err = p.untilReady(ready); err == nil || !p.lostPort() {
			return err
		}
	}
	return err
}
