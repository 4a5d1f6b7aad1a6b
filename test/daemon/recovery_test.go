package daemon

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/daemon"
	"github.com/birdconfd/birdconfd/pkg/recovery"
)

// TestRestartDoesNotWaitForNodesThatAreNotReady goes through a life of BIRD: down, with nodes
// that come and go, recovering, steady, killed.
func TestRestartDoesNotWaitForNodesThatAreNotReady(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]int{"BIRD 1.6": 1, "BIRD 2": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRestart(t, version, 4)
			s.nodesAre(3)
			s.write("cluster.yaml", withoutConfiguration(4))
			s.configure("gracefulRestartWait: 5s")
			s.start()
			s.hasOff(3)
			s.nodesAre(3, 4)
			s.hasOff(3, 4)
			s.nodesAre()
			s.hasOff()
			s.nodesAre(3)
			s.hasOff(3)
			s.is(recovery.Down)
			s.until("the status says so", func() bool {
				g := s.target("bird").GracefulRestart
				return len(g.Skipped) == 1 && g.Skipped[0].Name == mesh(3) && g.Skipped[0].Node == "node-3" && slices.Equal(g.Without, []string{mesh(3)})
			})

			s.bird.Restart()
			s.is(recovery.Recovering)
			s.until("BIRD waits for the others", func() bool { return s.birdStatus().Recovery.Waiting == 2 })
			if g := s.target("bird").GracefulRestart; len(g.Skipped) != 1 || g.Skipped[0].Why != "its node node-3 was not ready when BIRD started" {
				t.Errorf("during the recovery: %+v", g)
			}
			if n := s.metric(`birdconfd_bird_sessions_without_graceful_restart{target="bird"}`); n != 1 {
				t.Errorf("%v sessions without graceful restart", n)
			}
			if s.metric(`birdconfd_bird_graceful_restart_in_progress{target="bird"}`) != 1 {
				t.Error("the metrics have no recovery")
			}
			s.is(recovery.Steady)
			s.hasOff() // as its session is down
			s.until("all is applied", func() bool { return s.target("bird").PendingSince.IsZero() })
			if g := s.target("bird").GracefulRestart; len(g.Without) != 0 {
				t.Errorf("afterwards: %+v", g)
			}

			killed := time.Now()
			s.bird.Kill()
			s.hasOff(3)
			if took := time.Since(killed); took > time.Second {
				t.Errorf("the files for the next start came after %s", took)
			}
			if log := s.log.String(); strings.Contains(log, "level=ERROR") {
				t.Error("there are errors")
			}
		})
	}
}

// Whoever wants BIRD to wait for all gets that.
func TestRestartWaitsForAllPeersIfThatIsWanted(t *testing.T) {
	t.Parallel()
	s := newRestart(t, 1, 3)
	s.nodesAre(3)
	s.write("cluster.yaml", withoutConfiguration(3))
	s.configure("gracefulRestartWaitFor: AllPeers")
	s.start()
	s.until("files are in place", func() bool { return strings.Contains(s.file("bird.cfg"), mesh(3)) })
	s.is(recovery.Down)
	if got := off(s.file("bird.cfg")); got != nil {
		t.Errorf("off: %v", got)
	}
	s.bird.Restart()
	s.until("BIRD waits for all", func() bool { return s.birdStatus().Recovery.Waiting == 2 })
	s.configure("gracefulRestartWaitFor: ReadyNodes")
	s.until("the peer is released", func() bool { return s.birdStatus().Recovery.Waiting == 1 })
	s.until("that is told", func() bool {
		return s.metric(`birdconfd_recovery_releases_total{reason="node-not-ready",target="bird"}`) == 1
	})
	s.untilLogged("the recovery waits no longer for a peer")
	if g := s.target("bird").GracefulRestart; len(g.Skipped) != 1 || g.Skipped[0].Name != mesh(3) || g.Released[recovery.NodeNotReady] != 1 {
		t.Errorf("%+v", g)
	}
	if off := off(s.file("bird.cfg")); off != nil {
		t.Errorf("a release is no change of files: %v", off)
	}
}

