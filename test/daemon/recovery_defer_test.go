package daemon

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/daemon"
	"github.com/birdconfd/birdconfd/pkg/recovery"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// recovers starts the daemon and then BIRD, which waits for nodes 2 and 3 for so long.
func (s *setup) recovers(wait string) {
	s.t.Helper()
	s.write("cluster.yaml", withoutConfiguration(3))
	s.configure("gracefulRestartWait: " + wait)
	s.start()
	s.until("files are in place", func() bool { return strings.Contains(s.peersFile(), mesh(3)) })
	s.is(recovery.Down)
	s.bird.Restart()
	s.is(recovery.Recovering)
	s.settled()
}

// settled waits until all is applied.
func (s *setup) settled() {
	s.t.Helper()
	s.until("all is applied", func() bool {
		status := s.target("bird")
		return status.PendingSince.IsZero() && status.Desired != "" && status.Desired == status.Applied
	})
}

// deferred are the sessions whose change waits, and whether everything does.
func (s *setup) deferred() ([]string, bool) {
	g := s.target("bird").GracefulRestart
	return g.Deferred, g.DeferredAll
}

// A recovery of BIRD 2 would never get over a peer that is removed.
func TestBird2KeepsPeersThatItWaitsFor(t *testing.T) {
	t.Parallel()
	s := newRestart(t, 2, 3)
	s.recovers("8s")
	s.write("cluster.yaml", withoutConfiguration(2)+nodeYAML("node-4", 4)) // 3 is gone, 4 is new
	s.until("the new one is there", func() bool { return slices.Contains(s.sessions(), mesh(4)) })
	if got := s.sessions(); len(got) != 3 || !s.birdStatus().Recovery.InProgress {
		t.Errorf("during the recovery BIRD runs %v", got)
	}
	if names, all := s.deferred(); !slices.Equal(names, []string{mesh(3)}) || all {
		t.Errorf("deferred %v, all: %v", names, all)
	}
	if n := s.metric(`birdconfd_target_deferred{target="bird"}`); n != 1 {
		t.Errorf("%v are deferred", n)
	}
	s.saysNotReady("waits", mesh(3))
	s.until("it is gone", func() bool { return !slices.Contains(s.sessions(), mesh(3)) })
	if s.birdStatus().Recovery.InProgress {
		t.Error("it was removed during the recovery")
	}
	s.settled()
	if names, _ := s.deferred(); names != nil || !strings.HasPrefix(s.get("/readyz"), "ready") {
		t.Errorf("afterwards: deferred %v, readyz %s", names, s.get("/readyz"))
	}
}

// Sessions that are kept only until the recovery is over do not deceive the guard.
func TestGuardSeesThroughARecovery(t *testing.T) {
	t.Parallel()
	s := newRestart(t, 2, 3)
	s.recovers("6s")
	s.configure("gracefulRestartWait: 6s, nodeToNodeMeshEnabled: false")
	s.until("that is held back", func() bool { return s.target("bird").Held != nil })
	if !s.birdStatus().Recovery.InProgress {
		t.Error("only when BIRD has recovered")
	}
	s.is(recovery.Steady)
	s.until("it is still held back", func() bool { return s.target("bird").Held != nil })
	if got := s.sessions(); len(got) != 2 {
		t.Errorf("BIRD runs %v", got)
	}
}

// What changes all sessions waits as a whole.
func TestBird2WaitsWithWhatChangesAll(t *testing.T) {
	t.Parallel()
	s := newRestart(t, 2, 3)
	s.recovers("8s")
	before, reloads := s.peersFile(), s.reloads()
	s.write("configuration.yaml", strings.Replace(read(filepath.Join(s.in, "configuration.yaml")), "64512", "64600", 1))
	s.untilLogged("the configuration waits until BIRD has recovered")
	if names, all := s.deferred(); !slices.Equal(names, []string{mesh(2), mesh(3)}) || !all {
		t.Errorf("deferred %v, all: %v", names, all)
	}
	s.saysNotReady("the newest configuration waits until BIRD has recovered", mesh(2))
	// What comes meanwhile waits, too.
	s.write("cluster.yaml", withoutConfiguration(4))
	renders := s.report().Renders
	s.until("it is read", func() bool { return s.report().Renders > renders || s.report().Source.Reads > 2 })
	if s.peersFile() != before || s.reloads() != reloads || !s.birdStatus().Recovery.InProgress {
		t.Error("something was done during the recovery")
	}
	s.is(recovery.Steady)
	s.until("all is in place", func() bool {
		return strings.Contains(s.file("bird.cfg")+s.peersFile(), "64600") && len(s.sessions()) == 3
	})
	s.settled()
	if s.reloads() != reloads+1 {
		t.Errorf("%d reloads, %d before", s.reloads(), reloads)
	}
	if names, all := s.deferred(); names != nil || all {
		t.Errorf("afterwards: deferred %v, all: %v", names, all)
	}
}

