package daemon

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/daemon"
)

func TestW1FailedAttemptIsRetriedWithoutAnEvent(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	s.start()
	s.applied(mesh(3))
	// Even root cannot put a file where a directory is.
	blocked := filepath.Join(s.out, "bird_ipam.cfg")
	if err := os.Rename(blocked, blocked+".aside"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(blocked, 0o755); err != nil {
		t.Fatal(err)
	}
	before := s.file("bird.cfg")
	s.write("cluster.yaml", cluster(4))
	s.untilLogged("bird_ipam.cfg: it is a directory")
	s.saysNotReady("the newest configuration has not been applied", "bird_ipam.cfg: it is a directory", "the next attempt is in")
	if s.file("bird.cfg") != before || s.reloads() != 1 {
		t.Error("something was done all the same")
	}
	renders := s.metric("birdconfd_renders_total")
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	s.applied(mesh(4))
	s.runs(s.bird, meshes(4)...)
	if n := s.metric("birdconfd_renders_total"); n != renders {
		t.Errorf("rendered %v times, before that %v", n, renders)
	}
}

func TestW2LastOfABurstWins(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	s.quiet = 5 * time.Millisecond
	s.change = func(o *daemon.Options) { o.Guard.Hold = 0 }
	s.start()
	s.applied(mesh(3))
	random := rand.New(rand.NewPCG(1, 2))
	for burst := range 15 {
		before, begin := s.reloads(), time.Now()
		n := 0
		for range 1 + random.IntN(30) {
			n = 2 + random.IntN(12)
			s.write("cluster.yaml", cluster(n))
			if random.IntN(3) == 0 {
				_ = s.get("/healthz") // takes the time that the loop takes to come round
			}
		}
		s.runs(s.bird, meshes(n)...)
		if got := bird.BGPProtocols([]byte(s.file("bird.cfg"))); !slices.Equal(got, slices.Sorted(slices.Values(meshes(n)))) {
			t.Fatalf("burst %d: the file has %v", burst, got)
		}
		// One for the first change, one for the rest, and more only where it took long.
		if got, limit := s.reloads()-before, 2+int(time.Since(begin)/daemon.DefaultSettle); got > limit {
			t.Errorf("burst %d: %d reloads within %s", burst, got, time.Since(begin))
		}
	}
}

func TestW6SourceThatAppearsLater(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	if err := os.RemoveAll(s.in); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.untilLogged("resources cannot be read")
	s.saysNotReady("source: file has not been read completely yet", s.in)
	if body := s.get("/healthz"); body != "ok\n" {
		t.Errorf("healthz: %q", body)
	}
	if p := s.problem(calico.RuleUnreadable); !strings.Contains(p.Message, s.in) {
		t.Errorf("problems: %v", s.report().Problems)
	}
	if s.file("bird.cfg") != "" || s.reloads() != 0 {
		t.Error("something was done before there was anything to do")
	}
	if err := os.Mkdir(s.in, 0o755); err != nil {
		t.Fatal(err)
	}
	s.write("cluster.yaml", cluster(3))
	s.applied(mesh(3))
	s.runs(s.bird, meshes(3)...)
	s.until("ready", func() bool { return strings.HasPrefix(s.get("/readyz"), "ready") })
}

// Not parallel: it counts what the whole process has.
func TestW8ManyChangesLeaveNothingBehind(t *testing.T) {
	s := newSetup(t, 3)
	s.quiet = time.Millisecond
	s.change = func(o *daemon.Options) { o.Settle, o.Longest, o.Guard.Hold = time.Millisecond, 5*time.Millisecond, 0 }
	s.start()
	round := func(n int) {
		for i := range 100 {
			s.write("cluster.yaml", cluster(3)+nodeYAML("extra", 100+100*n+i))
		}
		s.applied(mesh(100 + 100*n + 99))
	}
	round(0)
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	goroutines, fds := runtime.NumGoroutine(), descriptors()
	for n := range 19 {
		round(1 + n)
	}
	s.until(fmt.Sprintf("as few goroutines (%d) and descriptors (%d) as before", goroutines, fds), func() bool {
		return runtime.NumGoroutine() <= goroutines+2 && descriptors() <= fds+2
	})
	s.runs(s.bird, append(meshes(3), mesh(2099))...)
}

func TestW10DeletedAndMadeAgain(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	s.write("tor.yaml", peerYAML("tor", "192.0.2.10", 64500))
	s.write("extra.yaml", nodeYAML("extra", 20))
	s.start()
	s.runs(s.bird, append(meshes(3), mesh(20), session("192.0.2.10"))...)
	s.remove("tor.yaml")
	s.remove("extra.yaml")
	s.runs(s.bird, meshes(3)...)
	s.write("tor.yaml", peerYAML("tor", "192.0.2.11", 64501))
	s.write("extra.yaml", nodeYAML("extra", 21))
	s.runs(s.bird, append(meshes(3), mesh(21), session("192.0.2.11"))...)
	// And at once.
	s.remove("tor.yaml")
	s.remove("extra.yaml")
	s.write("tor.yaml", peerYAML("tor", "192.0.2.12", 64502))
	s.write("extra.yaml", nodeYAML("extra", 22))
	s.runs(s.bird, append(meshes(3), mesh(22), session("192.0.2.12"))...)
	s.applied("as 64502")
}

func TestW13SourceMissingAtStartKeepsWhatWasApplied(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	s.start()
	first := s.applied(mesh(3))
	s.end()
	if err := os.RemoveAll(s.in); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(s.out, "bird.cfg"))
	if err != nil {
		t.Fatal(err)
	}
	s.start()
	at := first.AppliedAt.UTC().Format(time.RFC3339)
	s.saysNotReady("source: file has not been read completely yet", "bird: serving what was applied at "+at)
	s.end()
	after, err := os.Stat(filepath.Join(s.out, "bird.cfg"))
	if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) || s.reloads() != 1 {
		t.Errorf("files or BIRD were touched (%v), reloads: %d", err, s.reloads())
	}
	s.runs(s.bird, meshes(3)...)
}

