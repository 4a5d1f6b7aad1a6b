package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/test/shared"
)

// absent is a daemon that refuses, and can be down.
type absent struct {
	fake
	down bool
}

var errDown = fmt.Errorf("dial: %w", bird.ErrNotRunning)

func (f *absent) reach(context.Context) error {
	if f.down {
		return errDown
	}
	return nil
}

func (f *absent) Reload(ctx context.Context, main string) (Verdict, error) {
	if f.down {
		return Verdict{}, errDown
	}
	return f.fake.Reload(ctx, main)
}

// A daemon that is started again must not find what it has refused.
func TestRefusedSetIsNotPlacedWhileTheDaemonIsDown(t *testing.T) {
	for name, refusal := range map[string]error{"refused": refused, "a trial that failed": &CollapsedError{Lost: []string{"tor"}, Before: 1}} {
		t.Run(name, func(t *testing.T) {
			dir, f := t.TempDir(), &absent{fake: fake{answers: []error{nil, refusal}}}
			old := map[string]string{"bird.cfg": "1", "bird_ipam.cfg": "a"}
			a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f})
			want(t, a, set("1", "a"), Applied, "")
			want(t, a, set("2", "b"), RolledBack, refusal.Error())
			f.down = true
			want(t, a, set("2", "b"), Rejected, "these files were refused before")
			a = reopened(t, a)
			want(t, a, set("2", "b"), Rejected, "these files were refused before")
			hasFiles(t, dir, old)
			// It goes down between being asked and being told.
			f.down, f.answers = false, []error{errDown, errDown}
			want(t, a, set("2", "b"), RolledBack, bird.ErrNotRunning.Error())
			hasFiles(t, dir, old)
			// A set that nobody has refused is in place for the daemon to start with.
			f.down = true
			want(t, a, set("3", "c"), Placed, bird.ErrNotRunning.Error())
			hasFiles(t, dir, map[string]string{"bird.cfg": "3", "bird_ipam.cfg": "c"})
			f.down, f.answers = false, nil
			want(t, a, set("3", "c"), Applied, "")
			want(t, a, set("2", "b"), Applied, "")
		})
	}
}

// A set whose trial has failed is known as such, also after a restart, until another was
// applied.
func TestUndoneSetIsKnown(t *testing.T) {
	f := &fake{}
	a := opened(t, Target{Name: "bird", Dir: t.TempDir(), Reloader: f})
	want(t, a, set("1", "a"), Applied, "")
	f.answers = []error{&CollapsedError{Lost: []string{"tor"}, Before: 1}}
	want(t, a, set("2", "b"), RolledBack, "did not come back")
	a = reopened(t, a)
	if _, err := a.Maintain(t.Context()); err != nil {
		t.Error(err)
	}
	a.Distrust()
	if _, err := a.Maintain(t.Context()); err != nil {
		t.Error(err)
	}
	if !a.Undone(set("2", "b")) || a.Undone(set("1", "a")) {
		t.Error("it is not known which set was undone")
	}
	want(t, a, set("3", "c"), Applied, "")
	if a.Undone(set("2", "b")) {
		t.Error("things have moved on")
	}
}

// Whoever removes the state directory does not let another process in.
func TestLockComesBack(t *testing.T) {
	f := &fake{answers: []error{nil, refused}}
	target := Target{Name: "bird", Dir: t.TempDir(), Reloader: f}
	a := opened(t, target)
	want(t, a, set("1", "a"), Applied, "")
	if err := os.RemoveAll(filepath.Join(target.Dir, ".birdconfd")); err != nil {
		t.Fatal(err)
	}
	want(t, a, set("1", "a"), Unchanged, "")
	if _, err := Open(target); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v", err)
	}
	want(t, a, set("2", "b"), RolledBack, "no") // with what was copied once more
	hasFiles(t, target.Dir, map[string]string{"bird.cfg": "1", "bird_ipam.cfg": "a"})
}

