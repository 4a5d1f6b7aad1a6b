package daemon

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// TestKilledAtRandom kills the program a hundred times while resources change all the time.
// After each start, before resources are read, a BIRD that starts must find one whole set;
// and when nothing more happens, files and BIRD must be as the resources say.
func TestKilledAtRandom(t *testing.T) {
	const rounds, kills = 10, 10
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := &crasher{program: newProgram(t, buildProgram(t), 3), random: rand.New(rand.NewPCG(seed, 0)), kills: rand.New(rand.NewPCG(seed, 1)),
		settled: filepath.Join(t.TempDir(), "settled.yaml")}
	c.open()
	c.start()
	c.applied(mesh(3))
	c.end()
	halves := 0
	for range rounds {
		stop := c.keepChanging()
		for range kills {
			halves += c.kill()
		}
		stop()
		c.newest()
	}
	if halves == 0 {
		t.Error("no kill came while a set was being applied")
	}
	t.Logf("%d of %d kills came while a set was being applied", halves, rounds*kills)
	if left, _ := filepath.Glob(filepath.Join(c.out, ".bird*birdconfd-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// crasher is a program that is killed again and again.
type crasher struct {
	*program
	mu     sync.Mutex // for writing
	random *rand.Rand // of what is written
	kills  *rand.Rand
	// settled is one of the files to be read; without it nothing is read at all.
	settled string
}

func (c *crasher) start() {
	c.log = &logBuffer{}
	// A child of the one that was killed, between fork and exec, may still hold the address.
	c.newAddress()
	c.run("--guard-hold", "0s", "--settle", "10ms", "--max-wait", "50ms", c.settled)
}

// open makes all files readable, shut all together unreadable.
func (c *crasher) open() {
	text := "apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata: {name: pods}\nspec: {cidr: 10.64.0.0/12}\n"
	c.replace(c.settled, text)
}

func (c *crasher) shut() {
	if err := os.Remove(c.settled); err != nil {
		c.t.Fatal(err)
	}
}

// nodesOf is how many nodes there are in a generation of the resources. Each of BIRD's files
// tells the generation, so that those of a half set do not agree.
func nodesOf(generation int) int { return 3 + generation%20 }

// change makes a new generation of the resources.
func (c *crasher) change() {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.random.IntN(200)
	text := cluster(nodesOf(n)) + fmt.Sprintf("---\napiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata: {name: more}\nspec: {cidr: 172.16.%d.0/24}\n", n) +
		fmt.Sprintf("---\napiVersion: projectcalico.org/v3\nkind: BlockAffinity\nmetadata: {name: block}\nspec: {node: %s, cidr: 172.16.%d.0/26, state: confirmed, deleted: false}\n", node, n)
	c.replace(filepath.Join(c.in, "cluster.yaml"), text)
}

// replace replaces a file by one that seems to be old, which a program that starts reads at
// once.
func (c *crasher) replace(path, text string) {
	temp, old := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)), time.Now().Add(-time.Minute)
	if err := errors.Join(os.WriteFile(temp, []byte(text), 0o600), os.Chtimes(temp, old, old), os.Rename(temp, path)); err != nil {
		c.t.Error(err)
	}
}

// keepChanging changes resources until it is told to stop. There is just time to read them.
func (c *crasher) keepChanging() (stop func()) {
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(120 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.change()
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-done }
}

// kill starts the program and kills it. It returns 1 if that came while a set was applied.
func (c *crasher) kill() int {
	c.t.Helper()
	c.change()
	look := c.kills.IntN(2) == 0
	if look {
		c.shut()
	}
	before := c.sets()
	c.start()
	c.stop = nil
	if look {
		c.until("it has recovered", func() bool { return c.target("bird").Applied != "" })
		if c.target("bird").Desired != "" {
			c.t.Error("resources were read before all of them could be")
		}
		c.wholeSet()
		c.open()
	}
	if c.kills.IntN(2) == 0 { // at any time, or while a set is applied
		c.pause(150 * time.Millisecond)
	} else {
		c.until("a set is staged", func() bool { return !slices.Equal(c.sets(), before) })
		c.pause(15 * time.Millisecond)
	}
	_ = c.cmd.Process.Kill()
	<-c.ended
	record, err := os.ReadFile(filepath.Join(c.out, ".birdconfd", "bird", "record.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.Count(string(record), `"phase":"placing"`)
}

// sets are the sets that the program keeps.
func (c *crasher) sets() []string {
	found, err := filepath.Glob(filepath.Join(c.out, ".birdconfd", "bird", "set-*"))
	if err != nil {
		c.t.Fatal(err)
	}
	return found
}

// pause waits for a random time, in which the program must not end.
func (c *crasher) pause(most time.Duration) {
	c.t.Helper()
	select {
	case <-time.After(time.Duration(c.kills.Int64N(int64(most)))):
	case <-c.ended:
		c.t.Fatalf("it has ended:\n%s", c.log)
	}
}

// generation is in the file about blocks, and in that about pools.
var generation = regexp.MustCompile(`172\.16\.(\d+)\.0/2[46]`)

// wholeSet looks at what a BIRD would find if it was started now.
func (c *crasher) wholeSet() {
	c.t.Helper()
	err := bird.Checker{Binary: birdtest.Bird(c.t)}.Check(c.t.Context(), filepath.Join(c.out, "bird.cfg"))
	if err != nil {
		c.t.Errorf("a BIRD that starts now does not take the files: %v", err)
	}
	var found []string
	for _, name := range []string{"bird_aggr.cfg", "bird_ipam.cfg"} {
		for _, m := range generation.FindAllStringSubmatch(c.file(name), -1) {
			found = append(found, m[1])
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) == 0 {
		return // it is the set before the first change
	}
	n, err := strconv.Atoi(found[0])
	if sessions := sessionsIn(c.file("bird.cfg")); err != nil || len(found) > 1 || len(sessions) != nodesOf(n) {
		c.t.Errorf("a BIRD that starts now finds files of generations %v with %d sessions", found, len(sessions))
	}
}

// newest starts the program and waits until files and BIRD are as the resources say.
func (c *crasher) newest() {
	c.t.Helper()
	c.start()
	want := c.rendered(c.in, c.settled)
	c.until("all is applied", func() bool {
		status := c.target("bird")
		return status.Desired != "" && status.Desired == status.Applied && status.PendingSince.IsZero() && c.has(want)
	})
	got := c.sessions()
	slices.Sort(got)
	if !slices.Equal(got, sessionsIn(want["bird.cfg"])) {
		c.t.Errorf("BIRD runs %v, the file has %v", got, sessionsIn(want["bird.cfg"]))
	}
	for _, route := range generation.FindAllString(want["bird_aggr.cfg"], -1) {
		if !strings.Contains(c.ask("show route"), route) {
			c.t.Errorf("BIRD lacks the route %s:\n%s", route, c.ask("show route"))
		}
	}
	c.wholeSet()
	c.end()
}

// ask asks BIRD.
func (s *setup) ask(command string) string {
	s.t.Helper()
	conn, err := bird.Client{Socket: s.bird.Socket}.Dial(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Ask(s.t.Context(), command)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply.Words()
}