func TestW14NodeWithoutAddressIsLeftOut(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	s.write("bare.yaml", "apiVersion: projectcalico.org/v3\nkind: Node\nmetadata: {name: bare}\nspec: {bgp: {asNumber: 64512}}\n")
	s.write("bad.yaml", strings.Replace(nodeYAML("bad", 9), address(9), "10.0.0.999", 1))
	s.start()
	s.applied(mesh(3))
	s.runs(s.bird, meshes(3)...)
	s.untilLogged("Node/bad")
	if !slices.ContainsFunc(s.report().Problems, func(p calico.Problem) bool { return p.Resource == "Node/bad" }) {
		t.Errorf("problems: %v", s.report().Problems)
	}
}

func TestR10QuietAfterTheWorkIsDone(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	s.quiet = 5 * time.Millisecond
	s.start()
	s.applied(mesh(3))
	renders, applies := s.metric("birdconfd_renders_total"), s.metric(`birdconfd_target_applies_total{outcome="applied",target="bird"}`)
	// The source itself is busy: the file is new each time, and read, and says the same.
	for i := range 10 {
		reads := s.report().Source.Reads
		s.write("cluster.yaml", cluster(3)+fmt.Sprintf("# %d\n", i))
		s.until("read again", func() bool { return s.report().Source.Reads > reads })
	}
	if n := s.metric("birdconfd_renders_total"); n != renders || n < 1 {
		t.Errorf("rendered %v times, before %v", n, renders)
	}
	if n := s.metric(`birdconfd_target_applies_total{outcome="applied",target="bird"}`); n != applies || n != 1 || s.reloads() != 1 {
		t.Errorf("applied %v times, before %v; %d reloads", n, applies, s.reloads())
	}
}

// A loop that has nothing that could be rendered must not spin. Not parallel: it looks at
// the time that the whole process takes.
func TestW7NothingToRenderTakesNoTime(t *testing.T) {
	s := newSetup(t, 3)
	s.level = slog.LevelDebug
	write := s.confd(s.place("one", s.bird))
	write("one", "nonsense: true\n")
	s.start()
	s.until("the source is read", func() bool { return s.report().Source.Synced })
	s.saysNotReady("config: conf.d and the templates have never loaded")
	before := cpuTime(t)
	rest := time.NewTimer(time.Second)
	defer rest.Stop()
	<-rest.C // there is no event to wait for: the time itself is what is measured
	if took := cpuTime(t) - before; took > 400*time.Millisecond {
		t.Errorf("%s of CPU time in one second of rest", took)
	}
	p := s.place("one", s.bird)
	write("one", p.yaml())
	s.end()
	s.start()
	s.appliedAt(p, mesh(3))
}
