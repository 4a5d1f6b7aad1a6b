package apply

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// maintained calls Maintain, which must work.
func maintained(t *testing.T, a *Applier) Result {
	t.Helper()
	res, err := a.Maintain(t.Context())
	if err != nil {
		t.Error(err)
	}
	return res
}

var collapsed = &CollapsedError{Lost: []string{"tor"}, Before: 1}

// A daemon that runs something else is not forgotten because it does not answer at first.
func TestSuspicionLastsUntilTheDaemonWasTold(t *testing.T) {
	f := &fake{}
	a := opened(t, Target{Name: "bird", Dir: t.TempDir(), Reloader: f})
	want(t, a, set("1", "a"), Applied, "")
	f.instance = "somebody else's"
	a.Suspect()
	f.answers = []error{errors.New("timeout")}
	want(t, a, set("1", "a"), Placed, "timeout")
	want(t, a, set("1", "a"), Applied, "")
}

// An included file that was there before us is no configuration.
func TestMaintainLoadsNoIncludedFile(t *testing.T) {
	dir, f := t.TempDir(), &fake{answers: []error{refused}}
	writeFile(t, filepath.Join(dir, "bird_ipam.cfg"), "included only", 0o644)
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f})
	want(t, a, set("1", "a"), RolledBack, "no")
	maintained(t, a)
	if len(f.reloads) != 1 {
		t.Errorf("reloads %q", f.reloads)
	}
	hasFiles(t, dir, map[string]string{"bird_ipam.cfg": "included only"})
}

func TestMaintainMakesTheStateDirectoryAnew(t *testing.T) {
	dir, f := t.TempDir(), &fake{answers: []error{nil, collapsed}}
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f})
	want(t, a, set("1", "a"), Applied, "")
	want(t, a, set("2", "a"), RolledBack, "did not come back")
	if err := os.RemoveAll(a.state); err != nil {
		t.Fatal(err)
	}
	maintained(t, a)
	writeFile(t, filepath.Join(dir, "bird.cfg"), "by hand", 0o644)
	maintained(t, a)
	hasFiles(t, dir, map[string]string{"bird.cfg": "1", "bird_ipam.cfg": "a"})
}

// errCrash ends a transaction as a crash does, without what comes after.
var errCrash = errors.New("crash")

// The process is killed when it has put the files back, but not recorded that.
func TestMaintainAfterACrashWhileGoingBack(t *testing.T) {
	dir, f := t.TempDir(), &fake{answers: []error{nil, collapsed}}
	crash := false
	a, err := open(Target{Name: "bird", Dir: dir, Reloader: f}, func(step string) {
		if crash && step == "record restored" {
			panic(errCrash)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want(t, a, set("1", "a"), Applied, "")
	crash = true
	func() {
		defer func() {
			if recover() != errCrash {
				t.Error("it did not come that far")
			}
		}()
		_, _ = a.Apply(t.Context(), set("2", "a"))
	}()
	a = reopened(t, a)
	maintained(t, a)
	hasFiles(t, dir, map[string]string{"bird.cfg": "1", "bird_ipam.cfg": "a"})
	if got := f.reloads[len(f.reloads)-1]; got != "1" || !a.Undone(set("2", "a")) {
		t.Errorf("the daemon was told to load %q", got)
	}
}

// What was there before us keeps its mode, whatever is configured.
func TestMaintainWidensNoOldFile(t *testing.T) {
	dir, f := t.TempDir(), &fake{answers: []error{refused}}
	main := filepath.Join(dir, "bird.cfg")
	writeFile(t, main, "password", 0o600)
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f, Mode: 0o644})
	want(t, a, set("1", "a"), RolledBack, "no")
	maintained(t, a)
	if got := modeOf(t, main).Perm(); got != 0o600 {
		t.Errorf("mode %v", got)
	}
}

// slow is a daemon whose trials last until they are stopped.
type slow struct{ fake }

func (f *slow) reloadForGood(ctx context.Context, main string) (Verdict, error) {
	return f.Reload(ctx, main)
}

func (f *slow) reloadKeeping(ctx context.Context, main string, _ []string, begin func([]string), stop <-chan struct{}) (Verdict, error) {
	begin([]string{"tor"})
	if len(f.reloads) == 0 {
		return f.Reload(ctx, main)
	}
	<-stop
	return Verdict{}, collapsed
}

// The end of the process in the middle of a trial says nothing about the set.
func TestTrialThatIsCutShortIsNoVerdict(t *testing.T) {
	f := &slow{}
	a := opened(t, Target{Name: "bird", Dir: t.TempDir(), Reloader: f})
	want(t, a, set("1", "a"), Applied, "")
	ctx, cancel := context.WithCancel(t.Context())
	a.step = func(step string) {
		if step == "reload" {
			cancel()
		}
	}
	if res, err := a.Apply(ctx, set("2", "a")); res.Outcome != RolledBack || err == nil {
		t.Errorf("%+v, %v", res, err)
	}
	a = reopened(t, a)
	if a.Undone(set("2", "a")) {
		t.Error("it will never be tried again")
	}
}
