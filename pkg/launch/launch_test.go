package launch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// placed opens a target without a BIRD, and puts a set in place.
func placed(t *testing.T, dir string) *apply.Applier {
	t.Helper()
	a, err := apply.Open(apply.Target{Name: "bird", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	if _, err := a.Apply(t.Context(), []apply.File{{Name: "bird.cfg", Data: []byte("1")}}); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAwaitACurrentSet(t *testing.T) {
	dir := t.TempDir()
	a := placed(t, dir)
	set := Set{Config: filepath.Join(dir, "bird.cfg")}
	if err := set.Await(t.Context(), 0, func(text string) { t.Errorf("told %q", text) }); err != nil {
		t.Error(err)
	}
	// Each reason is told once, and its end ends the wait.
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	var told []string
	err := set.Await(t.Context(), time.Minute, func(text string) {
		told = append(told, text)
		switch len(told) {
		case 1:
			if err := os.Remove(set.Config); err != nil {
				t.Error(err)
			}
			var err error
			if a, err = apply.Open(apply.Target{Name: "bird", Dir: dir}); err != nil {
				t.Fatal(err)
			}
		case 2:
			if _, err := a.Apply(t.Context(), []apply.File{{Name: "bird.cfg", Data: []byte("2")}}); err != nil {
				t.Error(err)
			}
		}
	})
	a.Close()
	if err != nil || len(told) != 2 || !strings.Contains(told[0], "no birdconfd takes care of it now") || !strings.Contains(told[1], "are missing") {
		t.Errorf("%v, told %q", err, told)
	}
}

func TestAwaitEndsWithTheContext(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := Set{Config: filepath.Join(t.TempDir(), "bird.cfg")}.Await(ctx, time.Minute, func(string) { cancel(stop) })
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestAwaitTellsWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	placed(t, dir).Close()
	record := filepath.Join(apply.StatePath(dir, "", "bird"), "record.json")
	if err := os.WriteFile(record, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var told []string
	err := Set{Config: filepath.Join(dir, "bird.cfg")}.Await(t.Context(), 250*time.Millisecond, func(text string) { told = append(told, text) })
	if err == nil || !strings.Contains(err.Error(), record+" is damaged") || len(told) != 1 {
		t.Errorf("%v, told %q", err, told)
	}
}

func TestFamiliesOf(t *testing.T) {
	for program, want := range map[string]Families{
		birdtest.Bird(t):  {IPv4: true},
		birdtest.Bird6(t): {IPv6: true},
		birdtest.Bird2(t): {true, true},
	} {
		if got, err := FamiliesOf(t.Context(), program); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", program, got, err, want)
		}
	}
	for _, program := range []string{"/dev/null", "/bin/nice", "/bin/true"} {
		if got, err := FamiliesOf(t.Context(), program); err == nil {
			t.Errorf("%s is taken for BIRD: %+v", program, got)
		}
	}
}

// When the kernel cannot be asked there may be something to preserve.
func TestPreserveWhenInDoubt(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	// Without room for another file there is no socket to ask through.
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	restart, why := Preserve(Families{IPv4: true})
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if want := "the kernel may hold routes of BIRD: list the kernel's IPv4 routes: "; !restart || !strings.HasPrefix(why, want) {
		t.Errorf("%t, %q", restart, why)
	}
}
