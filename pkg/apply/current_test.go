package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// inspected looks at the files of the tests' target.
func inspected(t *testing.T, dir string) InPlace {
	t.Helper()
	p, err := Inspect(dir, "", "bird.cfg")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// vouched tells whether a BIRD may start with what is there.
func vouched(t *testing.T, dir string, want bool) {
	t.Helper()
	p := inspected(t, dir)
	if p.Current != want || want != (p.Why == "") || want && !(p.Whole && p.Held) {
		t.Errorf("current is %t, want %t: %+v", p.Current, want, p)
	}
}

// down is a daemon with a control socket that can be down.
type down struct {
	fake
	down bool
}

func (d *down) reach(context.Context) error {
	if d.down {
		return fmt.Errorf("connect: %w", bird.ErrNotRunning)
	}
	return nil
}

func (d *down) Reload(ctx context.Context, main string) (Verdict, error) {
	if err := d.reach(ctx); err != nil {
		return Verdict{}, err
	}
	return d.fake.Reload(ctx, main)
}

func (d *down) Runs(ctx context.Context, instance string, watched bool) (bool, error) {
	if err := d.reach(ctx); err != nil {
		return false, err
	}
	return d.fake.Runs(ctx, instance, watched)
}

// What was made sure of while BIRD ran is nothing to start with: when it has ended that has
// to be made sure of again, even if nothing changes.
func TestVouchesForAStartOnly(t *testing.T) {
	dir, d := t.TempDir(), &down{down: true}
	if p := inspected(t, dir); p.Target != "" || p.Current || !strings.Contains(p.Why, filepath.Join(dir, ".birdconfd")) {
		t.Errorf("before anything is there: %+v", p)
	}
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: d})
	vouched(t, dir, false)
	want(t, a, set("1", "a"), Placed, bird.ErrNotRunning.Error())
	vouched(t, dir, true)

	d.down = false
	want(t, a, set("1", "a"), Applied, "")
	vouched(t, dir, false)
	want(t, a, set("2", "a"), Applied, "")
	vouched(t, dir, false)

	d.down = true
	vouched(t, dir, false) // nobody has noticed so far
	want(t, a, set("2", "a"), Unchanged, "")
	vouched(t, dir, true)
	a.Suspect()
	want(t, a, set("2", "a"), Placed, bird.ErrNotRunning.Error())
	vouched(t, dir, true)
	want(t, a, set("1", "a"), Placed, bird.ErrNotRunning.Error())
	vouched(t, dir, true)

	// A set for a running BIRD is nothing to start with.
	a.Under(Conditions{Running: true})
	vouched(t, dir, false)
	want(t, a, set("1", "a"), Placed, bird.ErrNotRunning.Error())
	vouched(t, dir, false)
	a.Under(Conditions{})
	want(t, a, set("1", "a"), Placed, bird.ErrNotRunning.Error())
	vouched(t, dir, true)

	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if p := inspected(t, dir); p.Held || p.Current || !p.Whole {
		t.Errorf("after the end: %+v", p)
	}
	// A newer process has not made sure of anything until it has.
	a = opened(t, a.target)
	if p := inspected(t, dir); !p.Held || p.Current || !p.Whole {
		t.Errorf("before the first set: %+v", p)
	}
	want(t, a, set("1", "a"), Placed, bird.ErrNotRunning.Error())
	vouched(t, dir, true)
}

// Where nobody can tell whether a daemon runs, what is in place is what to start with.
func TestVouchesWithoutASocket(t *testing.T) {
	for name, r := range map[string]Reloader{"no reload": nil, "a reload that cannot be asked": &fake{}} {
		dir := t.TempDir()
		a := opened(t, Target{Name: name, Dir: dir, Reloader: r})
		want(t, a, set("1", "a"), Applied, "")
		vouched(t, dir, true)
		a = reopened(t, a)
		vouched(t, dir, false)
		want(t, a, set("1", "a"), Unchanged, "")
		vouched(t, dir, true)
	}
}

