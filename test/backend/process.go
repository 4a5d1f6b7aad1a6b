package backend

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// startLimit is how long a server may take to become ready on a busy machine.
	startLimit = 120 * time.Second
	pollEvery  = 20 * time.Millisecond
)

// process is a program that runs.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it has ended
}

// start starts a program whose output goes to a file. It dies with this process.
func start(log, program string, args ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p := &process{cmd: exec.Command(program, args...), log: log, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The death signal comes when the thread ends that started the program.
		runtime.LockOSThread()
		defer close(p.done)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended does not matter
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// kill ends the process and waits for that.
func (p *process) kill() {
	if p == nil {
		return
	}
	p.signal(syscall.SIGKILL)
	<-p.done
}

// await waits until ready says nil.
func (p *process) await(ready func() error) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	limit := time.After(startLimit)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s has ended: %s", filepath.Base(p.cmd.Path), p.tail())
		case <-limit:
			return fmt.Errorf("%s is not ready within %s: %w: %s", filepath.Base(p.cmd.Path), startLimit, err, p.tail())
		case <-tick.C:
		}
	}
}

// tail is the end of the output.
func (p *process) tail() string {
	data, _ := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// freePort finds a port on which nothing listens. Another program may take it before it is
// used, hence the tries of those who call this.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		var err error
		if ports[i], err = freePort(); err != nil {
			return nil, err
		}
	}
	return ports, nil
}
