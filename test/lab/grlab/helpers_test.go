package grlab

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/test/shared"
)

// together is how many tests run at the same time. They mostly wait.
const together = 10

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", fmt.Sprint(together)) // the flag is there
	}
	code := m.Run()
	_ = os.RemoveAll(programDir) // it is in the directory for temporary files
	os.Exit(code)
}

// programDir has the program once it is built.
var programDir string

// program builds birdconfd once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "grlab")
	if err != nil {
		return "", err
	}
	programDir = dir
	path := filepath.Join(dir, "birdconfd")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "github.com/birdconfd/birdconfd/cmd/birdconfd")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func bird1(t testing.TB) Flavor { return Flavor{"BIRD 1.6", "bird1", birdtest.Bird(t)} }
func bird2(t testing.TB) Flavor { return Flavor{"BIRD 2", "bird2", birdtest.Bird2(t)} }

// flavors are the BIRDs that tests run with.
var flavors = []struct {
	name string
	of   func(testing.TB) Flavor
}{{"bird1", bird1}, {"bird2", bird2}}

// each runs a test with each BIRD.
func each(t *testing.T, test func(*testing.T, Flavor)) {
	t.Parallel()
	for _, f := range flavors {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			test(t, f.of(t))
		})
	}
}

// bench is a laboratory whose failures are those of a test.
type bench struct {
	*Lab
	t   *testing.T
	ctx context.Context
}

// open makes a laboratory that is without power.
func open(t *testing.T, f Flavor, o Options) *bench {
	t.Helper()
	shared.NeedRoot(t, "network namespaces")
	if _, err := exec.LookPath("ip"); err != nil {
		shared.Skip(t, "network namespaces need iproute2")
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	o.Flavor, o.Program = f, path
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{l, t, t.Context()}
	t.Cleanup(func() {
		b.calm()
		if t.Failed() {
			b.show()
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// start makes a laboratory whose nodes have all routes.
func start(t *testing.T, f Flavor, o Options) *bench {
	t.Helper()
	b := open(t, f, o)
	b.ok(b.Start(b.ctx))
	return b
}

func (b *bench) ok(errs ...error) {
	b.t.Helper()
	if err := errors.Join(errs...); err != nil {
		b.t.Fatal(err)
	}
}

// shuns has all resources say that a node is NotReady, and waits until birdconfd of another
// one has heard of it.
func (b *bench) shuns(n, peer *Node) {
	b.t.Helper()
	heard := func() int { return strings.Count(n.BirdconfdLog(), "Node/"+peer.Name+" changed") }
	before := heard()
	b.ok(b.SetReady(peer, "False"))
	b.until(15*time.Second, n.Name+" has heard of it", func() error {
		if heard() == before {
			return errors.New("it has not")
		}
		return nil
	})
}

// calm wants birdconfd to make pauses between attempts while BIRD is not there.
func (b *bench) calm() {
	for _, n := range b.Nodes {
		if attempts := strings.Count(n.BirdconfdLog(), "BIRD does not use them yet"); attempts > 100 {
			b.t.Errorf("birdconfd on %s has tried %d times to have BIRD load its files", n.Name, attempts)
		}
	}
}

// show logs what the nodes have to tell about a failure.
func (b *bench) show() {
	for _, n := range b.Nodes {
		for what, text := range map[string]string{"BIRD": n.BIRDLog(), "birdconfd": n.BirdconfdLog()} {
			lines := strings.Split(text, "\n")
			b.t.Logf("the end of the log of %s on %s:\n%s", what, n.Name, strings.Join(lines[max(0, len(lines)-40):], "\n"))
		}
		for _, c := range n.Changes(time.Time{}) {
			b.t.Logf("kernel of %s: %s", n.Name, c)
		}
	}
}

// until waits for something that should happen within a time.
func (b *bench) until(limit time.Duration, what string, missing func() error) {
	b.t.Helper()
	b.ok(Until(b.ctx, limit, what, missing))
}

// returns gives a node its power back, and returns when its BIRD started.
func (b *bench) returns(n *Node) time.Time {
	b.t.Helper()
	begin := time.Now()
	b.ok(n.PowerOn())
	return b.started(n, begin)
}

// crashes kills a node's BIRD and returns when it was started anew.
func (b *bench) crashes(n *Node) time.Time {
	b.t.Helper()
	begin := time.Now()
	b.ok(n.CrashBIRD())
	return b.started(n, begin)
}

func (b *bench) started(n *Node, after time.Time) time.Time {
	b.t.Helper()
	at, err := n.AwaitBIRD(b.ctx, after)
	b.ok(err)
	return at
}

// routed waits until a node has routes to others, and returns how long after its BIRD's start
// it got the first and the last of them.
func (b *bench) routed(n *Node, limit time.Duration, birdStart time.Time, to ...*Node) (first, last time.Duration) {
	b.t.Helper()
	at, err := n.AwaitRoutes(b.ctx, limit+patience, birdStart, to...)
	b.ok(err)
	c, _ := n.FirstRoute(birdStart)
	first, last = c.At.Sub(birdStart), at.Sub(birdStart)
	b.t.Logf("%s: routes %.1f to %.1f s after BIRD's start", n.Name, first.Seconds(), last.Seconds())
	if last > limit {
		b.t.Errorf("%s has all routes only after %s, want at most %s", n.Name, last, limit)
	}
	b.settles(n, to...)
	return first, last
}

// settles asks BIRD and the kernel itself whether all is well.
func (b *bench) settles(n *Node, peers ...*Node) {
	b.t.Helper()
	b.until(patience, n.Name+" is well", func() error { return n.settled(b.ctx, peers) })
}

// patience is how much longer than it may take something is waited for, to tell late from
// never.
const patience = 10 * time.Second
