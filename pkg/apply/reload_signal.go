package apply

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

// SignalReloader reloads with a signal, where there is no control socket. BIRD answers
// none: with a configuration that it refuses it goes on as before, and says so only in its
// log.
type SignalReloader struct {
	// PIDFile is where the daemon writes its process ID (bird -P).
	PIDFile string
	// Process is the daemon's program, as its plain name. Without PIDFile the daemon is
	// looked for by it, and must be the only one in our PID namespace; with PIDFile it is
	// what the process must be, in place of bird or bird6.
	Process string
	// Signal is what is sent, SIGHUP when zero.
	Signal syscall.Signal
}

// notRunning says in its own words what bird.ErrNotRunning says of a socket.
type notRunning string

func (e notRunning) Error() string { return string(e) }
func (notRunning) Unwrap() error   { return bird.ErrNotRunning }

// Reload implements Reloader.
func (r *SignalReloader) Reload(ctx context.Context, _ string) (Verdict, error) {
	if ctx.Err() != nil {
		return Verdict{}, context.Cause(ctx)
	}
	depth, err := namespaceDepth()
	if err != nil {
		return Verdict{}, err
	}
	pid, source, err := r.find(depth)
	if err != nil {
		return Verdict{}, err
	}
	// From here on it is one process, whatever becomes of its number (pidfd_open(2)).
	handle, err := os.FindProcess(pid)
	if err != nil {
		return Verdict{}, fmt.Errorf("process %d: %w", pid, err)
	}
	defer handle.Release()
	p, err := readProc(pid, depth)
	if err != nil {
		return Verdict{}, fmt.Errorf("%s: %w", source, err)
	}
	if err := r.accept(p); err != nil {
		return Verdict{}, fmt.Errorf("%s: %w", source, err)
	}
	return r.send(handle, p, source)
}

func (r *SignalReloader) send(to *os.Process, p proc, source string) (Verdict, error) {
	signal := cmp.Or(r.Signal, syscall.SIGHUP)
	sent := fmt.Sprintf("%s to %s (pid %d)", signalName(signal), p.name, p.pid)
	switch err := to.Signal(signal); {
	case errors.Is(err, os.ErrProcessDone):
		return Verdict{}, fmt.Errorf("%s: %w", source, gone(p.pid))
	case err != nil:
		return Verdict{}, fmt.Errorf("send %s: %w", sent, err)
	}
	return Verdict{Words: "sent " + sent + "; a signal has no answer, so only bird -p and BIRD's log tell whether it took the configuration"}, nil
}

// find returns the daemon's process ID and where that comes from.
func (r *SignalReloader) find(depth int) (pid int, source string, err error) {
	switch {
	case r.PIDFile != "":
		pid, err = readPIDFile(r.PIDFile)
		return pid, r.PIDFile, err
	case r.Process != "":
		pid, err = findProc(r.Process, depth)
		return pid, "process " + r.Process, err
	default:
		return 0, "", errors.New("neither a pid file nor a process is given to signal")
	}
}

// accept tells why a process is not the one to signal.
func (r *SignalReloader) accept(p proc) error {
	names := []string{"bird", "bird6"}
	if r.Process != "" {
		names = []string{r.Process}
	}
	switch {
	case p.ended:
		return gone(p.pid)
	case p.pid == os.Getpid():
		return fmt.Errorf("process %d is birdconfd itself", p.pid)
	case p.nested:
		return fmt.Errorf("process %d (%s) is in another PID namespace", p.pid, p.name)
	case !p.is(names...):
		return fmt.Errorf("process %d is %s, not %s", p.pid, p.name, strings.Join(names, " or "))
	}
	return nil
}

func gone(pid int) error { return notRunning(fmt.Sprintf("there is no process %d", pid)) }

// A pid file has a number in decimal and, as BIRD writes it, a newline.
var pidFile = regexp.MustCompile(`^[1-9][0-9]{0,9}\n?$`)

func readPIDFile(name string) (int, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO must not block
	if errors.Is(err, fs.ErrNotExist) {
		return 0, notRunning("there is no pid file " + name)
	}
	if err != nil {
		return 0, fmt.Errorf("pid file: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0, fmt.Errorf("pid file %s is no regular file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0, fmt.Errorf("pid file: %w", err)
	}
	if len(data) == 0 {
		return 0, fmt.Errorf("pid file %s is empty: its daemon may be about to start", name)
	}
	pid, err := strconv.ParseInt(string(bytes.TrimSuffix(data, []byte("\n"))), 10, 32)
	if err != nil || !pidFile.Match(data) {
		return 0, fmt.Errorf("pid file %s has %.20q, which is no process ID", name, data)
	}
	return int(pid), nil
}

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGHUP:
		return "SIGHUP"
	case syscall.SIGUSR1:
		return "SIGUSR1"
	case syscall.SIGUSR2:
		return "SIGUSR2"
	default:
		return fmt.Sprintf("signal %d", int(s))
	}
}
