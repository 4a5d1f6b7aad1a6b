package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

func TestApplyPlacesAndReloadsOnce(t *testing.T) {
	dir, f := t.TempDir(), &fake{}
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f})
	res := want(t, a, set("main 1", "pools 1"), Applied, "")
	hasFiles(t, dir, map[string]string{"bird.cfg": "main 1", "bird_ipam.cfg": "pools 1"})
	if diff := cmp.Diff([]string{filepath.Join(dir, "bird_ipam.cfg"), filepath.Join(dir, "bird.cfg")}, res.Changed); diff != "" {
		t.Errorf("included files come first (-want +got):\n%s", diff)
	}
	if res.Desired == "" || res.Desired != res.Applied || !res.Verdict.Confirmed {
		t.Errorf("result %+v", res)
	}
	// The same again is nothing at all.
	want(t, a, set("main 1", "pools 1"), Unchanged, "")
	// One file changes: one reload.
	res = want(t, a, set("main 1", "pools 2"), Applied, "")
	if len(res.Changed) != 1 || len(f.reloads) != 2 {
		t.Errorf("changed %v, reloads %q", res.Changed, f.reloads)
	}
	if n := stagedSets(t, a); n != 1 {
		t.Errorf("%d sets are kept, want only what is applied", n)
	}
}

// R3: the file is new, the reload failed, and nothing else changes.
func TestR3FailedReloadStaysPending(t *testing.T) {
	f := &fake{answers: []error{errors.New("no answer"), fmt.Errorf("connect: %w", bird.ErrNotRunning)}}
	a := opened(t, Target{Name: "bird", Dir: t.TempDir(), Reloader: f})
	want(t, a, set("1", ""), Placed, "reload: no answer")
	want(t, a, set("1", ""), Placed, bird.ErrNotRunning.Error())
	res := want(t, a, set("1", ""), Applied, "")
	if len(res.Changed) != 0 || len(f.reloads) != 3 {
		t.Errorf("changed %v, reloads %q", res.Changed, f.reloads)
	}
}

// A newer set takes the place of one that was never confirmed, and what is gone back to is
// the last that was.
func TestRefusalGoesBackToWhatWasAppliedLast(t *testing.T) {
	f := &fake{answers: []error{nil, errors.New("no answer"), refused}}
	dir := t.TempDir()
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f})
	first := want(t, a, set("1", "a"), Applied, "")
	want(t, a, set("2", "b"), Placed, "no answer")
	res := want(t, a, set("3", "c"), RolledBack, "bird.cfg:1:1 no")
	hasFiles(t, dir, map[string]string{"bird.cfg": "1", "bird_ipam.cfg": "a"})
	if res.Applied != first.Applied || res.Desired == res.Applied {
		t.Errorf("applied %s, desired %s, want the first set applied, %s", res.Applied, res.Desired, first.Applied)
	}
	if diff := cmp.Diff([]string{"1", "2", "3", "1"}, f.reloads); diff != "" {
		t.Errorf("reloads (-want +got):\n%s", diff)
	}
	// The refused set is tried again when asked to, and this time taken.
	want(t, a, set("3", "c"), Applied, "")
	hasFiles(t, dir, map[string]string{"bird.cfg": "3", "bird_ipam.cfg": "c"})
}

// F1, C3: nothing was there before, and nothing is there after a refusal.
func TestF1RefusalOfTheFirstSetLeavesNothing(t *testing.T) {
	dir, f := t.TempDir(), &fake{answers: []error{refused}}
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f})
	want(t, a, set("1", "a"), RolledBack, "no")
	hasFiles(t, dir, map[string]string{})
	want(t, a, set("1", "a"), Applied, "")
}

func TestC3FailedCheckWritesNothing(t *testing.T) {
	dir, f := t.TempDir(), &fake{}
	var seen string
	bad := errors.New("parse error")
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f, Check: func(_ context.Context, main string) error {
		seen = main
		if modeOf(t, main).Perm() != 0o600 || modeOf(t, filepath.Dir(main)).Perm() != 0o700 {
			t.Error("others can read what is staged")
		}
		return bad
	}})
	for range 2 {
		want(t, a, set("1", "a"), Rejected, "check: parse error")
	}
	hasFiles(t, dir, map[string]string{})
	if len(f.reloads) != 0 || stagedSets(t, a) != 0 {
		t.Errorf("%d reloads; %d staged sets are left", len(f.reloads), stagedSets(t, a))
	}
	if _, err := os.Stat(seen); err == nil {
		t.Errorf("%s is left", seen)
	}
	bad = nil
	want(t, a, set("1", "a"), Applied, "")
}

// C2: the check sees the new main file with the new include, never a mix.
func TestC2CheckSeesTheWholeNewSet(t *testing.T) {
	dir := t.TempDir()
	check := func(_ context.Context, main string) error {
		m, err1 := os.ReadFile(main)
		i, err2 := os.ReadFile(filepath.Join(filepath.Dir(main), "bird_ipam.cfg"))
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if string(m) != string(i) {
			return fmt.Errorf("%s with %s", m, i)
		}
		return nil
	}
	a := opened(t, Target{Name: "bird", Dir: dir, Check: check})
	want(t, a, set("1", "1"), Applied, "")
	want(t, a, set("2", "2"), Applied, "")
	want(t, a, set("2", "3"), Rejected, "2 with 3")
	hasFiles(t, dir, map[string]string{"bird.cfg": "2", "bird_ipam.cfg": "2"})
}

