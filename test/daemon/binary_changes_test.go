package daemon

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/daemon"
	"github.com/birdconfd/birdconfd/pkg/datastore/file"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// TestTenThousandChanges makes changes much faster than they can be applied (W2, W8, R9).
// The files end as one run makes them of the last state, and nothing has grown.
func TestTenThousandChanges(t *testing.T) {
	const early, all, burst = 2_000, 10_000, 25
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := newSetup(t, 1)
	m := &mess{s: s, random: rand.New(rand.NewPCG(seed, 0))}
	m.fill()
	s.change = func(o *daemon.Options) {
		source, err := file.New(file.Options{Paths: []string{s.in}, Poll: time.Second, Quiet: 2 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		o.Source, o.Settle, o.Longest = source, 5*time.Millisecond, 20*time.Millisecond
		o.Guard.Hold = 0
		o.Logger = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelError}))
	}
	s.start()
	m.settled()
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	var before usage
	for i := range all {
		m.change()
		if (i+1)%burst == 0 {
			<-tick.C
		}
		if i+1 == early {
			m.settled()
			before = measure()
		}
	}
	m.settled()
	after := measure()
	t.Logf("after %d changes %+v; after %d changes %+v, %d reloads", early, before, all, after, s.reloads())
	if after.goroutines > before.goroutines+5 || after.fds > before.fds+5 || after.heap > before.heap+before.heap/4+2<<20 {
		t.Errorf("something grows: %+v, then %+v", before, after)
	}
	if n := s.reloads(); n < 20 {
		t.Errorf("only %d reloads", n)
	}
	for line := range strings.Lines(s.log.String()) {
		if !strings.Contains(line, "changed all the time") && !strings.Contains(line, "changed while it was read") {
			t.Errorf("log: %s", line)
		}
	}
}

// usage is what leaks show in.
type usage struct {
	goroutines, fds int
	heap            uint64
}

func measure() usage {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what was finalized
	runtime.ReadMemStats(&m)
	fds, _ := os.ReadDir("/proc/self/fd")
	return usage{runtime.NumGoroutine(), len(fds), m.HeapAlloc}
}

// mess is a cluster that changes at random.
type mess struct {
	s      *setup
	random *rand.Rand
	// nodes and peers by the files that they are in, with a number each; 0 for none.
	nodes   [8][8]int
	peers   [16]int
	filters [4]int
}

func (m *mess) fill() {
	for shard := range m.nodes {
		m.nodes[shard][0] = shard + 2
		m.writeNodes(shard)
	}
	m.writePeers()
	m.writeFilters()
}

// change adds, removes or changes one thing, and writes the file that it is in.
func (m *mess) change() {
	switch n := m.random.IntN(10); {
	case n < 6:
		shard := m.random.IntN(len(m.nodes))
		m.nodes[shard][m.random.IntN(len(m.nodes[shard]))] = m.any()
		m.writeNodes(shard)
	case n < 8:
		m.peers[m.random.IntN(len(m.peers))] = m.any()
		m.writePeers()
	default:
		m.filters[m.random.IntN(len(m.filters))] = 1 + m.random.IntN(200)
		m.writeFilters()
	}
}

// any is a number, or 0 one time in three.
func (m *mess) any() int { return max(0, m.random.IntN(300)-100) }

func (m *mess) writeNodes(shard int) {
	var b strings.Builder
	for i, n := range m.nodes[shard] {
		if n > 0 { // no two have the same address
			b.WriteString(nodeYAML(fmt.Sprintf("node-%d-%d", shard, i), 250*(1+8*shard+i)+n))
		}
	}
	b.WriteString("---\n") // never quite empty
	m.s.write(fmt.Sprintf("nodes-%d.yaml", shard), b.String())
}

func (m *mess) writePeers() {
	var b strings.Builder
	for i, n := range m.peers {
		if n > 0 {
			fmt.Fprintf(&b, "---\napiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata: {name: peer-%d}\n"+
				"spec: {peerIP: 10.8.%d.1, asNumber: %d, filters: [filter-%d]}\n", i, i, 65000+n, i%len(m.filters))
		}
	}
	b.WriteString("---\n")
	m.s.write("peers.yaml", b.String())
}

func (m *mess) writeFilters() {
	var b strings.Builder
	for i, n := range m.filters {
		fmt.Fprintf(&b, "---\napiVersion: projectcalico.org/v3\nkind: BGPFilter\nmetadata: {name: filter-%d}\n"+
			"spec: {exportV4: [{cidr: 10.%d.0.0/16, matchOperator: In, action: Reject}]}\n", i, n)
	}
	m.s.write("filters.yaml", b.String())
}

// settled waits until everything is as the resources say, which are not changed meanwhile.
func (m *mess) settled() {
	s := m.s
	s.t.Helper()
	want := s.rendered(s.in)
	s.until("all is applied", func() bool {
		if !s.has(want) {
			return false
		}
		status := s.target("bird")
		return status.Desired == status.Applied && status.PendingSince.IsZero()
	})
	got := s.sessions()
	slices.Sort(got)
	if !slices.Equal(got, sessionsIn(want["bird.cfg"])) {
		s.t.Errorf("BIRD runs %v, the file has %v", got, sessionsIn(want["bird.cfg"]))
	}
}

// rendered makes the files in one go, from resources in files.
func (s *setup) rendered(paths ...string) map[string]string {
	s.t.Helper()
	objects, problems := file.Load(s.t.Context(), paths, nil)
	resources, more := calico.NewCluster(objects, nil)
	config, bad := s.config()
	if problems = slices.Concat(problems, more, bad); calico.HasErrors(problems) {
		s.t.Fatal(problems)
	}
	views, _ := bgp.Compute(resources, node, bgp.Options{Families: ipv4})
	c := config.Targets[0]
	files, problems := c.Set.Render(c.Target, render.Input{Views: views})
	if len(problems) > 0 {
		s.t.Fatal(problems)
	}
	text := map[string]string{}
	for _, f := range files {
		text[f.Name] = string(f.Data)
	}
	return text
}

// has tells that files in place are these.
func (s *setup) has(want map[string]string) bool {
	for name, text := range want {
		if s.file(name) != text {
			return false
		}
	}
	return true
}

// sessionsIn lists the sessions in a file, in order of their names.
func sessionsIn(text string) []string {
	names := bird.BGPProtocols([]byte(text))
	slices.Sort(names)
	return names
}