// A daemon that finds BIRD running and steady has nothing to turn off.
func TestRestartIsNotPreparedWhileBirdIsSteady(t *testing.T) {
	t.Parallel()
	s := newRestart(t, 1, 4)
	s.bird.Config = filepath.Join(s.bird.Dir, "bird.conf") // without sessions, so nothing is recovered
	s.bird.Restart()
	p := s.proxied()
	s.until("nothing is recovered, and BIRD's times tell it from a later one", func() bool {
		status := s.birdStatus()
		return !status.Recovery.InProgress && status.ServerTime.Sub(status.LastReboot) > 3*time.Second
	})
	s.nodesAre(3)
	s.start()
	s.applied(mesh(4))
	s.nodesAre(3, 4)
	s.until("it is read", func() bool { return s.report().Source.Reads >= 2 && s.report().Renders >= 2 })
	s.write("cluster.yaml", cluster(5))
	s.applied(mesh(5))
	if got := off(s.file("bird.cfg")); got != nil || s.reloads() != 2 || p.Count("restart ") != 0 {
		t.Errorf("off: %v, %d reloads", got, s.reloads())
	}
	// Another daemon finds all as it should be.
	s.end()
	s.start()
	s.applied(mesh(5))
	s.is(recovery.Steady)
	s.untilLogged("already applied")
	if got := off(s.file("bird.cfg")); got != nil || s.reloads() != 2 {
		t.Errorf("after another start: off: %v, %d reloads", got, s.reloads())
	}
}

// What nobody has been certain of for long is not believed.
func TestRestartBelievesOnlyWhatIsKnown(t *testing.T) {
	t.Parallel()
	s := newRestart(t, 1, 3)
	s.nodesAre(3)
	s.change = func(o *daemon.Options) { o.ReadinessAge = 2500 * time.Millisecond }
	s.start()
	s.hasOff(3)
	unreadable := func(name string) { s.write(name, "kind: [") }
	unreadable("more.yaml")
	s.untilLogged("which nodes are ready has not been known for so long that all count as ready")
	s.hasOff()
	s.remove("more.yaml")
	s.untilLogged("which nodes are ready is known again")
	s.hasOff(3)
	// While BIRD is steady that makes no difference.
	s.write("cluster.yaml", withoutConfiguration(3))
	s.configure("gracefulRestartWait: 1s")
	s.until("it is in the files", func() bool { return strings.Contains(s.file("bird.cfg"), "graceful restart wait 1;") })
	s.bird.Restart()
	s.is(recovery.Steady)
	s.hasOff()
	s.until("all is applied", func() bool { return s.target("bird").PendingSince.IsZero() })
	restarts := func() int { return strings.Count(s.bird.Log(), "Restarting protocol") }
	n, before := restarts(), s.file("bird.cfg")
	unreadable("more.yaml")
	s.until("it is doubted", func() bool { return strings.Count(s.log.String(), "has not been known for so long") == 2 })
	if s.file("bird.cfg") != before || restarts() != n {
		t.Error("something was done")
	}
	// And it counts again for the next start.
	s.bird.Kill()
	s.is(recovery.Down)
	s.until("the files are for a start", func() bool { return s.target("bird").GracefulRestart.Condition == recovery.Down })
	if got := off(s.file("bird.cfg")); got != nil {
		t.Errorf("off: %v", got)
	}
	s.remove("more.yaml")
	s.hasOff(3)
}

// A session that is up keeps graceful restart off until it is down.
func TestSessionsThatAreUpAreNotInterrupted(t *testing.T) {
	t.Parallel()
	s := newRestart(t, 1, 3)
	p, open := s.switched()
	s.nodesAre(3)
	s.write("cluster.yaml", withoutConfiguration(3))
	s.configure("gracefulRestartWait: 1s")
	s.start()
	s.hasOff(3)
	establishes(p, mesh(3))
	s.bird.Restart()
	open()
	s.is(recovery.Steady)
	s.nodesAre() // it is there after all
	s.until("it is read", func() bool { return s.report().Renders >= 2 })
	s.until("all is applied", func() bool { return s.target("bird").PendingSince.IsZero() })
	s.goesOn(p, "show protocols", 3)
	reloads := s.reloads()
	s.hasOff(3)
	// Another daemon knows that, too, and what BIRD was started with.
	s.end()
	s.start()
	s.is(recovery.Steady)
	s.goesOn(p, "show protocols", 3)
	s.hasOff(3)
	again := s.reloads() // it may make sure that BIRD runs what is in place
	if again > reloads+1 || strings.Contains(s.bird.Log(), "Restarting protocol "+mesh(3)) {
		t.Errorf("%d reloads, %d before", again, reloads)
	}
	if g := s.target("bird").GracefulRestart; !slices.Equal(g.Without, []string{mesh(3)}) || len(g.Skipped) != 1 || g.Skipped[0].Node != "node-3" {
		t.Errorf("%+v", g)
	}
	p.Opens() // now it is down
	s.hasOff()
	s.until("all is applied", func() bool { return s.target("bird").PendingSince.IsZero() })
	if s.reloads() != again+1 {
		t.Errorf("%d reloads, %d before", s.reloads(), again)
	}
}

