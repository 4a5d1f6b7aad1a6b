package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/recovery"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// newRestart makes a cluster and a BIRD of a version that is not running. It starts with the
// files that it finds, to recover.
func newRestart(t *testing.T, version, nodes int) *setup {
	t.Helper()
	s := newSetup(t, nodes)
	binary := birdtest.Bird(t)
	if version == 2 {
		s.set, binary = "bird2", birdtest.Bird2(t)
	}
	s.restarts(binary)
	return s
}

// restarts replaces BIRD by such a one.
func (s *setup) restarts(binary string) {
	s.t.Helper()
	s.bird.Stop()
	s.bird = birdtest.Start(s.t, binary, empty, "-R")
	s.bird.Stop()
	s.bird.Config = filepath.Join(s.out, "bird.cfg")
}

// nodesAre writes what Kubernetes says of nodes: all that are named are not ready.
func (s *setup) nodesAre(notReady ...int) {
	s.t.Helper()
	var b strings.Builder
	b.WriteString("---\n") // never quite empty
	for _, n := range notReady {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Node\nmetadata: {name: node-%d}\nstatus: {conditions: [{type: Ready, status: Unknown}]}\n", n)
	}
	s.write("kubernetes.yaml", b.String())
}

// configure writes the BGPConfiguration with more fields.
func (s *setup) configure(fields string) {
	s.t.Helper()
	s.write("configuration.yaml", "apiVersion: projectcalico.org/v3\nkind: BGPConfiguration\nmetadata: {name: default}\nspec: {asNumber: 64512, "+fields+"}\n")
}

// withoutConfiguration is cluster for those who use configure.
func withoutConfiguration(nodes int) string {
	_, text, _ := strings.Cut(cluster(nodes), "---\n")
	return text
}

// off are the sessions in a file that have graceful restart turned off themselves.
func off(text string) []string {
	var names []string
	for _, session := range bird.ReadSessions([]byte(text)) {
		if session.GracefulRestartOff {
			names = append(names, session.Name)
		}
	}
	slices.Sort(names)
	return names
}

// hasOff waits until the files have graceful restart turned off for the sessions with these
// nodes, and for no other.
func (s *setup) hasOff(nodes ...int) {
	s.t.Helper()
	var want []string
	for _, n := range nodes {
		want = append(want, mesh(n))
	}
	slices.Sort(want)
	s.until(fmt.Sprintf("graceful restart is off for %v alone", want), func() bool {
		text := s.peersFile()
		return text != "" && slices.Equal(off(text), want)
	})
}

// peersFile is the file with the sessions.
func (s *setup) peersFile() string {
	if s.set == "bird2" {
		return s.file("bird_ipv4.cfg")
	}
	return s.file("bird.cfg")
}

// is waits until BIRD is seen in a condition.
func (s *setup) is(c recovery.Condition) {
	s.t.Helper()
	s.until("BIRD is "+string(c), func() bool { g := s.target("bird").GracefulRestart; return g != nil && g.Condition == c })
}

// establishes has a proxy say that a session is up.
func establishes(p *birdtest.Proxy, session string) {
	p.Answers(func(command string, _ []string) string {
		if command == "show protocols" {
			return "2002-name     proto    table    state  since       info\n1002-" + session + " BGP master up 11:00:00 Established\n0000 \n"
		}
		return birdtest.Forward
	})
}

// goesOn waits until the daemon has surely come round a few times: BIRD was asked so often.
func (s *setup) goesOn(p *birdtest.Proxy, command string, times int) {
	s.t.Helper()
	n := p.Count(command)
	s.until("it goes on asking", func() bool { return p.Count(command) >= n+times })
}

// switched makes a proxy, and has the daemon ask at a place where it is once open is called.
// Until then nobody is there; before a proxy nobody is ever seen to be down.
func (s *setup) switched() (p *birdtest.Proxy, open func()) {
	s.t.Helper()
	p, place, open := s.switchPlace()
	s.edit(func(c *render.TargetConfig) { c.Socket = place })
	return p, open
}

// switchPlace makes that place.
func (s *setup) switchPlace() (p *birdtest.Proxy, place string, open func()) {
	s.t.Helper()
	p = birdtest.NewProxy(s.t, s.bird)
	place = filepath.Join(s.bird.Dir, "switch")
	return p, place, func() {
		if err := os.Symlink(p.Socket, place); err != nil {
			s.t.Fatal(err)
		}
	}
}

// edit changes the target's configuration each time that it is loaded.
func (s *setup) edit(change func(*render.TargetConfig)) {
	config := s.config
	s.config = func() (*render.Config, []calico.Problem) {
		c, problems := config()
		if c != nil {
			change(&c.Targets[0])
		}
		return c, problems
	}
}
