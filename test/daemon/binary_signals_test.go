package daemon

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hangUp has P3 and P5: HUP loads templates without a change of data, and what does not
// load changes nothing.
func hangUp(t *testing.T, path string) {
	p := newProgram(t, path, 3)
	p.run("--templates", p.template(`{{define "hook-90-end"}}# one{{end}}`))
	p.applied("# one")
	p.reload(`{{define "hook-90-end"}}# two{{end}}`)
	p.applied("# two")
	p.untilLogged("as asked")
	p.reload(`{{define "hook-90-end"}}{{nope}}{{end}}`)
	p.untilLogged("do not load")
	p.write("cluster.yaml", cluster(4))
	p.applied(mesh(4))
	if !strings.Contains(p.file("bird.cfg"), "# two") {
		t.Error("the templates that did load are no longer in use")
	}
	if metrics := p.get("/metrics"); !strings.Contains(metrics, "birdconfd_") {
		t.Errorf("metrics: %s", metrics)
	}
	p.reload(`{{define "hook-90-end"}}# three{{end}}`)
	p.applied("# three")
	p.end()
}

// user1 applies what the guard holds back.
func user1(t *testing.T, path string) {
	p := newProgram(t, path, 10)
	p.run()
	p.applied(mesh(10))
	p.write("cluster.yaml", cluster(1))
	p.untilLogged("takes away 9 of 10 BGP sessions")
	p.signal(syscall.SIGUSR1)
	p.until("only the peer is left", func() bool { return len(p.sessions()) == 1 })
	p.untilLogged("applying what was held back")
	p.end()
}

func terminate(t *testing.T, path string) {
	p := newProgram(t, path, 3)
	p.run()
	p.applied(mesh(3))
	p.end()
	if log := p.log.String(); !strings.Contains(log, "msg=ended") || strings.Contains(log, "stopped before") {
		t.Errorf("log:\n%s", log)
	}
	if out := p.stdout.String(); out != "" {
		t.Errorf("standard output: %s", out)
	}
	if got := p.sessions(); len(got) != 3 {
		t.Errorf("after the end BIRD runs %v", got)
	}
}

// terminateInReload: a reload that has begun may finish.
func terminateInReload(t *testing.T, path string) {
	p := newProgram(t, path, 3)
	g := p.gated()
	p.run()
	p.untilAsked(g)
	p.signal(syscall.SIGTERM)
	p.until("it no longer listens", func() bool { return p.get("/healthz") == "" })
	g.open()
	p.exits(0, "msg=ended")
	if log := p.log.String(); !strings.Contains(log, "msg=applied") || strings.Contains(log, "stopped before") {
		t.Errorf("log:\n%s", log)
	}
}

// terminateInFailure: with something left undone, which the next start does.
func terminateInFailure(t *testing.T, path string) {
	p := newProgram(t, path, 3)
	p.bird.Stop()
	p.run()
	p.untilLogged("BIRD is not running")
	p.until("a failure", func() bool { return p.target("bird").Failures > 0 })
	begin := time.Now()
	p.end()
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the end took %s", took)
	}
	if !strings.Contains(p.log.String(), "stopped before the newest configuration was applied") {
		t.Errorf("log:\n%s", p.log)
	}
	p.bird.Restart()
	p.run()
	p.applied(mesh(3))
	p.end()
}

// notifies has the program tell a service manager how it is.
func notifies(t *testing.T, path string) {
	p := newProgram(t, path, 3)
	socket := filepath.Join(p.bird.Dir, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	told, done := &logBuffer{}, make(chan struct{})
	go func() {
		defer close(done)
		message := make([]byte, 4096)
		for {
			n, err := conn.Read(message)
			if err != nil {
				return
			}
			_, _ = told.Write(append(message[:n:n], '|'))
		}
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	count := func(message string) int { return strings.Count("|"+told.String(), "|"+message) }

	p.env = []string{"NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=100000", "WATCHDOG_PID="}
	g := p.gated()
	p.run()
	p.untilAsked(g)
	p.until("the watchdog is kept quiet before it is ready", func() bool { return count("WATCHDOG=1|") >= 3 })
	if count("READY=1|") != 0 {
		t.Errorf("it is ready before BIRD has answered: %s", told)
	}
	g.open()
	p.until("ready", func() bool { return count("READY=1|") == 1 })
	p.signal(syscall.SIGHUP)
	p.until("ready again", func() bool { return count("RELOADING=1\nMONOTONIC_USEC=") == 1 && count("READY=1|") == 2 })
	n := count("WATCHDOG=1|")
	p.until("the watchdog is kept quiet", func() bool { return count("WATCHDOG=1|") >= n+3 })
	p.end()
	p.until("stopping", func() bool { return count("STOPPING=1|") == 1 })
	if left := strings.SplitAfter(told.String(), "STOPPING=1|")[1]; strings.Contains(left, "READY=1") {
		t.Errorf("after it was stopping it told %q", left)
	}
	if _, err := os.Stat(socket); err != nil {
		t.Error(err)
	}
}