// R13: the process ended between writing and reloading.
func TestR13RecordOutlivesTheProcess(t *testing.T) {
	f := &fake{answers: []error{errors.New("killed")}}
	a := opened(t, Target{Name: "bird", Dir: t.TempDir(), Reloader: f})
	want(t, a, set("1", ""), Placed, "killed")
	a = reopened(t, a)
	want(t, a, set("1", ""), Applied, "")
	a = reopened(t, a)
	if id, at := a.Last(); id == "" || time.Since(at) > time.Minute {
		t.Errorf("last %q at %s", id, at)
	}
	want(t, a, set("1", ""), Unchanged, "")
	if len(f.reloads) != 2 {
		t.Errorf("reloads %q", f.reloads)
	}
	// The daemon was reloaded or started by somebody else while we were away.
	f.instance = "another"
	a = reopened(t, a)
	want(t, a, set("1", ""), Applied, "")
	// And while we were not.
	f.instance = "yet another"
	want(t, a, set("1", ""), Unchanged, "")
	a.Distrust()
	want(t, a, set("1", ""), Applied, "")
}

// Without a record the files may be right, but nobody knows what the daemon runs.
func TestUnknownStateCostsOneReload(t *testing.T) {
	dir, f := t.TempDir(), &fake{}
	writeFile(t, filepath.Join(dir, "bird.cfg"), "1", 0o640)
	writeFile(t, filepath.Join(dir, "bird_ipam.cfg"), "a", 0o640)
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f})
	if res := want(t, a, set("1", "a"), Applied, ""); len(res.Changed) != 0 || len(f.reloads) != 1 {
		t.Errorf("changed %v, reloads %q", res.Changed, f.reloads)
	}
	if err := os.WriteFile(filepath.Join(a.state, recordName), []byte(`{"phase":`), 0o600); err != nil {
		t.Fatal(err)
	}
	a = reopened(t, a)
	want(t, a, set("1", "a"), Applied, "")
	want(t, a, set("1", "a"), Unchanged, "")
}

// What somebody has edited by hand is put right.
func TestEditsByHandArePutRight(t *testing.T) {
	dir, f := t.TempDir(), &fake{}
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f})
	want(t, a, set("1", "a"), Applied, "")
	writeFile(t, filepath.Join(dir, "bird.cfg"), "by hand", 0o644)
	want(t, a, set("1", "a"), Applied, "")
	hasFiles(t, dir, map[string]string{"bird.cfg": "1", "bird_ipam.cfg": "a"})
}

func TestTwoProcessesCannotHaveOneTarget(t *testing.T) {
	target := Target{Name: "bird", Dir: t.TempDir()}
	opened(t, target)
	if _, err := Open(target); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), target.Dir) {
		t.Errorf("got %v", err)
	}
	target.Name = "bird6"
	opened(t, target)
}

// The context ends: before files are replaced nothing is, and after that all is done.
func TestEndOfTheContext(t *testing.T) {
	dir, f := t.TempDir(), &fake{}
	ctx, cancel := context.WithCancelCause(t.Context())
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f, Check: func(context.Context, string) error { cancel(errors.New("stop")); return nil }})
	if _, err := a.Apply(ctx, set("1", "a")); err == nil || err.Error() != "stop" {
		t.Errorf("got %v", err)
	}
	hasFiles(t, dir, map[string]string{})

	ctx, cancel = context.WithCancelCause(t.Context())
	a.target.Check = nil
	a.step = func(s string) {
		if s == "replace bird.cfg" {
			cancel(errors.New("stop"))
		}
	}
	if res, err := a.Apply(ctx, set("1", "a")); err != nil || res.Outcome != Applied {
		t.Errorf("%+v, %v", res, err)
	}
}

// hanging is a daemon that never answers.
type hanging struct{}

func (hanging) Reload(ctx context.Context, _ string) (Verdict, error) {
	<-ctx.Done()
	return Verdict{}, context.Cause(ctx)
}

func TestReloadEndsSoonAfterTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	a := opened(t, Target{Name: "bird", Dir: t.TempDir(), Reloader: hanging{}, Grace: 50 * time.Millisecond})
	a.step = func(s string) {
		if s == "reload" {
			cancel(errors.New("stop"))
		}
	}
	res, err := a.Apply(ctx, set("1", "a"))
	if res.Outcome != Placed || err == nil || !strings.Contains(err.Error(), "stop") {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestFingerprintIsKeyed(t *testing.T) {
	one, two := opened(t, Target{Name: "a", Dir: t.TempDir()}), opened(t, Target{Name: "a", Dir: t.TempDir()})
	if one.Fingerprint(set("1", "a")) == two.Fingerprint(set("1", "a")) {
		t.Error("two targets give one set the same fingerprint, so that passwords can be tried")
	}
	if one.Fingerprint(set("1", "2")) == one.Fingerprint(set("12", "")) {
		t.Error("two sets have one fingerprint")
	}
}