// BIRD 2 may end with something deferred: the next start has it all.
func TestBird2EndsWithSomethingDeferred(t *testing.T) {
	t.Parallel()
	s := newRestart(t, 2, 3)
	s.recovers("100s")
	s.write("configuration.yaml", strings.Replace(read(filepath.Join(s.in, "configuration.yaml")), "64512", "64600", 1))
	s.untilLogged("the configuration waits until BIRD has recovered")
	s.bird.Kill()
	s.until("the files for the next start are there", func() bool { return strings.Contains(s.file("bird.cfg")+s.peersFile(), "64600") })
	if names, all := s.deferred(); names != nil || all {
		t.Errorf("deferred %v, all: %v", names, all)
	}
}

// BIRD 1.6 gets over anything.
func TestBird1DefersNothing(t *testing.T) {
	t.Parallel()
	s := newRestart(t, 1, 3)
	s.recovers("100s")
	s.write("cluster.yaml", withoutConfiguration(4))
	s.until("a new peer is there", func() bool { return slices.Contains(s.sessions(), mesh(4)) })
	s.settled()
	if r := s.birdStatus().Recovery; !r.InProgress || r.Waiting != 2 {
		t.Errorf("a new peer has to do with the recovery: %+v", r)
	}
	s.write("cluster.yaml", withoutConfiguration(2)+nodeYAML("node-4", 4))
	s.until("it is gone", func() bool { return !slices.Contains(s.sessions(), mesh(3)) })
	s.settled()
	if r := s.birdStatus().Recovery; !r.InProgress || r.Waiting != 1 {
		t.Errorf("BIRD waits for what is gone: %+v", r)
	}
	if names, all := s.deferred(); names != nil || all {
		t.Errorf("deferred %v, all: %v", names, all)
	}
}

// Sessions come and go by themselves during a recovery, so nothing is on trial then.
func TestNoTrialDuringARecovery(t *testing.T) {
	t.Parallel()
	s := newRestart(t, 1, 3)
	p, open := s.switched()
	s.change = func(o *daemon.Options) { o.Confirm = 2 * time.Second }
	s.write("cluster.yaml", withoutConfiguration(3))
	s.configure("gracefulRestartWait: 3s")
	s.start()
	s.until("files are in place", func() bool { return strings.Contains(s.file("bird.cfg"), mesh(3)) })
	s.bird.Restart()
	open()
	s.is(recovery.Recovering)
	s.write("cluster.yaml", withoutConfiguration(4))
	s.until("the change is applied", func() bool { return slices.Contains(s.sessions(), mesh(4)) })
	s.settled()
	if n := p.Count("configure confirm"); n != 0 || !s.birdStatus().Recovery.InProgress {
		t.Errorf("%d trials during the recovery", n)
	}
	s.is(recovery.Steady)
	s.write("cluster.yaml", withoutConfiguration(5))
	s.settled()
	s.until("afterwards there is a trial", func() bool { return p.Count("configure confirm") > 0 })
}

// BIRD is started, or ends, while a set for another state is being checked.
func TestBirdMovesOnDuringACheck(t *testing.T) {
	t.Parallel()
	for name, moves := range map[string]struct {
		up    bool // when the set is made
		wait  string
		after []int
	}{"it is started": {false, "100s", []int{3}}, "it ends": {true, "1s", []int{3, 4}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRestart(t, 1, 4)
			gate := filepath.Join(t.TempDir(), "gate")
			checks := filepath.Join(t.TempDir(), "checks")
			s.level = slog.LevelDebug
			s.slowCheck(gate, checks)
			s.nodesAre(3)
			s.write("cluster.yaml", withoutConfiguration(4))
			s.configure("gracefulRestartWait: " + moves.wait)
			s.start()
			s.hasOff(3)
			if moves.up {
				s.bird.Restart()
				s.is(recovery.Steady)
				s.hasOff()
				s.settled()
			}
			before := s.file("bird.cfg")
			overwrite(t, gate, "closed")
			checked := read(checks)
			s.nodesAre(3, 4)
			s.write("cluster.yaml", withoutConfiguration(5))
			s.until("the set is being checked", func() bool { return len(read(checks)) > len(checked) })
			if moves.up {
				s.bird.Kill()
				s.is(recovery.Down)
			} else {
				s.bird.Restart()
				s.is(recovery.Recovering)
			}
			overwrite(t, gate, "")
			s.untilLogged("the configuration was made for another state than BIRD is in")
			s.until("the right set follows", func() bool { return strings.Contains(s.file("bird.cfg"), mesh(5)) })
			s.hasOff(moves.after...)
			if log := s.log.String(); strings.Contains(log, "level=ERROR") {
				t.Error("that is no error")
			}
			if moves.up {
				return // the rest is that of a BIRD which is down
			}
			s.settled()
			if n := s.target("bird").Failures; n != 0 {
				t.Errorf("%d failures", n)
			}
			if s.file("bird.cfg") == before {
				t.Error("nothing has changed, so this test tests nothing")
			}
		})
	}
}

// slowCheck has the check of files wait while the gate is there, and note each.
func (s *setup) slowCheck(gate, checks string) {
	s.t.Helper()
	if err := os.WriteFile(checks, nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
	slow := script(s.t, "bird", `case "$*" in *-p*) echo >>`+checks+`; while [ -e `+gate+` ]; do sleep 0.02; done;; esac
exec `+filepath.Join(s.options().BirdDir, "bird")+` "$@"
`)
	s.edit(func(c *render.TargetConfig) { c.Binary = slow })
}
