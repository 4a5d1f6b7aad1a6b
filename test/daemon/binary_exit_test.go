package daemon

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestBinary runs the real program.
func TestBinary(t *testing.T) {
	path := buildProgram(t)
	for _, tt := range []struct {
		name string
		test func(*testing.T, string)
	}{
		{"exit codes of wrong usage", exitCodes},
		{"once", once},
		{"once waits for a slow BIRD (R14)", onceWaits},
		{"once with the guard", onceGuarded},
		{"HUP", hangUp},
		{"USR1", user1},
		{"TERM", terminate},
		{"TERM while BIRD reloads (P2)", terminateInReload},
		{"TERM while everything fails (P1)", terminateInFailure},
		{"two signals", twoSignals},
		{"a service manager is told", notifies},
		{"log as JSON", jsonLog},
		{"two for one directory", twoForOneDirectory},
		{"passwords when BIRD refuses (P12)", secretsInRefusals},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, path) })
	}
}

// exitCodes has P9 and its like: nothing is started, and a message says why.
func exitCodes(t *testing.T, path string) {
	dir := t.TempDir()
	resources := filepath.Join(dir, "cluster.yaml")
	if err := os.WriteFile(resources, []byte(cluster(2)), 0o600); err != nil {
		t.Fatal(err)
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no conf.d (P9)", []string{"--node", node, "--conf", filepath.Join(dir, "nope"), resources}, filepath.Join(dir, "nope")},
		{"unknown flag", []string{"--nope", resources}, "unknown flag: --nope"},
		{"no path", []string{"--node", node, "--output", dir}, "name the files or directories to watch"},
		{"no node", []string{"--output", dir, resources}, "name the node to run for"},
		{"no output", []string{"--node", node, resources}, "say where BIRD's files are"},
		{"wrong duration", []string{"--node", node, "--output", dir, "--settle", "-1s", resources}, "--settle must be longer than 0s"},
		{"socket of no target", []string{"--node", node, "--output", dir, "--socket", "brid=/x.ctl", resources}, `"brid"`},
		{"output and conf", []string{"--node", node, "--output", dir, "--conf", dir, resources}, "--output belongs in the files of --conf"},
		{"address in use", []string{"--node", node, "--output", dir, "--listen", busy.Addr().String(), resources}, "address already in use"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &setup{t: t, log: &logBuffer{}}
			p := &program{setup: s, path: path, stdout: &logBuffer{}, env: []string{"NODENAME="}}
			p.execute(append([]string{"run"}, tt.args...)...)
			p.exits(2, tt.want)
		})
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.cfg")); len(left) > 0 {
		t.Errorf("it has written %v", left)
	}
}

const broken = `{{define "hook-90-end"}}protocol nonsense {}{{end}}`

// once has exit codes that tell whether BIRD has taken everything.
func once(t *testing.T, path string) {
	t.Run("applied, and applied already", func(t *testing.T) {
		p := newProgram(t, path, 3)
		for range 2 {
			p.run("--once")
			p.exits(0, "applied")
			if got := p.sessions(); len(got) != 3 {
				t.Errorf("BIRD runs %v", got)
			}
		}
	})
	t.Run("BIRD is absent", func(t *testing.T) {
		p := newProgram(t, path, 3)
		p.bird.Stop()
		p.run("--once")
		p.exits(1, "not running")
		if !strings.Contains(p.file("bird.cfg"), mesh(3)) {
			t.Error("the files are not in place for when it comes")
		}
	})
	t.Run("BIRD is silent", func(t *testing.T) {
		p := newProgram(t, path, 3)
		p.gated()
		p.run("--once", "--socket-timeout", "300ms")
		p.exits(1, "bird: ")
	})
	t.Run("the check refuses", func(t *testing.T) {
		p := newProgram(t, path, 3)
		p.run("--once", "--templates", p.template(broken))
		p.exits(1, "bird.cfg:")
		if p.file("bird.cfg") != "" || p.reloads() != 0 {
			t.Error("it was put in place")
		}
	})
	t.Run("BIRD refuses", func(t *testing.T) {
		p := newProgram(t, path, 3)
		p.run("--once", "--check", "off", "--templates", p.template(broken))
		p.exits(1, "bird.cfg:")
		if p.file("bird.cfg") != "" {
			t.Error("it was left in place")
		}
	})
	t.Run("nothing can be read", func(t *testing.T) {
		p := newProgram(t, path, 3)
		p.run("--once", "--once-timeout", "500ms", filepath.Join(p.in, "nope"))
		p.exits(1, "not everything is applied within 500ms")
	})
	t.Run("the node is unknown", func(t *testing.T) {
		p := newProgram(t, path, 3)
		p.run("--once", "--node", "nobody")
		p.exits(1, "nobody")
	})
}

func onceWaits(t *testing.T, path string) {
	p := newProgram(t, path, 3)
	g := p.gated()
	p.run("--once")
	p.untilAsked(g)
	select {
	case <-p.ended:
		t.Fatal("it has ended before BIRD has answered")
	default:
	}
	g.open()
	p.exits(0, "applied")
}

// onceGuarded: who asks for one run does not get a collapse for it.
func onceGuarded(t *testing.T, path string) {
	p := newProgram(t, path, 10)
	p.run("--once")
	p.exits(0, "applied")
	p.write("cluster.yaml", cluster(1))
	p.run("--once")
	p.exits(1, "takes away 9 of 10 BGP sessions")
	p.run("--once", "--guard-hold", "0s")
	p.exits(0, "applied")
	if got := p.sessions(); len(got) != 1 {
		t.Errorf("BIRD runs %v", got)
	}
}

// twoSignals: who is in a hurry gives the signal twice.
func twoSignals(t *testing.T, path string) {
	p := newProgram(t, path, 3)
	g := p.gated()
	p.run()
	p.untilAsked(g)
	p.until("it ends by the second signal", func() bool {
		p.signal(syscall.SIGTERM)
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	if p.code(); p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %s; log:\n%s", p.cmd.ProcessState, p.log)
	}
}
