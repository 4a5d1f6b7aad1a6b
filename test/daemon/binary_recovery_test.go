package daemon

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/recovery"
)

// TestKilledAroundRestarts kills the program in each condition that BIRD can be in. The one
// that is started next goes on as if nothing had been.
func TestKilledAroundRestarts(t *testing.T) {
	t.Parallel()
	path := buildProgram(t)
	for name, test := range map[string]func(*testing.T, *program){
		"BIRD is down": killedWhileDown, "BIRD recovers": killedWhileRecovering,
		"a session has it off": killedWithASessionOff, "BIRD ends, too": killedWithBird,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, path, 3)
			p.restarts(birdtest.Bird(t))
			p.socket = p.bird.Socket
			p.nodesAre(3)
			p.write("cluster.yaml", withoutConfiguration(3))
			test(t, p)
			if strings.Contains(p.bird.Log(), "Restarting protocol "+mesh(2)) {
				t.Error("a session was interrupted that has nothing to do with it")
			}
		})
	}
}

// killed kills the program.
func (p *program) killed() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	if code := p.code(); code != -1 {
		p.t.Errorf("exit code %d", code)
	}
}

func killedWhileDown(_ *testing.T, p *program) {
	p.configure("gracefulRestartWait: 100s")
	p.run()
	p.hasOff(3)
	p.killed()
	p.nodesAre(2)
	p.run()
	p.hasOff(2)
	p.killed()
	p.nodesAre()
	p.run()
	p.hasOff()
}

func killedWhileRecovering(t *testing.T, p *program) {
	p.configure("gracefulRestartWait: 100s")
	p.run()
	p.hasOff(3)
	p.bird.Restart()
	p.is(recovery.Recovering)
	before := p.file("bird.cfg")
	for _, notReady := range [][]int{nil, {3}} {
		p.killed()
		p.nodesAre(notReady...)
		p.run()
		p.is(recovery.Recovering)
		p.settled()
		if g := p.target("bird").GracefulRestart; len(g.Skipped) != 1 || g.Skipped[0].Node != "node-3" || !slices.Equal(g.Without, []string{mesh(3)}) {
			t.Errorf("%+v", g)
		}
	}
	// BIRD waits for the peer with a password, too.
	if r := p.birdStatus().Recovery; p.file("bird.cfg") != before || !r.InProgress || r.Waiting != 2 {
		t.Errorf("the recovery is %+v, the files have it off for %v", r, off(p.file("bird.cfg")))
	}
}

func killedWithASessionOff(t *testing.T, p *program) {
	between, place, open := p.switchPlace()
	p.socket = place
	p.configure("gracefulRestartWait: 1s")
	p.run()
	p.hasOff(3)
	establishes(between, mesh(3))
	p.bird.Restart()
	open()
	p.is(recovery.Steady)
	p.settled()
	before := p.file("bird.cfg")
	for range 2 {
		p.killed()
		p.run()
		p.is(recovery.Steady)
		p.settled()
		p.goesOn(between, "show protocols", 2)
	}
	if p.file("bird.cfg") != before || strings.Contains(p.bird.Log(), "Restarting protocol") {
		t.Error("the session was interrupted")
	}
	p.killed()
	between.Opens() // it goes down while nobody looks
	p.run()
	p.hasOff()
	p.settled()
}

func killedWithBird(_ *testing.T, p *program) {
	p.configure("gracefulRestartWait: 1s")
	p.run()
	p.hasOff(3)
	p.bird.Restart()
	p.is(recovery.Steady)
	p.hasOff()
	p.settled()
	p.killed()
	p.bird.Kill()
	p.run()
	p.hasOff(3)
}

// BIRD may be started when a service manager is told so: then the files are those of the
// newest data, although there are some of an earlier run.
func TestReadyWithTheNewestFiles(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t), 3)
	p.restarts(birdtest.Bird(t))
	p.socket = p.bird.Socket
	p.run()
	p.until("files are in place", func() bool { return strings.Contains(p.file("bird.cfg"), mesh(3)) })
	p.end()

	socket := filepath.Join(p.bird.Dir, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		message := make([]byte, 4096)
		for {
			n, err := conn.Read(message)
			if err != nil {
				return
			}
			if string(message[:n]) == "READY=1" {
				ready <- p.file("bird.cfg")
			}
		}
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	p.env = []string{"NOTIFY_SOCKET=" + socket}
	p.nodesAre(3)
	p.write("cluster.yaml", cluster(4))
	p.run()
	text := ""
	p.until("ready", func() bool {
		select {
		case text = <-ready:
			return true
		default:
			return false
		}
	})
	if !strings.Contains(text, mesh(4)) || !slices.Equal(off(text), []string{mesh(3)}) {
		t.Errorf("it was ready with these files:\n%s", text)
	}
}
