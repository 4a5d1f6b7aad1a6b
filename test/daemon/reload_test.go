package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/daemon"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// proxied puts a proxy before BIRD.
func (s *setup) proxied() *birdtest.Proxy {
	s.t.Helper()
	p := birdtest.NewProxy(s.t, s.bird)
	s.config = func() (*render.Config, []calico.Problem) {
		o := s.options()
		o.Sockets = map[string]string{"bird": p.Socket}
		return render.Standalone(o)
	}
	before := s.change
	s.change = func(o *daemon.Options) {
		o.SocketTimeout = time.Second
		if before != nil {
			before(o)
		}
	}
	return p
}

// F2 of the log of BIRD's reports, and R7: a reload that BIRD has not confirmed is no reload.
func TestF2R7UnconfirmedReloadIsTriedAgain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(command string, before []string) string
		// outcome, reason and result are what the status, /readyz and the metrics say.
		outcome apply.Outcome
		reason  string
		result  string
	}{
		{"a silent", func(command string, _ []string) string {
			if strings.HasPrefix(command, loadCommand) {
				return birdtest.Silent
			}
			return birdtest.Forward
		}, apply.Placed, "did not answer `configure", "unknown"},
		{"b 0004, then silent", func(command string, before []string) string {
			switch {
			case strings.HasPrefix(command, loadCommand):
				return "0004 Reconfiguration in progress\n"
			case len(before) > 0 && strings.HasPrefix(before[len(before)-1], loadCommand):
				return birdtest.Silent
			}
			return birdtest.Forward
		}, apply.Placed, "did not answer `show status`", "unknown"},
		{"b 0004, and never done", func(command string, _ []string) string {
			if strings.HasPrefix(command, loadCommand) {
				return "0004 Reconfiguration in progress\n"
			}
			return birdtest.Forward
		}, apply.Placed, "BIRD says that it does not run this configuration", "unknown"},
		{"c 8002", func(command string, _ []string) string {
			// Going back works: that file has no session with node 4.
			if path := strings.Split(command, `"`); strings.HasPrefix(command, loadCommand) && strings.Contains(read(path[1]), mesh(4)) {
				return "8002 " + path[1] + ":7:3 syntax error\n"
			}
			return birdtest.Forward
		}, apply.RolledBack, "bird.cfg:7:3: syntax error", "refused"},
		{"d closed", func(command string, _ []string) string {
			if strings.HasPrefix(command, loadCommand) {
				return birdtest.HangsUp
			}
			return birdtest.Forward
		}, apply.Placed, "closed the connection instead of answering `configure", "unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, 3)
			p := s.proxied()
			s.start()
			s.applied(mesh(3))
			old := s.file("bird.cfg")
			s.until("the last reload is long ago", func() bool {
				status := s.birdStatus()
				return !strings.Contains(tt.name, "never") || status.ServerTime.Sub(status.LastReconfiguration) > 3*time.Second
			})
			p.Answers(tt.answer)
			s.write("cluster.yaml", cluster(4))
			s.untilLogged(outcomeWords[tt.outcome])
			s.saysNotReady("bird: the newest configuration has not been applied", tt.reason, "the next attempt is in")
			status := s.target("bird")
			if status.Last.Outcome != tt.outcome || status.Last.Confirmed || status.Desired == status.Applied || status.PendingSince.IsZero() {
				t.Errorf("status %+v, last %+v", status, status.Last)
			}
			for name, want := range map[string]bool{`birdconfd_target_applied{target="bird"}`: false,
				`birdconfd_target_last_apply_success{target="bird"}`:                       false,
				`birdconfd_target_pending_seconds{target="bird"}`:                          true,
				`birdconfd_target_failures{target="bird"}`:                                 true,
				`birdconfd_target_reloads_total{result="` + tt.result + `",target="bird"}`: true} {
				if got := s.metric(name); got < 0 || got > 0 != want {
					t.Errorf("%s is %v", name, got)
				}
			}
			if back := s.file("bird.cfg") == old; back != (tt.outcome == apply.RolledBack) {
				t.Errorf("the old files are in place: %v", back)
			}
			s.runs(s.bird, meshes(3)...)
			renders := s.metric("birdconfd_renders_total")
			p.Opens()
			s.applied(mesh(4))
			s.runs(s.bird, meshes(4)...)
			s.until("ready", func() bool { return strings.HasPrefix(s.get("/readyz"), "ready") })
			if n := s.metric("birdconfd_renders_total"); n != renders {
				t.Errorf("rendered %v times, before that %v", n, renders)
			}
		})
	}
}

var outcomeWords = map[apply.Outcome]string{apply.Placed: "files are in place, but BIRD does not use them yet",
	apply.RolledBack: "BIRD did not take the files; the ones before are back in place"}

func TestR1HangingReloadDelaysNothingElse(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	other := birdtest.Start(t, birdtest.Bird(t), empty)
	p := birdtest.NewProxy(t, s.bird)
	hanging, good := s.place("hanging", s.bird), s.place("good", other)
	hanging.socket = p.Socket
	s.confd(hanging, good)
	p.Answers(func(string, []string) string { return birdtest.Silent })
	s.start()
	s.appliedAt(good, mesh(3))
	s.untilLogged("did not answer a new session within 2s")
	s.saysNotReady("hanging: the newest configuration has not been applied", "hanging: BIRD has not been running")
	// Two changes while it hangs, so that one of them is never applied to it.
	for _, n := range []int{4, 5} {
		s.write("cluster.yaml", cluster(n))
		s.runs(other, meshes(n)...)
	}
	if status := s.target("hanging"); status.PendingSince.IsZero() || status.Applied != "" {
		t.Errorf("status %+v", status)
	}
	p.HangUp()
	p.Opens()
	s.appliedAt(hanging, mesh(5))
	s.runs(s.bird, meshes(5)...)
	s.until("ready", func() bool { return strings.HasPrefix(s.get("/readyz"), "ready") })
}

