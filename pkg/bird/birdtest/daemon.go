package birdtest

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const (
	// patience is how long a daemon may take to start or to end.
	patience = 30 * time.Second
	// pollEvery is how often a daemon that starts is asked whether it is there.
	pollEvery = 5 * time.Millisecond
)

// Daemon is a BIRD that runs for a test, in the foreground: its configuration should have no
// kernel protocol. Its methods are for the goroutine of the
// test. It ends with the test, and its log is shown when that has failed.
type Daemon struct {
	Dir    string // has all its files, and is removed with the test
	Config string // the path of its configuration, which the test may overwrite
	Socket string // the path of its control socket
	Pid    int    // of the process that was started last

	t       testing.TB
	binary  string
	flags   []string
	here    bool // in the network of the test
	process *os.Process
	ended   chan struct{}
}

// Start runs a BIRD with this configuration, and waits until its control socket answers.
// For root it has a network of its own, without any address, where no session comes up.
// What it logs to stderr, also without "log stderr all", is in Log. It is started with the
// flags each time, such as "-R" for a graceful restart.
func Start(t testing.TB, binary, config string, flags ...string) *Daemon {
	t.Helper()
	return run(t, &Daemon{t: t, binary: binary, flags: flags}, config)
}

// StartHere is Start in the network of the test, where daemons at loopback addresses can
// have sessions with one another. Their configurations must say which address and port they
// listen at.
func StartHere(t testing.TB, binary, config string, flags ...string) *Daemon {
	t.Helper()
	return run(t, &Daemon{t: t, binary: binary, flags: flags, here: true}, config)
}

func run(t testing.TB, d *Daemon, config string) *Daemon {
	t.Helper()
	// t.TempDir has the name of the test in it, which is too long for a socket.
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d.Dir, d.Config, d.Socket = dir, filepath.Join(dir, "bird.conf"), filepath.Join(dir, "bird.ctl")
	if err := os.WriteFile(d.Config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if d.process != nil {
			d.Kill()
		}
		if t.Failed() {
			t.Logf("log of %s:\n%s", d.binary, d.Log())
		}
	})
	d.start()
	return d
}

func (d *Daemon) start() {
	d.t.Helper()
	log, err := os.OpenFile(d.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer log.Close()
	args := []string{"-d", "-c", d.Config, "-s", d.Socket, "-P", filepath.Join(d.Dir, "bird.pid")}
	cmd := exec.Command(d.binary, append(args, d.flags...)...)
	cmd.Dir = d.Dir
	cmd.Stdout, cmd.Stderr = log, log
	// It must not outlive the tests, not even those that are killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 && !d.here {
		// Whoever may change this machine's routes gets a network without any.
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET
	}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the log tells why it ended
		close(ended)
	}()
	d.process, d.Pid, d.ended = cmd.Process, cmd.Process.Pid, ended
	d.untilAnswers()
}

func (d *Daemon) untilAnswers() {
	d.t.Helper()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	limit := time.After(patience)
	for !d.answers() {
		select {
		case <-tick.C:
		case <-d.ended:
			d.t.Fatalf("%s has ended at once:\n%s", d.binary, d.Log())
		case <-limit:
			d.t.Fatalf("%s does not answer at %s", d.binary, d.Socket)
		}
	}
}

func (d *Daemon) answers() bool {
	conn, err := net.Dial("unix", d.Socket)
	if err != nil {
		return false
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return false
	}
	greeting := make([]byte, len("0001 "))
	_, err = io.ReadFull(conn, greeting)
	return err == nil && string(greeting) == "0001 "
}

func (d *Daemon) log() string { return filepath.Join(d.Dir, "bird.log") }

// Log returns what the daemon has logged to stderr, since Start.
func (d *Daemon) Log() string {
	data, err := os.ReadFile(d.log())
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// Kill ends the daemon as a crash does: its socket stays, and nobody listens on it. It does
// nothing when the daemon has ended already.
func (d *Daemon) Kill() {
	_ = d.process.Kill() // fails only when it has ended
	<-d.ended
}

// Stop ends the daemon in good order: it removes its socket. It does nothing when the daemon
// has ended already.
func (d *Daemon) Stop() {
	d.t.Helper()
	_ = d.process.Signal(syscall.SIGTERM) // fails only when it has ended
	_ = d.process.Signal(syscall.SIGCONT) // in case the test has stopped it
	select {
	case <-d.ended:
	case <-time.After(patience):
		d.t.Errorf("%s does not end", d.binary)
		d.Kill()
	}
}

// Restart ends the daemon in good order unless it has ended already, starts it again with
// the same socket and the configuration that is in its file now, and waits until it answers.
func (d *Daemon) Restart() {
	d.t.Helper()
	d.Stop()
	d.start()
}
