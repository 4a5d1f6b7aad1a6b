package daemon

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/daemon"
)

var ipv4 = []bgp.Family{bgp.IPv4}

func TestMain(m *testing.M) {
	// Most tests wait for something most of the time. What the command line says goes first.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// F1: from nothing to sessions in BIRD; a change; and no work without a change.
func TestF1FirstStartChangeAndQuiet(t *testing.T) {
	s := newSetup(t, 3)
	s.start()
	status := s.applied(mesh(3))
	if got := s.sessions(); len(got) != 2 {
		t.Errorf("BIRD runs %v", got)
	}
	if !status.Last.Confirmed || !strings.Contains(status.Last.Words, "Reconfigured") && !strings.Contains(status.Last.Words, "Reconfiguration in progress") {
		t.Errorf("last attempt %+v", status.Last)
	}
	if n := s.reloads(); n != 1 {
		t.Errorf("%d reloads for the first configuration", n)
	}
	s.write("cluster.yaml", cluster(4))
	s.applied(mesh(4))
	if got := s.sessions(); !slices.Contains(got, mesh(4)) || s.reloads() != 2 {
		t.Errorf("BIRD runs %v after %d reloads", got, s.reloads())
	}
	s.untilLogged("Node/node-4 added")
	if s.get("/healthz") == "" || !strings.Contains(s.get("/metrics"), "birdconfd_target_applied") {
		t.Error("it does not say how it is")
	}
	s.end()
	if left, _ := filepath.Glob(filepath.Join(s.out, ".bird*birdconfd-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// F3, R13: a start with everything in place neither writes nor reloads; a BIRD that was
// started in between is told once.
func TestF3SecondStartDoesNothing(t *testing.T) {
	s := newSetup(t, 3)
	s.until("BIRD runs for a while, so that its times tell it from a later one", func() bool {
		status := s.birdStatus()
		return status.ServerTime.Sub(status.LastReboot) > 3*time.Second
	})
	s.start()
	s.applied(mesh(3))
	s.end()
	before, err := os.Stat(filepath.Join(s.out, "bird.cfg"))
	if err != nil {
		t.Fatal(err)
	}
	s.start()
	s.untilLogged("already applied")
	after, err := os.Stat(filepath.Join(s.out, "bird.cfg"))
	if err != nil || !os.SameFile(before, after) || s.reloads() != 1 {
		t.Errorf("reloads %d, %v", s.reloads(), err)
	}
	s.end()
	s.bird.Restart() // with a configuration of its own
	s.start()
	s.until("sessions are back", func() bool { return len(s.sessions()) == 2 })
	if s.reloads() != 2 {
		t.Errorf("%d reloads", s.reloads())
	}
}

// A BIRD that was started anew while the daemon runs, with another configuration.
func TestBirdThatStartsByItselfIsRecognised(t *testing.T) {
	s := newSetup(t, 3)
	s.start()
	s.applied(mesh(3))
	s.bird.Kill()
	s.untilLogged("BIRD is not running")
	s.until("seen in the status", func() bool { return !s.target("bird").BIRD.Up })
	s.bird.Restart()
	s.until("sessions are back", func() bool { return len(s.sessions()) == 2 })
	s.untilLogged("BIRD has come up")
}

// R6: BIRD is not up yet.
func TestR6BirdComesLater(t *testing.T) {
	s := newSetup(t, 3)
	s.bird.Stop()
	s.start()
	s.untilLogged("BIRD is not running")
	s.until("files are in place", func() bool { return strings.Contains(s.file("bird.cfg"), mesh(3)) })
	if status := s.target("bird"); status.PendingSince.IsZero() || status.Desired == status.Applied {
		t.Errorf("status %+v", status)
	}
	if body := s.get("/readyz"); !strings.Contains(body, "bird") {
		t.Errorf("readyz: %s", body)
	}
	s.bird.Restart()
	s.applied(mesh(3))
	if got := s.sessions(); len(got) != 2 {
		t.Errorf("BIRD runs %v", got)
	}
}

// W12: most of the cluster disappears from the source.
func TestW12CollapseIsHeldBack(t *testing.T) {
	s := newSetup(t, 10)
	override := make(chan struct{}, 1)
	s.change = func(o *daemon.Options) { o.Override = override }
	s.start()
	s.applied(mesh(10))
	s.write("cluster.yaml", cluster(1))
	s.untilLogged("the new configuration takes away 9 of 9 BGP sessions")
	if got := s.sessions(); len(got) != 9 {
		t.Errorf("BIRD runs %v", got)
	}
	s.until("the status says so", func() bool {
		held := s.target("bird").Held
		return held != nil && held.Lost == 9
	})
	// It was a mistake.
	s.write("cluster.yaml", cluster(9))
	s.until("nine nodes", func() bool { return len(s.sessions()) == 8 })
	if s.target("bird").Held != nil {
		t.Error("still held")
	}
	// It is meant.
	s.write("cluster.yaml", cluster(2))
	s.until("held", func() bool { return s.target("bird").Held != nil })
	override <- struct{}{}
	s.until("two nodes", func() bool { return len(s.sessions()) == 1 })
}

func TestW12CollapseIsBelievedAfterAWhile(t *testing.T) {
	s := newSetup(t, 10)
	s.change = func(o *daemon.Options) { o.Guard.Hold = time.Second }
	s.start()
	s.applied(mesh(10))
	s.write("cluster.yaml", cluster(1))
	s.until("held", func() bool { return s.target("bird").Held != nil })
	s.until("no sessions", func() bool {
		return strings.Contains(s.log.String(), "applying what was held back") && len(s.sessions()) == 0
	})
}

// W12: the own node disappears.
func TestW12OwnNodeGoneKeepsEverything(t *testing.T) {
	s := newSetup(t, 3)
	s.change = func(o *daemon.Options) { o.Guard.Hold = 50 * time.Millisecond }
	s.start()
	s.applied(mesh(3))
	before := s.file("bird.cfg")
	s.write("cluster.yaml", strings.ReplaceAll(cluster(3), "{name: "+node+"}", "{name: other}"))
	s.untilLogged("nothing can be rendered")
	s.until("withheld", func() bool { return s.target("bird").Withheld })
	if s.file("bird.cfg") != before || s.reloads() != 1 {
		t.Error("something was done")
	}
	if !strings.Contains(s.get("/status"), "node-unknown") {
		t.Errorf("status: %s", s.get("/status"))
	}
	s.write("cluster.yaml", cluster(4))
	s.applied(mesh(4))
}