// Going back is going back to mode and owner too: a daemon that is not root may need them.
func TestGoingBackRestoresModeAndOwner(t *testing.T) {
	shared.NeedRoot(t, "to give files away")
	dir := t.TempDir()
	main := filepath.Join(dir, "bird.cfg")
	writeFile(t, main, "1", 0o644)
	writeFile(t, filepath.Join(dir, "bird_ipam.cfg"), "a", 0o644)
	if err := os.Chown(main, 12, 34); err != nil {
		t.Fatal(err)
	}
	f := &fake{answers: []error{nil, refused}}
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f})
	want(t, a, set("1", "a"), Applied, "")
	secret := set("password", "a")
	secret[0].Secret = true
	want(t, a, secret, RolledBack, "no")
	if got := accessText(t, main); got != "0644 12:34" {
		t.Errorf("after going back it has %s", got)
	}
}

// What is kept to go back to survives a check that fails for the very same set.
func TestCopyToGoBackToIsKept(t *testing.T) {
	dir, f := t.TempDir(), &fake{}
	var bad error
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f, Check: func(context.Context, string) error { return bad }})
	want(t, a, set("1", "a"), Applied, "")
	writeFile(t, filepath.Join(dir, "bird.cfg"), "by hand", 0o644)
	bad = errors.New("the program is being replaced")
	want(t, a, set("1", "a"), Rejected, "being replaced")
	bad, f.answers = nil, []error{refused}
	want(t, a, set("2", "b"), RolledBack, "no")
	hasFiles(t, dir, map[string]string{"bird.cfg": "1", "bird_ipam.cfg": "a"})
}

// Without a record nobody knows which of the old files hold a password.
func TestGoingBackNeverWidensOldFiles(t *testing.T) {
	dir, f := t.TempDir(), &fake{}
	main := filepath.Join(dir, "bird.cfg")
	writeFile(t, main, "password", 0o640)
	f.answers = []error{refused}
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f, Mode: 0o644})
	want(t, a, set("2", "b"), RolledBack, "no")
	if got := modeOf(t, main).Perm(); got != 0o640 || files(t, dir)["bird.cfg"] != "password" {
		t.Errorf("mode %v", got)
	}
}

// A mounted file gets wider only when the password is out of it.
func TestMountedFileIsWidenedLast(t *testing.T) {
	shared.NeedRoot(t, "to mount a file")
	dir := t.TempDir()
	host, path := filepath.Join(t.TempDir(), "host.cfg"), filepath.Join(dir, "bird.cfg")
	writeFile(t, host, "password", 0o600)
	writeFile(t, path, "", 0o600)
	if err := syscall.Mount(host, path, "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
	target := Target{Name: "bird", Dir: dir, Mode: 0o644}
	changes, err := target.plan([]File{{Name: "bird.cfg", Data: make([]byte, 3000)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	small := limit
	small.Cur = 2000
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	_, err = commit(changes, func(string) {})
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if err == nil || modeOf(t, host).Perm() != 0o600 || files(t, dir)["bird.cfg"] != "password" {
		t.Errorf("%v; mode %v, content %q", err, modeOf(t, host), files(t, dir)["bird.cfg"])
	}
}

// Maintain looks after what was applied, whatever became of newer sets.
func TestMaintain(t *testing.T) {
	dir, f := t.TempDir(), &fake{}
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f})
	if res, err := a.Maintain(t.Context()); err != nil || res.Outcome != Unchanged {
		t.Errorf("before anything was applied: %+v, %v", res, err)
	}
	want(t, a, set("1", "a"), Applied, "")
	f.answers = []error{refused}
	want(t, a, set("2", "b"), RolledBack, "no")
	writeFile(t, filepath.Join(dir, "bird.cfg"), "by hand", 0o644)
	if res, err := a.Maintain(t.Context()); err != nil || res.Outcome != Applied {
		t.Errorf("%+v, %v", res, err)
	}
	hasFiles(t, dir, map[string]string{"bird.cfg": "1", "bird_ipam.cfg": "a"})
	if res, err := a.Maintain(t.Context()); err != nil || res.Outcome != Unchanged {
		t.Errorf("%+v, %v", res, err)
	}
}
