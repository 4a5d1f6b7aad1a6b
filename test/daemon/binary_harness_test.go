package daemon

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// canary is a password that must never be shown.
const canary = "canary-5e71-in-the-mine"

// canaryYAML is a peer with that password, besides those of the mesh.
const canaryYAML = `apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: tor}
spec: {peerIP: 10.9.9.9, asNumber: 64999, password: {secretKeyRef: {name: bgp, key: tor}}}
---
apiVersion: v1
kind: Secret
metadata: {name: bgp, namespace: kube-system}
stringData: {tor: ` + canary + `}
`

// buildProgram builds the program as it is shipped, without the race detector.
func buildProgram(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "birdconfd")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "github.com/birdconfd/birdconfd/cmd/birdconfd")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// program is the real program with its input, its output and its BIRD. Of setup it uses
// all but start.
type program struct {
	*setup
	path string
	// socket is where the program takes BIRD's socket to be.
	socket string
	listen string
	env    []string
	stdout *logBuffer
	cmd    *exec.Cmd
	ended  chan struct{}
}

func newProgram(t *testing.T, path string, nodes int) *program {
	t.Helper()
	p := &program{setup: newSetup(t, nodes), path: path, stdout: &logBuffer{}}
	p.write("canary.yaml", canaryYAML)
	p.socket = p.bird.Socket
	p.newAddress()
	t.Cleanup(func() {
		if p.stop == nil {
			p.keepsSecrets("output", p.stdout.String()+p.log.String())
		}
	})
	return p
}

// newAddress finds an address to listen at, one of the 2^24 of this host that nobody else
// uses.
func (p *program) newAddress() {
	n := rand.Uint32()
	p.listen = fmt.Sprintf("127.%d.%d.%d:9097", 1+n>>16%250, n>>8%250, 1+n%250)
	p.url = "http://" + p.listen
}

// keepsSecrets looks for what must not be shown.
func (p *program) keepsSecrets(where, text string) {
	p.t.Helper()
	if strings.Contains(text, canary) {
		p.t.Errorf("the password is in the %s:\n%s", where, text)
	}
}

// with returns another program for the same files, as a second process.
func (p *program) with() *program {
	q := *p
	s := *p.setup
	s.log, s.stop = &logBuffer{}, nil
	q.setup, q.stdout = &s, &logBuffer{}
	q.newAddress()
	p.t.Cleanup(func() {
		if s.stop != nil {
			q.end()
		}
		p.keepsSecrets("output of the second process", q.stdout.String()+s.log.String())
	})
	return &q
}

// run starts the program.
func (p *program) run(flags ...string) {
	p.t.Helper()
	args := append([]string{"run", "--node", node, "--output", p.out, "--family", "ipv4", "--socket", "bird=" + p.socket,
		"--bird-dir", filepath.Dir(birdtest.Bird(p.t)), "--listen", p.listen, "--poll", "1s"}, flags...)
	p.execute(append(args, p.in)...)
}

// execute starts the program with these arguments and no others.
func (p *program) execute(args ...string) {
	p.t.Helper()
	cmd := exec.Command(p.path, args...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = p.stdout, p.log
	// It must not outlive the tests.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its state tells
		close(ended)
	}()
	p.cmd, p.ended = cmd, ended
	p.stop = func() error {
		for _, page := range []string{"/status", "/readyz", "/metrics"} {
			p.keepsSecrets(page, p.get(page))
		}
		p.signal(syscall.SIGTERM)
		if code := p.code(); code != 0 {
			return fmt.Errorf("%s", cmd.ProcessState)
		}
		return nil
	}
}

func (p *program) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// code waits for the end and returns the exit code, -1 after a signal.
func (p *program) code() int {
	p.t.Helper()
	p.stop = nil
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.ended
		p.t.Fatalf("it has not ended within %s; log:\n%s", patience, p.log)
	}
	return p.cmd.ProcessState.ExitCode()
}

// exits waits for the end, which must be with a code and a text.
func (p *program) exits(code int, text string) {
	p.t.Helper()
	if got := p.code(); got != code {
		p.t.Errorf("exit code %d, want %d; log:\n%s", got, code, p.log)
	}
	if !strings.Contains(p.log.String(), text) {
		p.t.Errorf("there is no %q in what it said:\n%s", text, p.log)
	}
}

// template writes a file of templates that fill hooks and returns its directory.
func (p *program) template(text string) string {
	p.t.Helper()
	dir := filepath.Join(filepath.Dir(p.out), "templates")
	err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, ".new"), []byte(text), 0o600),
		os.Rename(filepath.Join(dir, ".new"), filepath.Join(dir, "mine.tmpl")))
	if err != nil {
		p.t.Fatal(err)
	}
	return dir
}

// reload changes the templates and gives the signal to load them.
func (p *program) reload(text string) {
	p.t.Helper()
	p.template(text)
	p.signal(syscall.SIGHUP)
}

// gate keeps BIRD from being told to load files until it is opened.
type gate struct {
	*birdtest.Proxy
	open func()
}

// gated puts a gate before the program's BIRD.
func (p *program) gated() *gate {
	p.t.Helper()
	between := birdtest.NewProxy(p.t, p.bird)
	p.socket = between.Socket
	return &gate{between, holdsConfigure(p.t, between)}
}

// untilAsked waits until BIRD was to be told.
func (p *program) untilAsked(g *gate) {
	p.t.Helper()
	p.until("BIRD is asked", func() bool { return g.Count(loadCommand) > 0 })
}
