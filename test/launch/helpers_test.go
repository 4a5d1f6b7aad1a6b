package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/test/shared"
)

const (
	// patience is how long anything may take that should happen within seconds.
	patience  = 60 * time.Second
	pollEvery = 10 * time.Millisecond
)

var program struct {
	path string
	err  error
	once sync.Once
}

func TestMain(m *testing.M) {
	code := m.Run()
	if program.path != "" {
		os.RemoveAll(filepath.Dir(program.path))
	}
	os.Exit(code)
}

// built is the program as it is shipped.
func built(t *testing.T) string {
	t.Helper()
	program.once.Do(func() {
		dir, err := os.MkdirTemp("", "b")
		if err != nil {
			program.err = err
			return
		}
		program.path = filepath.Join(dir, "birdconfd")
		out, err := exec.Command("go", "build", "-trimpath", "-o", program.path, "github.com/birdconfd/birdconfd/cmd/birdconfd").CombinedOutput()
		if err != nil {
			program.err = fmt.Errorf("go build: %w: %s", err, out)
		}
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return program.path
}

// node is a network namespace with the files of a BIRD.
type node struct {
	t                           *testing.T
	namespace, binary           string
	dir, config, socket, workIn string
	// state is birdconfd's state directory, "" for the usual one.
	state   string
	applier *apply.Applier
}

var namespaces int

func newNode(t *testing.T, binary string) *node {
	t.Helper()
	shared.NeedRoot(t, "network namespaces")
	if _, err := exec.LookPath("ip"); err != nil {
		shared.Skip(t, "network namespaces need iproute2")
	}
	dir, err := os.MkdirTemp("", "b") // the name of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	namespaces++
	n := &node{t: t, namespace: fmt.Sprintf("bcl%d-%d", os.Getpid(), namespaces), binary: binary,
		dir: dir, config: filepath.Join(dir, "bird.cfg"), socket: filepath.Join(dir, "bird.ctl")}
	n.run("ip", "netns", "add", n.namespace)
	t.Cleanup(func() { n.run("ip", "netns", "delete", n.namespace) })
	n.ip("link", "set", "lo", "up")
	return n
}

func (n *node) run(name string, args ...string) {
	n.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		n.t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
}

func (n *node) ip(args ...string) {
	n.t.Helper()
	n.run("ip", append([]string{"-n", n.namespace}, args...)...)
}

func (n *node) write(name, text string) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// set makes a set whose number shows in the running daemon. It has a peer that is not there,
// for which a graceful restart waits.
func (n *node) set(number int) []apply.File {
	peer, table := "127.0.0.9", "table"
	if strings.HasSuffix(n.binary, "6") {
		peer = "2001:db8::9"
	}
	bgp, static := "", ""
	if strings.Contains(n.binary, "bird2") {
		bgp, static, table = "ipv4 { import none; export none; };", "ipv4;", "ipv4 table"
	}
	return []apply.File{
		{Name: "bird.cfg", Data: fmt.Appendf(nil, `include "bird_ipam.cfg";
router id 192.0.2.%d;
protocol device { }
protocol static { %s }
protocol bgp tor { local as 64512; neighbor %s as 64513; multihop; graceful restart; %s }
`, number, static, peer, bgp)},
		{Name: "bird_ipam.cfg", Data: fmt.Appendf(nil, "%s t%d;\n", table, number)},
	}
}

// target is the BIRD with its files. Nobody but launch starts it.
func (n *node) target() apply.Target {
	return apply.Target{Name: "bird", Dir: n.dir, StateDir: n.state, Check: bird.Checker{Binary: n.binary}.Check,
		Reloader: &apply.SocketReloader{Client: bird.Client{Socket: n.socket}}}
}

// vouch puts a set in place, as birdconfd does while no BIRD runs, and goes on vouching for
// it.
func (n *node) vouch(number int) {
	n.t.Helper()
	if n.applier == nil {
		a, err := apply.Open(n.target())
		if err != nil {
			n.t.Fatal(err)
		}
		n.applier = a
		n.t.Cleanup(n.end)
	}
	res, err := n.applier.Apply(n.t.Context(), n.set(number))
	if res.Outcome != apply.Placed || !errors.Is(err, bird.ErrNotRunning) {
		n.t.Fatalf("%s: %v", res.Outcome, err)
	}
}

// end is what the end of birdconfd leaves.
func (n *node) end() {
	if n.applier != nil {
		n.applier.Close()
		n.applier = nil
	}
}

// half mixes two sets.
func (n *node) half(a, b int) {
	n.t.Helper()
	n.write("bird.cfg", string(n.set(a)[0].Data))
	n.write("bird_ipam.cfg", string(n.set(b)[1].Data))
}

// launch starts BIRD by launch. Flags after "--" are BIRD's.
func (n *node) launch(flags ...string) *launched {
	n.t.Helper()
	own, birds := flags, []string(nil)
	for i, f := range flags {
		if f == "--" {
			own, birds = flags[:i], flags[i+1:]
		}
	}
	args := append([]string{"netns", "exec", n.namespace, built(n.t), "launch"}, own...)
	args = append(args, "--", n.binary, "-s", n.socket, "-d", "-c", n.config)
	return n.start(exec.Command("ip", append(args, birds...)...))
}

func (n *node) start(cmd *exec.Cmd) *launched {
	n.t.Helper()
	l := &launched{t: n.t, cmd: cmd, log: &lockedBuffer{}, ended: make(chan struct{})}
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.workIn, l.log, l.log
	// It must not outlive the tests.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // its state tells
		close(l.ended)
	}()
	n.t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails only when it has ended
		<-l.ended
		if n.t.Failed() {
			n.t.Logf("%s:\n%s", cmd, l.log)
		}
	})
	return l
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	limit := time.After(patience)
	for !done() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// asked asks the daemon.
func (n *node) asked(ctx context.Context) (bird.Status, error) {
	conn, err := bird.Client{Socket: n.socket}.Dial(ctx)
	if err != nil {
		return bird.Status{}, err
	}
	defer conn.Close()
	return conn.Status(ctx)
}

func (n *node) status() bird.Status {
	n.t.Helper()
	s, err := n.asked(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

// untilRuns waits until BIRD runs a set.
func (n *node) untilRuns(number int) {
	n.t.Helper()
	until(n.t, fmt.Sprintf("BIRD runs set %d", number), func() bool {
		s, err := n.asked(n.t.Context())
		return err == nil && s.RouterID == fmt.Sprintf("192.0.2.%d", number)
	})
}

func (n *node) nobodyRuns() {
	n.t.Helper()
	if _, err := n.asked(n.t.Context()); !errors.Is(err, bird.ErrNotRunning) {
		n.t.Errorf("got %v", err)
	}
}