// A set that is refused leaves the one before, which is the best there is.
func TestVouchesForWhatARefusalLeaves(t *testing.T) {
	dir, d := t.TempDir(), &down{}
	var check error
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: d, Check: func(context.Context, string) error { return check }})
	d.answers = []error{refused}
	want(t, a, set("0", "a"), RolledBack, "no")
	if p := inspected(t, dir); p.Target != "" {
		t.Errorf("nothing was there and nothing is: %+v", p)
	}
	want(t, a, set("1", "a"), Applied, "")
	d.answers = []error{refused}
	want(t, a, set("2", "a"), RolledBack, "no")
	vouched(t, dir, false) // BIRD runs
	check, d.down = errors.New("parse error"), true
	want(t, a, set("3", "a"), Rejected, "parse error")
	vouched(t, dir, true)
	a = reopened(t, a)
	vouched(t, dir, false)
	want(t, a, set("3", "a"), Rejected, "parse error")
	vouched(t, dir, true)
	hasFiles(t, dir, map[string]string{"bird.cfg": "1", "bird_ipam.cfg": "a"})
}

// What could not be written leaves things as they were, and proves nothing.
func TestVouchesForNothingNewAfterAFailedWrite(t *testing.T) {
	dir := t.TempDir()
	target := Target{Name: "bird", Dir: dir, Reloader: &down{down: true}}
	a := opened(t, target)
	want(t, a, set("1", "a"), Placed, bird.ErrNotRunning.Error())
	blocked := append(set("2", "a"), File{Name: "blocked/x.cfg"})
	want(t, a, blocked, Rejected, "blocked")
	vouched(t, dir, true)
	a = reopened(t, a)
	want(t, a, blocked, Rejected, "blocked")
	vouched(t, dir, false)
}

// A context that ends before anything is done proves nothing either.
func TestVouchesForNothingNewAfterTheEnd(t *testing.T) {
	dir := t.TempDir()
	a := opened(t, Target{Name: "bird", Dir: dir})
	want(t, a, set("1", "a"), Applied, "")
	a = reopened(t, a)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Apply(ctx, set("2", "a")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	vouched(t, dir, false)
}

// At each step of a transaction, whatever is vouched for is a whole set and none that was
// refused, and BIRD is not known to run.
func TestVouchesForWholeSetsAtEachStep(t *testing.T) {
	binary := birdtest.Bird(t)
	d := birdtest.Start(t, binary, "router id 192.0.2.1;\nprotocol device {}\n")
	dir := t.TempDir()
	target := crash{Dir: dir, Socket: d.Socket, Binary: binary, Unchecked: true}.target()
	newest, steps, current := 0, 0, 0
	a, err := open(target, func(step string) {
		steps++
		p := inspected(t, dir)
		if !p.Current {
			return
		}
		current++
		for _, f := range numbered(newest) {
			if data, err := os.ReadFile(filepath.Join(dir, f.Name)); err != nil || string(data) != string(f.Data) {
				t.Errorf("before %q: %s is not that of set %d, %v", step, f.Name, newest, err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	d.Stop()
	for i := range 3 {
		a.Under(Conditions{Running: true}) // what was in place before the newest set is not to be started with
		newest = i
		want(t, a, numbered(max(i-1, 0)), Placed, bird.ErrNotRunning.Error())
		a.Under(Conditions{})
		want(t, a, numbered(i), Placed, bird.ErrNotRunning.Error())
		vouched(t, dir, true)
	}
	d.Restart()
	want(t, a, numbered(2), Applied, "")
	current = 0
	want(t, a, numbered(badSet), RolledBack, "syntax error")
	if current > 0 {
		t.Error("a set was vouched for while BIRD ran")
	}
	vouched(t, dir, false)
	d.Stop()
	want(t, a, numbered(2), Unchanged, "")
	vouched(t, dir, true)
	if steps < 30 {
		t.Errorf("there were only %d steps", steps)
	}
}

// Killed before any step, a process vouches for nothing, and neither does the next one until
// it has made sure of a set.
func TestKilledAtEachStepWithoutADaemon(t *testing.T) {
	c := crash{Binary: birdtest.Bird(t), Socket: filepath.Join(t.TempDir(), "s"), Set: 2}
	for killed := true; killed; c.At++ {
		c.Dir = t.TempDir()
		first := c
		first.Set, first.At = 1, -1
		crashed(t, first)
		killed = crashed(t, c)
		vouched(t, c.Dir, false)
		a := opened(t, c.target())
		vouched(t, c.Dir, false)
		want(t, a, numbered(2), Placed, bird.ErrNotRunning.Error())
		vouched(t, c.Dir, true)
		wholeSet(t, c.Binary, c.Dir)
		if left, _ := filepath.Glob(filepath.Join(a.state, "."+currentName+"*")); len(left) > 0 {
			t.Errorf("step %d: left behind: %v", c.At, left)
		}
		a.Close()
	}
	if c.At < 12 {
		t.Errorf("there were only %d steps", c.At)
	}
}
