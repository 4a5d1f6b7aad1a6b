package apply

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/test/shared"
)

func TestInspectSeesWhatSomebodyElseDid(t *testing.T) {
	dir := t.TempDir()
	a := opened(t, Target{Name: "bird", Dir: dir})
	want(t, a, set("1", "a"), Applied, "")
	vouched(t, dir, true)
	writeFile(t, filepath.Join(dir, "bird_ipam.cfg"), "by hand", 0o644)
	vouched(t, dir, false)
	want(t, a, set("1", "a"), Applied, "")
	vouched(t, dir, true)
	if err := os.Remove(filepath.Join(dir, "bird_ipam.cfg")); err != nil {
		t.Fatal(err)
	}
	vouched(t, dir, false)
	want(t, a, set("1", "a"), Applied, "")
	for _, path := range []string{filepath.Join(a.state, currentName), a.state} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		vouched(t, dir, false)
		want(t, a, set("1", "a"), Unchanged, "")
		vouched(t, dir, true)
	}
}

func TestInspectFindsTheTarget(t *testing.T) {
	state, one, two := t.TempDir(), t.TempDir(), t.TempDir()
	a := opened(t, Target{Name: "a", Dir: one, StateDir: state})
	b := opened(t, Target{Name: "b", Dir: two, StateDir: state})
	want(t, a, set("1", "a"), Applied, "")
	if p, err := Inspect(two, state, "bird.cfg"); err != nil || p.Target != "" {
		t.Errorf("%+v, %v", p, err)
	}
	want(t, b, set("1", "a"), Applied, "")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(two, link); err != nil {
		t.Fatal(err)
	}
	for dir, name := range map[string]string{one: "a", two: "b", link: "b"} {
		if p, err := Inspect(dir, state, "bird.cfg"); err != nil || p.Target != name || !p.Current {
			t.Errorf("%s: %+v, %v", dir, p, err)
		}
	}
	if p, err := Inspect(one, state, "bird_ipam.cfg"); err != nil || p.Target != "" {
		t.Errorf("by an included file: %+v, %v", p, err)
	}
	// The target gets another name; what is left of the old one is in nobody's way.
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(b.state, recordName), "{", 0o600)
	c := opened(t, Target{Name: "c", Dir: two, StateDir: state})
	want(t, c, set("1", "a"), Applied, "")
	if p, err := Inspect(two, state, "bird.cfg"); err != nil || p.Target != "c" || !p.Current {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestInspectWithoutRights(t *testing.T) {
	dir := t.TempDir()
	a := opened(t, Target{Name: "bird", Dir: dir})
	want(t, a, set("1", "a"), Applied, "")
	shared.NeedRoot(t, "another user to be refused")
	var p InPlace
	var err error
	shared.AsNobody(t, func() { p, err = Inspect(dir, "", "bird.cfg") })
	if p.Current || err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("%+v, %v", p, err)
	}
}

// Looking is in nobody's way, and two may look at once.
func TestInspectLocksNobodyOut(t *testing.T) {
	dir := t.TempDir()
	target := Target{Name: "bird", Dir: dir}
	stop, ended := make(chan struct{}), make(chan error)
	for range 2 {
		go func() {
			for {
				select {
				case <-stop:
					ended <- nil
					return
				default:
				}
				if p, err := Inspect(dir, "", "bird.cfg"); err != nil || p.Current && !p.Held {
					ended <- fmt.Errorf("%+v, %w", p, err)
					return
				}
			}
		}()
	}
	for i := range 50 {
		a := opened(t, target)
		want(t, a, set(fmt.Sprint(i), "a"), Applied, "")
		vouched(t, dir, true)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if p := inspected(t, dir); p.Current {
			t.Errorf("%+v", p)
		}
	}
	close(stop)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