// BIRD was started with something else than what is configured by now.
func TestNextStart(t *testing.T) {
	t.Parallel()
	s := newRestart(t, 1, 2)
	s.write("cluster.yaml", withoutConfiguration(2))
	s.configure("gracefulRestartWait: 100s, gracefulRestartWaitFor: AllPeers")
	s.start()
	s.until("files are in place", func() bool { return strings.Contains(s.file("bird.cfg"), "graceful restart wait 100;") })
	s.bird.Restart()
	s.is(recovery.Recovering)
	s.configure("gracefulRestartWait: 90s, gracefulRestartWaitFor: AllPeers")
	next := []daemon.NextStart{{Statement: "graceful restart wait", Running: "100", Configured: "90"}}
	told := func() bool {
		g := s.target("bird").GracefulRestart
		return g != nil && slices.Equal(g.NextStart, next)
	}
	s.until("the difference is told", told)
	s.end()
	s.start()
	s.until("another daemon tells it, too", told)
	s.end()
	// A record that is damaged, and one of another start, are worth nothing.
	record := filepath.Join(apply.StatePath(s.out, "", "bird"), "started.json")
	overwrite(t, record, `{"booted":`)
	s.start()
	s.untilLogged("what BIRD was started with is not known")
	s.is(recovery.Recovering)
	if g := s.target("bird").GracefulRestart; g.NextStart != nil || g.Skipped != nil {
		t.Errorf("%+v", g)
	}
}

// Templates may know nothing of all this, or have their own mind.
func TestTemplatesWithTheirOwnMind(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		template string
		off      []int // while BIRD is down
	}{
		"off for nobody": {`{{define "peer"}}protocol bgp {{symbol .Name}} from bgp_template { neighbor {{.Address}} as {{.ASNumber}}; }
{{end}}`, nil},
		"off for all": {`{{define "hook-40-peer"}}graceful restart off;{{end}}`, []int{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRestart(t, 1, 3)
			s.nodesAre(3)
			s.templates(tt.template)
			s.start()
			s.hasOff(tt.off...)
			s.bird.Restart()
			s.until("BIRD is up", func() bool { return s.target("bird").BIRD.Up })
			s.until("all is applied", func() bool { return s.target("bird").PendingSince.IsZero() })
			s.hasOff(tt.off...)
			looks := s.report().Renders
			s.write("cluster.yaml", cluster(3)+"---\n# nothing new\n")
			s.nodesAre(2, 3)
			s.until("it is made anew", func() bool { return s.report().Renders > looks })
			s.until("all is applied", func() bool { return s.target("bird").PendingSince.IsZero() })
			// One at first, and one more if what BIRD was started with has to be made sure of.
			if n := s.reloads(); n > 2 {
				t.Errorf("%d reloads", n)
			}
			if g := s.target("bird").GracefulRestart; len(g.Without) != len(tt.off) {
				t.Errorf("%+v, the files have it off for %v", g, off(s.file("bird.cfg")))
			}
			s.bird.Kill()
			s.is(recovery.Down)
			s.hasOff(tt.off...)
		})
	}
}

// While the newest configuration is held back, what is in place is made anew for a start.
func TestStartingSetWhileTheGuardHolds(t *testing.T) {
	t.Parallel()
	s := newRestart(t, 1, 4)
	s.write("cluster.yaml", withoutConfiguration(4))
	s.configure("gracefulRestartWait: 1s")
	s.start()
	s.hasOff()
	s.bird.Restart()
	s.is(recovery.Steady)
	s.settled()
	s.configure("gracefulRestartWait: 1s, nodeToNodeMeshEnabled: false")
	s.until("that is held back", func() bool { return s.target("bird").Held != nil })
	s.nodesAre(3)
	s.hasOff()
	s.bird.Kill()
	s.hasOff(3)
	s.bird.Restart()
	s.is(recovery.Steady)
	s.hasOff()
	if got := s.sessions(); len(got) != 3 || s.target("bird").Held == nil {
		t.Errorf("BIRD runs %v", got)
	}
}

// While nothing can be rendered, here because the node itself is missing, a BIRD that ends
// still finds a configuration to start with that does not wait for a node that is not ready.
func TestStartingSetOfWhatWasThereBefore(t *testing.T) {
	t.Parallel()
	s := newRestart(t, 1, 4)
	s.write("cluster.yaml", withoutConfiguration(4))
	s.configure("gracefulRestartWait: 1s")
	s.start()
	s.hasOff()
	s.bird.Restart()
	s.is(recovery.Steady)
	s.settled()
	_, others, _ := strings.Cut(withoutConfiguration(4), "---\n")
	s.write("cluster.yaml", others)
	s.until("there is nothing to render", func() bool { return s.target("bird").Withheld })
	s.nodesAre(3)
	s.hasOff()
	s.bird.Kill()
	s.hasOff(3)
	s.nodesAre(2, 3)
	s.hasOff(2, 3)
	s.bird.Restart()
	s.is(recovery.Steady)
	s.hasOff()
	if got := s.sessions(); len(got) != 3 || !s.target("bird").Withheld {
		t.Errorf("BIRD runs %v", got)
	}
}
