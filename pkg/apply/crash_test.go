package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// crash tells the test's program, started once more, to apply a set and be killed.
type crash struct {
	Dir, Socket, Binary string
	// Set is the number of the set to apply.
	Set int
	// At is the number of the step before which it is killed; it counts from 0.
	At int
	// Unchecked leaves the check out, so that the daemon gets what it refuses.
	Unchecked bool
}

const crashVariable = "BIRDCONFD_TEST_CRASH"

func TestMain(m *testing.M) {
	if text := os.Getenv(crashVariable); text != "" {
		var c crash
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			panic(err)
		}
		c.run()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// run applies the set and dies before a step. Without that many steps it exits with 0.
func (c crash) run() {
	step := 0
	a, err := open(c.target(), func(string) {
		if step == c.At {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // it takes a moment
		}
		step++
	})
	if err != nil {
		panic(err)
	}
	_, _ = a.Apply(context.Background(), numbered(c.Set)) // what becomes of it is looked at later
	a.Close()
}

func (c crash) target() Target {
	t := Target{Name: "bird", Dir: c.Dir, Check: bird.Checker{Binary: c.Binary}.Check,
		Reloader: &SocketReloader{Client: bird.Client{Socket: c.Socket}}}
	if c.Unchecked {
		t.Check = nil
	}
	return t
}

// badSet is the number of a set that BIRD refuses.
const badSet = 9

// numbered makes a set whose number shows in the running daemon: main file and included
// file each define a protocol with the number in its name, and BIRD takes them only if
// both have the same, since the one names a table that the other defines.
func numbered(n int) []File {
	main := fmt.Sprintf("include \"bird_ipam.cfg\";\nrouter id 192.0.2.1;\nprotocol device {}\nprotocol static main_%d { table t%d; }\n", n, n)
	if n == badSet {
		main += "protocol nonsense {}\n"
	}
	return []File{{Name: "bird.cfg", Data: []byte(main)},
		{Name: "bird_ipam.cfg", Data: fmt.Appendf(nil, "table t%d;\nprotocol static pools_%d { table t%d; }\n", n, n, n)}}
}

// running lists the static protocols that the daemon runs.
func running(t *testing.T, socket string) string {
	t.Helper()
	conn, err := bird.Client{Socket: socket}.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	protocols, err := conn.Protocols(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range protocols {
		if p.Proto == "Static" {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// runs tells that files and daemon have one whole set.
func runs(t *testing.T, dir, socket string, n int) {
	t.Helper()
	want := map[string]string{}
	for _, f := range numbered(n) {
		want[f.Name] = string(f.Data)
	}
	hasFiles(t, dir, want)
	if got, want := running(t, socket), fmt.Sprintf("main_%d pools_%d", n, n); got != want {
		t.Errorf("the daemon runs %q, want %q", got, want)
	}
}

// TestKilledAtEachStep kills the process before each step of a transaction. Before anything
// else is done a daemon that starts must find one whole set, as soon as we have started
// again; and the next Apply must bring the newest to files and daemon.
func TestKilledAtEachStep(t *testing.T) {
	steps := killedAtEachStep(t, crash{Set: 2}, func(c crash) { wholeSet(t, c.Binary, c.Dir) })
	if steps < 8 {
		t.Errorf("there were only %d steps", steps)
	}
}

// The same while going back from a set that the daemon has refused.
func TestKilledAtEachStepOfGoingBack(t *testing.T) {
	steps := killedAtEachStep(t, crash{Set: badSet, Unchecked: true}, func(crash) {})
	if steps < 12 {
		t.Errorf("there were only %d steps", steps)
	}
}

// killedAtEachStep returns how many steps there were. look is called when the process has
// started again.
func killedAtEachStep(t *testing.T, c crash, look func(crash)) int {
	t.Helper()
	c.Binary = birdtest.Bird(t)
	d := birdtest.Start(t, c.Binary, "router id 192.0.2.1;\nprotocol device {}\n")
	c.Socket = d.Socket
	for c.At = 0; ; c.At++ {
		c.Dir = t.TempDir()
		first := c
		first.Set, first.At = 1, -1
		crashed(t, first)
		runs(t, c.Dir, d.Socket, 1)

		if !crashed(t, c) {
			end := c.Set
			if end == badSet {
				end = 1
			}
			runs(t, c.Dir, d.Socket, end)
			return c.At
		}
		vouched(t, c.Dir, false) // nothing outlives the process
		a := opened(t, c.target())
		vouched(t, c.Dir, false)
		look(c)
		if n := stagedSets(t, a); n > 2 {
			t.Errorf("step %d: %d sets are kept", c.At, n)
		}
		next := 3 // a newer one, or what was under way
		if c.At%2 == 0 && c.Set != badSet {
			next = c.Set
		}
		id, _ := a.Last()
		recorded := id == a.Fingerprint(numbered(next)) // then the daemon may be known to use it
		if res, err := a.Apply(t.Context(), numbered(next)); err != nil || res.Outcome != Applied && !(recorded && res.Outcome == Unchanged) {
			t.Errorf("step %d: %s, %v", c.At, res.Outcome, err)
		}
		runs(t, c.Dir, d.Socket, next)
		want(t, a, numbered(next), Unchanged, "")
		a.Close()
	}
}

// wholeSet has BIRD judge what a daemon would find that starts now.
func wholeSet(t *testing.T, binary, dir string) {
	t.Helper()
	if err := (bird.Checker{Binary: binary}).Check(t.Context(), filepath.Join(dir, "bird.cfg")); err != nil {
		t.Errorf("a daemon that starts now finds half a set: %v", err)
	}
}

// crashed starts the process that is to be killed and tells whether it was.
func crashed(t *testing.T, c crash) bool {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), crashVariable+"="+string(text))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGKILL || ctx.Err() != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return true
}
