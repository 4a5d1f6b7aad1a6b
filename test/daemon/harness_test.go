// Package daemon runs the daemon against files and real BIRD daemons. Tests carry the
// number of the public report that they replay, where there is one.
package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/daemon"
	"github.com/birdconfd/birdconfd/pkg/datastore/file"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// patience is how long anything may take that should happen within a second or two.
const patience = 30 * time.Second

// node is the name of the node that the tests run for.
const node = "alpha"

// setup is a daemon with its input, its output and the BIRD that it takes care of.
type setup struct {
	t *testing.T
	// in is the directory of resources, out that of BIRD's files.
	in, out string
	bird    *birdtest.Daemon
	log     *logBuffer
	// change changes the options before the start.
	change func(*daemon.Options)
	// config takes the place of the usual targets.
	config func() (*render.Config, []calico.Problem)
	// set is that of the templates, bird1 when empty.
	set string
	// quiet is how long files must not have changed, and level what is logged.
	quiet time.Duration
	level slog.Level
	url   string
	stop  func() error
}

// newSetup makes a cluster of some nodes and a BIRD that has no configuration yet.
func newSetup(t *testing.T, nodes int) *setup {
	t.Helper()
	s := &setup{t: t, in: t.TempDir(), out: filepath.Join(t.TempDir(), "bird"), log: &logBuffer{}}
	s.bird = birdtest.Start(t, birdtest.Bird(t), "router id 192.0.2.1;\nprotocol device {}\n")
	s.write("cluster.yaml", cluster(nodes))
	s.config = s.standalone
	t.Cleanup(func() {
		if s.stop != nil {
			s.end()
		}
		if t.Failed() {
			t.Logf("log:\n%s", s.log)
		}
	})
	return s
}

// standalone is what run makes of --output and --socket, for IPv4 only.
func (s *setup) standalone() (*render.Config, []calico.Problem) {
	return render.Standalone(s.options())
}

func (s *setup) options() render.StandaloneOptions {
	binary := birdtest.Bird
	if s.set == "bird2" {
		binary = birdtest.Bird2
	}
	return render.StandaloneOptions{Set: s.set, Directory: s.out, Sockets: map[string]string{"bird": s.bird.Socket},
		BirdDir: filepath.Dir(binary(s.t)), Families: ipv4, Check: render.CheckRequire}
}

// write replaces a file of resources as careful programs do.
func (s *setup) write(name, text string) {
	s.t.Helper()
	temp := filepath.Join(s.in, "."+name)
	if err := errors.Join(os.WriteFile(temp, []byte(text), 0o600), os.Rename(temp, filepath.Join(s.in, name))); err != nil {
		s.t.Fatal(err)
	}
}

// start starts the daemon.
func (s *setup) start() {
	s.t.Helper()
	logger := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: s.level}))
	source, err := file.New(file.Options{Paths: []string{s.in}, Poll: time.Second, Quiet: s.quiet, Logger: logger})
	if err != nil {
		s.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.url = "http://" + listener.Addr().String()
	o := daemon.Options{Node: node, Version: "test", Source: source, Load: s.config, Listener: listener, Logger: logger,
		Guard: daemon.Guard{Threshold: daemon.DefaultGuardThreshold, Hold: daemon.DefaultGuardHold}, SocketTimeout: 2 * time.Second}
	o.Compute.Families = ipv4
	if s.change != nil {
		s.change(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- daemon.Run(ctx, o) }()
	s.stop = func() error { cancel(); return <-done }
}

// end stops the daemon, which must work.
func (s *setup) end() {
	s.t.Helper()
	stop := s.stop
	s.stop = nil
	begin := time.Now()
	if err := stop(); err != nil {
		s.t.Errorf("the daemon ended with %v", err)
	}
	if took := time.Since(begin); took > daemon.DefaultShutdown {
		s.t.Errorf("the end took %s", took)
	}
}

// until waits for something to become true.
func (s *setup) until(what string, is func() bool) {
	s.t.Helper()
	s.within(patience, what, is)
}

// within is until, for what takes longer.
func (s *setup) within(limit time.Duration, what string, is func() bool) {
	s.t.Helper()
	over := time.After(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-over:
			s.t.Fatalf("not within %s: %s\nstatus: %s\nlog:\n%s", limit, what, s.get("/status"), s.log)
		}
	}
}

// get asks the daemon; "" when it does not answer.
func (s *setup) get(path string) string {
	resp, err := http.Get(s.url + path)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return ""
	}
	return string(body)
}

// target returns the status of a target; an empty one when there is none.
func (s *setup) target(name string) daemon.TargetStatus {
	var status daemon.Status
	if err := json.Unmarshal([]byte(s.get("/status")), &status); err != nil {
		return daemon.TargetStatus{}
	}
	for _, t := range status.Targets {
		if t.Name == name {
			return t
		}
	}
	return daemon.TargetStatus{}
}

// applied waits until the target has applied all that is desired, and not before the files
// say something.
func (s *setup) applied(text string) daemon.TargetStatus {
	s.t.Helper()
	var status daemon.TargetStatus
	s.until("applied, with "+text, func() bool {
		if !strings.Contains(s.file("bird.cfg"), text) {
			return false
		}
		status = s.target("bird")
		return status.PendingSince.IsZero() && status.Desired != "" && status.Desired == status.Applied && strings.Contains(s.file("bird.cfg"), text)
	})
	return status
}

// file returns the content of a file; "" when there is none.
func (s *setup) file(name string) string { return read(filepath.Join(s.out, name)) }

// sessions are the BGP protocols that BIRD runs.
func (s *setup) sessions() []string { return protocols(s.t, s.bird, "BGP") }

// birdStatus asks BIRD itself.
func (s *setup) birdStatus() bird.Status {
	conn, err := bird.Client{Socket: s.bird.Socket}.Dial(s.t.Context())
	if err != nil {
		return bird.Status{}
	}
	defer conn.Close()
	status, err := conn.Status(s.t.Context())
	if err != nil {
		return bird.Status{}
	}
	return status
}

// reloads counts how often BIRD was configured since its log began.
func (s *setup) reloads() int { return reloads(s.bird) }

// untilLogged waits for a text in the log.
func (s *setup) untilLogged(text string) {
	s.t.Helper()
	s.until("logged: "+text, func() bool { return strings.Contains(s.log.String(), text) })
}

// cluster makes resources: the node, and so many more.
func cluster(nodes int) string {
	var b strings.Builder
	b.WriteString("apiVersion: projectcalico.org/v3\nkind: BGPConfiguration\nmetadata: {name: default}\nspec: {asNumber: 64512}\n")
	b.WriteString(nodeYAML(node, 1))
	for i := 2; i <= nodes; i++ {
		b.WriteString(nodeYAML(fmt.Sprintf("node-%d", i), i))
	}
	return b.String()
}

// nodeYAML makes a node with the address 10.0.x.y.
func nodeYAML(name string, number int) string {
	return fmt.Sprintf("---\napiVersion: projectcalico.org/v3\nkind: Node\nmetadata: {name: %s}\nspec: {bgp: {ipv4Address: %s/16}}\n", name, address(number))
}

func address(number int) string { return fmt.Sprintf("10.0.%d.%d", number/250, number%250+1) }

// mesh is the name of the session with a node of that number.
func mesh(number int) string { return "Mesh_" + strings.ReplaceAll(address(number), ".", "_") }

// logBuffer collects a log that is still being written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
