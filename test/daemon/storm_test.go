package daemon

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/daemon"
)

// Pauses are longer than by default, so that a slow machine makes no quiet time of its own,
// after which a change is taken at once.
const settle, longest = time.Second, 2 * time.Second

func pausesLonger(o *daemon.Options) { o.Settle, o.Longest = settle, longest }

// storm writes n changes of ten files, one each time that the pause is over. It returns how
// many reloads are too many for the time that it took: one at once, one for each longest
// wait, one for the rest, and one for what comes after the storm.
func (s *setup) storm(n int, pause time.Duration) (limit int) {
	s.t.Helper()
	begin := time.Now()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for i := range n {
		<-tick.C
		s.write(fmt.Sprintf("node-%d.yaml", i%10), nodeYAML(fmt.Sprintf("moving-%d", i%10), 1000+i))
	}
	return int(time.Since(begin)/longest) + 3
}

func TestR9StormOfChangesIsOneOfFewReloads(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		n     int
		pause time.Duration
	}{{"500 in two seconds", 500, 4 * time.Millisecond}, {"one every 100 ms, which never settles", 60, 100 * time.Millisecond}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, 10)
			s.quiet = 5 * time.Millisecond
			s.change = pausesLonger
			s.start()
			s.applied(mesh(10))
			begin := time.Now()
			limit := s.storm(tt.n, tt.pause)
			// A storm that goes on keeps nothing from being applied for ever.
			during, least := s.reloads()-1, int(time.Since(begin)/longest/2)
			s.write("last.yaml", nodeYAML("last", 99))
			s.applied(mesh(99))
			if n := s.reloads() - 1; n > limit+1 || during < least {
				t.Errorf("%d reloads, %d of them during the storm; want no more than %d, and %d during the storm", n, during, limit+1, least)
			}
			for i := range 10 {
				if name := mesh(1000 + tt.n - 10 + i); !strings.Contains(s.file("bird.cfg"), name) {
					t.Errorf("%s is missing", name)
				}
			}
			if got := s.sessions(); len(got) != 9+10+1 {
				t.Errorf("BIRD runs %v", got)
			}
		})
	}
}

func TestR11TargetThatCannotBeRenderedMakesNoStormOfAnother(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 10)
	s.quiet = 5 * time.Millisecond
	s.change = pausesLonger
	broken, good := s.place("broken", nil), s.place("good", s.bird)
	broken.templates = t.TempDir()
	overwrite(t, filepath.Join(broken.templates, "local.tmpl"), failsFrom(0))
	s.confd(broken, good)
	s.start()
	s.appliedAt(good, mesh(10))
	limit := s.storm(200, 4*time.Millisecond)
	s.write("last.yaml", nodeYAML("last", 99))
	s.appliedAt(good, mesh(99))
	if n := s.reloads() - 1; n > limit+1 {
		t.Errorf("%d reloads, want no more than %d", n, limit+1)
	}
	if !s.target("broken").Withheld || read(filepath.Join(broken.dir, "bird.cfg")) != "" {
		t.Errorf("status %+v", s.target("broken"))
	}
}

var bgpBlock = regexp.MustCompile(`(?ms)^(?:# [^\n]*\n)?protocol bgp (\S+) .*?^}`)

// blocks are the BGP protocols of a file, by name.
func blocks(text string) map[string]string {
	out := map[string]string{}
	for _, m := range bgpBlock.FindAllStringSubmatch(text, -1) {
		out[m[1]] = m[0]
	}
	return out
}

func TestR18NewPeerLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 50)
	s.start()
	s.applied(mesh(50))
	before := blocks(s.file("bird.cfg"))
	logged := len(s.bird.Log())
	// Its name comes before those of all others.
	s.write("peer.yaml", nodeYAML("aaa", 500)+peerYAML("aaa", "10.0.0.200", 64500))
	s.applied(session("10.0.0.200"))
	after := blocks(s.file("bird.cfg"))
	if len(before) != 49 || after[mesh(500)] == "" || after[session("10.0.0.200")] == "" {
		t.Fatalf("%d blocks, then %d", len(before), len(after))
	}
	delete(after, mesh(500))
	delete(after, session("10.0.0.200"))
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("other blocks (-before +after):\n%s", diff)
	}
	// BIRD tells what it does with each protocol.
	var added []string
	for line := range strings.Lines(s.bird.Log()[logged:]) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "bird: Adding protocol "); ok {
			added = append(added, name)
		}
		if strings.Contains(line, "Removing") || strings.Contains(line, "Restarting") || strings.Contains(line, "Shutting down") {
			t.Errorf("BIRD says: %s", line)
		}
	}
	if len(added) != 2 {
		t.Errorf("BIRD added %v", added)
	}
}

// Targets that come, go and move, described by conf.d while the daemon runs.
func TestConfdChangesWhileItRuns(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	reload := make(chan struct{}, 1)
	s.change = func(o *daemon.Options) { o.Reload = reload }
	second, third := birdtest.Start(t, birdtest.Bird(t), empty), birdtest.Start(t, birdtest.Bird(t), empty)
	one, two := s.place("one", s.bird), s.place("two", second)
	write := s.confd(one)
	s.start()
	s.appliedAt(one, mesh(3))

	// Added.
	write("two", two.yaml())
	reload <- struct{}{}
	s.appliedAt(two, mesh(3))
	s.runs(second, meshes(3)...)
	if n := reloads(s.bird); n != 1 {
		t.Errorf("a target that did not change was reloaded %d times", n)
	}

	// Its BIRD is another one now.
	two.socket = third.Socket
	write("two", two.yaml())
	reload <- struct{}{}
	s.runs(third, meshes(3)...)
	s.appliedAt(two, mesh(3))
	s.until("the monitor sees it", func() bool { b := s.target("two").BIRD; return b.Up && b.Starts == 1 })
	s.write("cluster.yaml", cluster(4))
	s.appliedAt(one, mesh(4))
	s.appliedAt(two, mesh(4))
	s.runs(third, meshes(4)...)
	s.runs(second, meshes(3)...)
	if strings.Contains(s.log.String(), "another birdconfd takes care of this target") {
		t.Error("the target was in its own way")
	}

	// Removed: its files and its BIRD stay as they are.
	write("two", "")
	reload <- struct{}{}
	s.untilLogged("the target is no longer taken care of")
	s.until("gone", func() bool {
		return len(s.report().Targets) == 1 && s.metric(`birdconfd_target_applied{target="two"}`) < 0
	})
	s.write("cluster.yaml", cluster(5))
	s.appliedAt(one, mesh(5))
	s.runs(s.bird, meshes(5)...)
	s.runs(third, meshes(4)...)
	if text := read(filepath.Join(two.dir, "bird.cfg")); !strings.Contains(text, mesh(4)) || strings.Contains(text, mesh(5)) {
		t.Errorf("the file of the removed target:\n%s", text)
	}

	// And again.
	write("two", two.yaml())
	reload <- struct{}{}
	s.appliedAt(two, mesh(5))
	s.runs(third, meshes(5)...)
}
