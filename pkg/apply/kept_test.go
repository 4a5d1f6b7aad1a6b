package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Somebody who is to find out what BIRD did not like needs to see it.
func TestRefusedSetIsKeptForPeople(t *testing.T) {
	bad := errors.New("parse error")
	a := opened(t, Target{Name: "bird", Dir: t.TempDir(), Check: func(context.Context, string) error { return bad }})
	res := want(t, a, set("1", "a"), Rejected, "parse error")
	if got := files(t, res.Kept); got["bird.cfg"] != "1" || modeOf(t, res.Kept).Perm() != 0o700 {
		t.Errorf("%s has %v", res.Kept, got)
	}
	res = want(t, a, set("2", "a"), Rejected, "parse error")
	if got := files(t, res.Kept); got["bird.cfg"] != "2" {
		t.Errorf("%s has %v", res.Kept, got)
	}
	bad = nil
	want(t, a, set("3", "a"), Applied, "")
	if _, err := os.Stat(res.Kept); err == nil {
		t.Errorf("%s is left", res.Kept)
	}
}

func TestDirectoriesThatVanishAreMadeAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etc")
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: &fake{}})
	want(t, a, set("1", "a"), Applied, "")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	want(t, a, set("1", "a"), Applied, "")
	hasFiles(t, dir, map[string]string{"bird.cfg": "1", "bird_ipam.cfg": "a"})
}

func TestLockTellsWhoHasIt(t *testing.T) {
	target := Target{Name: "bird", Dir: t.TempDir()}
	a := opened(t, target)
	_, err := Open(target)
	if text := fmt.Sprintf("process %d has locked %s/lock", os.Getpid(), a.state); err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want one with %q", err, text)
	}
}

// trying is a daemon that puts configurations on trial.
type trying struct {
	fake
	up    []string // the sessions that are up
	asked [][]string
}

func (f *trying) reloadForGood(ctx context.Context, main string) (Verdict, error) {
	return f.Reload(ctx, main)
}

func (f *trying) reloadKeeping(ctx context.Context, main string, keep []string, begin func([]string), _ <-chan struct{}) (Verdict, error) {
	f.asked = append(f.asked, keep)
	begin(append(keep, f.up...))
	return f.Reload(ctx, main)
}

// A session that a trial has cost is not taken for one that was down before.
func TestFailedTrialIsRemembered(t *testing.T) {
	f := &trying{up: []string{"tor"}}
	a := opened(t, Target{Name: "bird", Dir: t.TempDir(), Reloader: f})
	want(t, a, set("1", ""), Applied, "")
	f.answers = []error{&CollapsedError{Lost: []string{"tor"}, Before: 1}}
	want(t, a, set("2", ""), RolledBack, "did not come back")
	f.up = nil
	a = reopened(t, a)
	want(t, a, set("3", ""), Applied, "")
	want(t, a, set("4", ""), Applied, "")
	if diff := cmp.Diff([][]string{nil, nil, {"tor"}, nil}, f.asked); diff != "" {
		t.Errorf("sessions that must come back (-want +got):\n%s", diff)
	}
}