// Two sets while a third is under way: the last one counts, and nothing stays pending.
func TestNewestOfSeveralSetsIsAppliedAfterASlowReload(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	p := s.proxied()
	s.change = func(o *daemon.Options) { o.SocketTimeout = patience }
	s.start()
	s.applied(mesh(3))
	release := holdsConfigure(t, p)
	for n := 4; n <= 6; n++ {
		before := s.target("bird").Desired
		s.write("cluster.yaml", cluster(n))
		s.until("rendered", func() bool { d := s.target("bird").Desired; return d != before && d != "" })
		if n == 4 {
			s.until("the reload is under way", func() bool { return p.Count(loadCommand) == 2 })
		}
	}
	release()
	s.applied(mesh(6))
	s.runs(s.bird, meshes(6)...)
	if n := p.Count(loadCommand); n != 3 {
		t.Errorf("%d reloads", n)
	}
	s.untilLogged("Node/node-5 added; Node/node-6 added") // both causes
}

// holdsConfigure makes the next configure wait until the returned function is called.
func holdsConfigure(t *testing.T, p *birdtest.Proxy) (release func()) {
	t.Helper()
	gate := make(chan struct{})
	p.Answers(func(command string, _ []string) string {
		if strings.HasPrefix(command, loadCommand) {
			select {
			case <-gate:
			case <-t.Context().Done():
			}
		}
		return birdtest.Forward
	})
	return func() { close(gate) }
}

func TestR4ChangeWithinThePauseIsNotLost(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	s.change = func(o *daemon.Options) { o.Settle, o.Longest = 2*time.Second, 5*time.Second }
	s.start()
	s.applied(mesh(3))
	s.write("cluster.yaml", cluster(4)) // not long after the first
	s.until("taken", func() bool { return s.report().Source.Reads == 2 })
	s.applied(mesh(4))
	s.runs(s.bird, meshes(4)...)
	if n := s.reloads(); n != 2 {
		t.Errorf("%d reloads", n)
	}
}

// A reload for a change of all three files, after all three are in place.
func TestR8OneReloadForThreeFiles(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	s.start()
	s.applied(mesh(3))
	before := map[string]string{}
	names := []string{"bird.cfg", "bird_aggr.cfg", "bird_ipam.cfg"}
	for _, name := range names {
		before[name] = s.file(name)
	}
	s.write("cluster.yaml", cluster(4)+`---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: pool}
spec: {cidr: 10.10.0.0/16, ipipMode: Never, vxlanMode: Never}
---
apiVersion: projectcalico.org/v3
kind: BlockAffinity
metadata: {name: alpha-block}
spec: {node: alpha, cidr: 10.10.0.0/26, state: confirmed, deleted: false}
`)
	s.applied(mesh(4))
	s.runs(s.bird, meshes(4)...)
	for _, name := range names {
		if s.file(name) == before[name] {
			t.Errorf("%s has not changed, so this test tests nothing", name)
		}
	}
	if got := protocols(t, s.bird, "Static"); len(got) != 1 || s.reloads() != 2 {
		t.Errorf("BIRD has the protocols %v after %d reloads", got, s.reloads())
	}
	if n := s.metric(`birdconfd_target_reloads_total{result="ok",target="bird"}`); n != 2 {
		t.Errorf("%v reloads", n)
	}
}

// dual makes a cluster with IPv6, where the last node's address of that family ends in last.
func dual(last string) string {
	text := cluster(3)
	for from, to := range map[string]string{address(1): "1", address(2): "2", address(3): last} {
		text = strings.Replace(text, from+"/16", from+"/16, ipv6Address: '2001:db8::"+to+"/64'", 1)
	}
	return text
}

func TestR12ChangeOfIPv6ReloadsOnlyBird6(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	bird6 := birdtest.Start(t, birdtest.Bird6(t), empty)
	four, six := s.place("bird", s.bird), s.place("bird6", bird6)
	six.family, six.binary = "IPv6", birdtest.Bird6(t)
	s.confd(four, six)
	s.change = func(o *daemon.Options) { o.Compute.Families = nil }
	s.write("cluster.yaml", dual("3"))
	s.start()
	s.appliedAt(four, mesh(3))
	s.appliedAt(six, "2001:db8::3")
	s.write("cluster.yaml", dual("33"))
	s.appliedAt(six, "2001:db8::33")
	s.runs(bird6, "Mesh_2001_db8__2", "Mesh_2001_db8__33")
	s.runs(s.bird, meshes(3)...)
	if n, n6 := reloads(s.bird), reloads(bird6); n != 1 || n6 != 2 {
		t.Errorf("%d reloads of bird, %d of bird6", n, n6)
	}
}

// loadCommand begins the command that has BIRD load a file, unlike "configure check".
const loadCommand = `configure "`
