package recovery

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

func releases(s State) []string {
	var out []string
	for _, r := range s.Released {
		out = append(out, r.Name+" "+string(r.Reason))
	}
	return out
}

func with(p Policy) func(*Watcher) { return func(w *Watcher) { w.Release(p) } }

// notReady is a Policy for nodes of sessions.
func notReady(sessions ...string) Policy {
	p := Policy{NotReady: map[string]string{}}
	for _, name := range sessions {
		p.NotReady[name] = "node-" + name
	}
	return p
}

// TestRelease has a recovery of BIRD 1.6, which would last for four minutes, go on without
// the peers that there are reasons for.
func TestRelease(t *testing.T) {
	t.Parallel()
	second := time.Second
	for _, tt := range []struct {
		name   string
		policy Policy
		want   []string
		ends   bool
	}{
		{"one node is not ready", notReady("a"), []string{"a node-not-ready"}, false},
		{"all nodes are not ready", notReady("a", "b"), []string{"a node-not-ready", "b node-not-ready"}, true},
		{"the wait is lowered", Policy{Wait: &second}, []string{"a wait-lowered", "b wait-lowered"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := birdtest.NewProxy(t, alone(t, 1, "", "a", "b"))
			w := watch(t, bird.Client{Socket: p.Socket}, nil)
			w.becomes(Recovering)
			w.Release(tt.policy)
			s := w.until("they are released", func(s State) bool {
				return len(s.Released) == len(tt.want) && (s.Condition == Steady) == tt.ends && (tt.ends || slices.Equal(s.Holders(), []string{"b"}))
			})
			if diff := cmp.Diff(tt.want, releases(s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := p.Count("restart "); n != len(tt.want) || s.Start != 1 {
				t.Errorf("%d restarts for %d peers; %+v", n, len(tt.want), s)
			}
			for _, r := range s.Released {
				if r.At.IsZero() || r.Why == "" {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// Sessions that are up are left alone, whatever the reasons.
func TestReleaseLeavesSessionsAlone(t *testing.T) {
	t.Parallel()
	a, b := birdtest.NewSpeaker(t, 1, "127.0.0.1"), birdtest.NewSpeaker(t, 1, "127.0.0.2")
	const restarts = "graceful restart;"
	peer := b.Start(t, b.Session("back", a, restarts))
	d := a.Start(t, a.Session("live", b, "passive;", restarts)+a.Session("gone", nobody, "passive;", restarts), "-R")
	p := birdtest.NewProxy(t, d)
	within(t, "the session is up", func() bool { return row(t, d, "live").Established() && row(t, peer, "back").Established() })

	second := time.Second
	policy := notReady("live", "gone")
	policy.Wait, policy.Unreachable = &second, time.Second
	w := watch(t, bird.Client{Socket: p.Socket}, with(policy))
	s := w.becomes(Steady)
	if got := releases(s); !slices.Equal(got, []string{"gone node-not-ready"}) {
		t.Errorf("released: %v", got)
	}
	if n := p.Count("restart "); n != 1 {
		t.Errorf("%d restarts", n)
	}
	if now := row(t, d, "live"); !now.Exchanges() || !row(t, peer, "back").Established() {
		t.Errorf("now %+v, %+v", now, row(t, peer, "back"))
	}
	if log := d.Log() + peer.Log(); strings.Contains(log, "Restarting protocol live") || strings.Contains(log, "Received: ") {
		t.Errorf("the session was closed:\n%s", log)
	}
}

// A peer that cannot be reached is released when another one has recovered.
func TestReleaseOfUnreachable(t *testing.T) {
	t.Parallel()
	a, b := birdtest.NewSpeaker(t, 1, "127.0.0.1"), birdtest.NewSpeaker(t, 1, "127.0.0.2")
	const restarts = "graceful restart;"
	b.Start(t, b.Session("back", a, restarts))
	d := a.Start(t, a.Session("live", b, "passive;", restarts)+a.Session("gone", nobody, "passive;", restarts), "-R")
	w := watch(t, bird.Client{Socket: d.Socket}, with(Policy{Unreachable: time.Second}))
	s := w.becomes(Steady)
	if got := releases(s); !slices.Equal(got, []string{"gone unreachable"}) {
		t.Errorf("released: %v", got)
	}
}

// A session that is being opened is on its way, and a restart would set it back.
func TestReleaseLeavesSessionsThatComeUpAlone(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() }) // it takes connections, and says nothing
	slow := birdtest.Speaker{Address: "127.0.0.2", Port: l.Addr().(*net.TCPAddr).Port}
	s := birdtest.NewSpeaker(t, 1, "127.0.0.1")
	d := s.Start(t, "graceful restart wait 4;\n"+s.Session("slow", slow), "-R")
	p := birdtest.NewProxy(t, d)
	within(t, "the session is being opened", func() bool { r := row(t, d, "slow"); return r.ComingUp() && r.HoldsRecovery })
	since, second := row(t, d, "slow").Since, time.Second
	policy := notReady("slow")
	policy.Wait, policy.Unreachable = &second, time.Second
	w := watch(t, bird.Client{Socket: p.Socket}, with(policy))
	w.becomes(Recovering)
	if s := w.becomes(Steady); s.Released != nil || p.Count("restart ") != 0 || row(t, d, "slow").Since != since {
		t.Errorf("%+v, %d restarts, %+v", s, p.Count("restart "), row(t, d, "slow"))
	}
}

// BIRD 2 never gets over a peer that is restarted, and a Policy may be turned off.
func TestReleaseOfNobody(t *testing.T) {
	t.Parallel()
	second := time.Second
	all := notReady("a", "b")
	all.Wait, all.Unreachable = &second, time.Second
	off := all
	off.Off = true
	for name, tt := range map[string]struct {
		version int
		policy  Policy
	}{"BIRD 2": {2, all}, "turned off": {1, off}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := birdtest.NewProxy(t, alone(t, tt.version, "graceful restart wait 4;\n", "a", "b"))
			w := watch(t, bird.Client{Socket: p.Socket}, with(tt.policy))
			w.becomes(Recovering)
			if s := w.becomes(Steady); s.Released != nil || p.Count("restart ") != 0 {
				t.Errorf("%+v, %d restarts", s, p.Count("restart "))
			}
			if p.Count("show protocols all") < 2 {
				t.Error("sessions were not looked at")
			}
		})
	}
}

// What BIRD does by itself need not be done.
func TestReleaseKnowsWhatBirdWaitsFor(t *testing.T) {
	t.Parallel()
	for seconds := range 3 {
		t.Run(fmt.Sprint(3+seconds), func(t *testing.T) {
			t.Parallel()
			wait := time.Duration(3+seconds) * time.Second
			p := birdtest.NewProxy(t, alone(t, 1, fmt.Sprintf("graceful restart wait %d;\n", 3+seconds), "a", "b"))
			w := watch(t, bird.Client{Socket: p.Socket}, with(Policy{Wait: &wait}))
			w.becomes(Recovering)
			if s := w.becomes(Steady); s.Released != nil || p.Count("restart ") != 0 {
				t.Errorf("released %v, %d restarts", releases(s), p.Count("restart "))
			}
		})
	}
}

// Protocols that somebody disables meanwhile are not tried again and again.
func TestReleaseOfDisabledSessions(t *testing.T) {
	t.Parallel()
	d := alone(t, 1, "", "a", "b", "c")
	p := birdtest.NewProxy(t, d)
	p.Answers(func(command string, _ []string) string {
		if command == "restart 'a'" { // as if it had been disabled since it was looked at
			return "0008-a: already disabled\n0000 \n"
		}
		return birdtest.Forward
	})
	w := watch(t, bird.Client{Socket: p.Socket}, nil)
	w.becomes(Recovering)
	command(t, d, "disable c")
	w.Release(notReady("a", "b", "c"))
	w.until("b is released", func(s State) bool {
		return slices.Equal(releases(s), []string{"b node-not-ready"}) && slices.Equal(s.Holders(), []string{"a"})
	})
	asked := p.Count("show status")
	within(t, "it has gone on for a while", func() bool { return p.Count("show status") > asked+6 })
	if a, c := p.Count("restart 'a'"), p.Count("restart 'c'"); a != 1 || c != 0 {
		t.Errorf("a was restarted %d times, c %d times", a, c)
	}
	// A daemon that starts anew is another matter.
	d.Kill()
	w.until("the end is seen", func(s State) bool { return !s.Up() })
	p.Opens()
	d.Restart()
	if s := w.becomes(Steady); s.Start < 1 || !slices.Equal(releases(s), []string{"a node-not-ready", "b node-not-ready", "c node-not-ready"}) {
		t.Errorf("after another start: %+v", s)
	}
}

// A connection that is cut right after a release does not make it forgotten.
func TestReleaseIsKnownAfterAHangUp(t *testing.T) {
	t.Parallel()
	p := birdtest.NewProxy(t, alone(t, 1, "", "a", "b"))
	w := watch(t, bird.Client{Socket: p.Socket}, with(notReady("a")))
	w.until("a is released", func(s State) bool { return len(s.Released) == 1 })
	p.HangUp()
	n := p.Count("")
	within(t, "it asks again", func() bool { return p.Count("") > n })
	w.Release(notReady("a", "b"))
	if s := w.becomes(Steady); !slices.Equal(releases(s), []string{"a node-not-ready", "b node-not-ready"}) || p.Count("restart ") != 2 {
		t.Errorf("%v, %d restarts", releases(s), p.Count("restart "))
	}
}
