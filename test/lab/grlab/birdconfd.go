package grlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/birdconfd/birdconfd/test/lab/netns"
)

// process is a program that runs once.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// statusTimeout bounds a run of "birdconfd status".
const statusTimeout = 20 * time.Second

// statusAddress is where birdconfd tells how it is, in the namespace of its node.
const statusAddress = "127.0.0.1:9097"

// StartBirdconfd starts birdconfd.
func (n *Node) StartBirdconfd() error {
	o := n.lab.options
	args := []string{"run", "--node", n.Name, "--output", n.output(), "--socket", "bird=" + n.socket(),
		"--family", "ipv4", "--set", o.Set, "--bird-dir", filepath.Dir(o.Binary),
		"--listen", statusAddress, "--log-level", "debug", "--poll", "1s"}
	if o.Templates != "" {
		args = append(args, "--templates", o.Templates)
	}
	cmd, err := n.run(n.confdLog(), o.Program, append(append(args, o.Args...), n.resources())...)
	if err != nil {
		return err
	}
	p := &process{cmd, make(chan struct{})}
	go func() {
		_ = cmd.Wait() // its log tells
		close(p.ended)
	}()
	n.confd = p
	return nil
}

// StopBirdconfd ends birdconfd in good order.
func (n *Node) StopBirdconfd() error { return n.endBirdconfd(syscall.SIGTERM) }

// KillBirdconfd kills birdconfd, unless it does not run.
func (n *Node) KillBirdconfd() error { return n.endBirdconfd(syscall.SIGKILL) }

func (n *Node) endBirdconfd(signal syscall.Signal) error {
	p := n.confd
	if p == nil {
		return nil
	}
	n.confd = nil
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill() // fails only when it has ended
		<-p.ended
		return fmt.Errorf("%s: birdconfd has not ended on signal %s", n.Name, signal)
	}
}

// BirdconfdStatus is what "birdconfd status" prints on this node. It exits with an error code
// while not all is well, which is no error here.
func (n *Node) BirdconfdStatus(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	args = append([]string{"netns", "exec", n.lab.network.Namespace(n.Name), n.lab.options.Program, "status"}, args...)
	cmd := exec.CommandContext(ctx, "ip", args...)
	cmd.SysProcAttr = netns.Apart()
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		err = nil
	}
	return string(out), err
}

// StatusOfSocket is what "birdconfd status" prints when it asks BIRD itself.
func (n *Node) StatusOfSocket(ctx context.Context) (string, error) {
	return n.BirdconfdStatus(ctx, "--socket", "bird="+n.socket())
}

// BirdconfdLog is what birdconfd has logged, in all its lives.
func (n *Node) BirdconfdLog() string { return text(n.confdLog()) }

// BIRDLog is what BIRD has logged, in all its lives.
func (n *Node) BIRDLog() string { return text(n.birdLog()) }

// Config is the text of all files of BIRD's.
func (n *Node) Config() string {
	var all strings.Builder
	paths, _ := filepath.Glob(filepath.Join(n.output(), "*.cfg")) // the pattern is good
	for _, path := range paths {
		all.WriteString(text(path))
	}
	return all.String()
}

// Off tells whether BIRD's files turn graceful restart off for another node.
func (n *Node) Off(peer *Node) bool {
	_, session, _ := strings.Cut(n.Config(), "protocol bgp "+peer.Session()+" ")
	session, _, _ = strings.Cut(session, "\n}")
	return strings.Contains(session, "graceful restart off")
}

// text is a file's, or the error.
func text(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
