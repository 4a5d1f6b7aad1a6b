package file

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// startWatcher runs a Watcher until the test ends; the channel tells of each call.
func (m mode) startWatcher(t *testing.T, paths func() []string) <-chan struct{} {
	t.Helper()
	before := goleak.IgnoreCurrent()
	w := NewWatcher(paths, m.o.Poll, m.o.Quiet, nil)
	w.open = m.open
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("the test is over")
	calls, ended := make(chan struct{}, 1000), make(chan error, 1)
	go func() { ended <- w.Run(ctx, func() { calls <- struct{}{} }) }()
	t.Cleanup(func() {
		cancel(cause)
		if err := <-ended; !errors.Is(err, cause) {
			t.Errorf("Run returned %v", err)
		}
		if err := goleak.Find(before); err != nil {
			t.Error(err)
		}
	})
	return calls
}

func waitCall(t *testing.T, calls <-chan struct{}) {
	t.Helper()
	select {
	case <-calls:
	case <-time.After(deadline):
		t.Fatal("no change is seen")
	}
}

func TestP6Watcher(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		root := tree(t, map[string]string{"conf.d/a.yaml": "1", "templates/x.tmpl": "1", "real/x": "1", "conf.d/link": "-> ../real/x"})
		at := func(name string) string { return filepath.Join(root, name) }
		calls := m.startWatcher(t, func() []string {
			paths := []string{at("conf.d"), at("later/templates")}
			if text, _ := os.ReadFile(at("conf.d/a.yaml")); string(text) == "12" {
				paths = append(paths, at("templates"))
			}
			return paths
		})
		for _, step := range []struct {
			name string
			do   func()
		}{
			{"a file is changed, and names a directory", func() { write(t, at("conf.d/a.yaml"), "12") }},
			{"a file in that directory is changed", func() { replace(t, at("templates/x.tmpl"), "12") }},
			{"a file is added", func() { write(t, at("conf.d/b.yaml"), "1") }},
			{"a file is removed", func() { remove(t, at("conf.d/b.yaml")) }},
			{"where a link leads is changed", func() { write(t, at("real/x"), "12") }},
			{"a directory appears", func() { mkdir(t, at("later/templates")) }},
			{"a file in that directory appears", func() { write(t, at("later/templates/x"), "1") }},
			{"the mode of a file is changed", func() {
				if err := os.Chmod(at("later/templates/x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}},
			{"a directory vanishes", func() { move(t, at("later/templates"), at("old")) }},
			{"the directory comes back", func() { move(t, at("old"), at("later/templates")) }},
		} {
			t.Run(step.name, func(t *testing.T) {
				step.do()
				waitCall(t, calls)
			})
		}
	})
}

func TestP7WatcherSeesEachSwap(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		dir := t.TempDir()
		configMap(t, dir, 0, map[string]string{"a.tmpl": "0"})
		calls := m.startWatcher(t, func() []string { return []string{dir} })
		for n := 1; n <= 20; n++ {
			configMap(t, dir, n, map[string]string{"a.tmpl": "n"})
			waitCall(t, calls)
		}
		if len(calls) > 0 {
			t.Errorf("%d calls more than changes", len(calls))
		}
	})
}

func TestWatcherTime(t *testing.T) {
	dir := tree(t, map[string]string{"a": "1"})
	path := filepath.Join(dir, "a")
	synctest.Test(t, func(t *testing.T) {
		w := NewWatcher(func() []string { return []string{dir} }, 10*time.Millisecond, 0, nil)
		w.open = onlyPoll.open
		write(t, path, "12") // before Run, after NewWatcher
		var calls atomic.Int32
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx, func() { calls.Add(1) }) }()
		want := func(after time.Duration, n int32) {
			t.Helper()
			<-time.After(after) // on the clock of the bubble
			synctest.Wait()
			if got := calls.Load(); got != n {
				t.Fatalf("%d calls, want %d", got, n)
			}
		}
		want(150*time.Millisecond, 1)
		for n := range 30 {
			write(t, path, strings.Repeat("x", 10+n))
			want(90*time.Millisecond, 1)
		}
		want(100*time.Millisecond, 2)
		move(t, path, path+"2")
		want(50*time.Millisecond, 2)
		move(t, path+"2", path)
		write(t, filepath.Join(dir, ".hidden"), "x")
		remove(t, filepath.Join(dir, ".hidden"))
		// Renaming sets ctime, so the file is not quite the same.
		want(time.Second, 3)
		want(time.Minute, 3)
		cancel()
		<-ended
	})
}

// What keeps the kernel from reporting events is logged once, and ends nothing.
func TestWatchingFails(t *testing.T) {
	var log bytes.Buffer
	dir := tree(t, map[string]string{"a.yaml": version("a", 0)})
	m := onlyPoll
	m.o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	t.Run("run", func(t *testing.T) {
		r := m.start(t, dir)
		r.want(t, poolAt("a", 0))
		for n := 1; n <= 3; n++ {
			write(t, filepath.Join(dir, "a.yaml"), version("a", n))
			r.want(t, poolAt("a", n))
		}
	})
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") || !strings.Contains(got, "too many open files") {
		t.Error(got)
	}
}

// An overflow of the kernel's queue makes the source look, whatever was lost.
func TestOverflowIsNews(t *testing.T) {
	n := newNotifier(nil, slog.New(slog.DiscardHandler))
	w := &fsnotify.Watcher{Events: make(chan fsnotify.Event), Errors: make(chan error)}
	n.ended = make(chan struct{})
	go n.listen(w)
	for range 3 {
		w.Errors <- fsnotify.ErrEventOverflow
		<-n.news
	}
	close(w.Events)
	close(w.Errors)
	<-n.ended
}

func TestSpots(t *testing.T) {
	root := tree(t, map[string]string{
		"cm/..1/a.yaml": "x", "cm/..data": "-> ..1", "cm/a.yaml": "-> ..data/a.yaml",
		"deep/one": "-> ../deep/two", "deep/two": "-> /ROOT", "loop/a": "-> b", "loop/b": "-> a",
		"dirs/link": "-> ../cm/..1",
	})
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path, real string
		want       []string
	}{
		{"cm/a.yaml", "cm/..1/a.yaml", []string{"cm/..1: a.yaml", "cm: ..data a.yaml"}},
		{"cm/./..1/../../cm//a.yaml", "cm/..1/a.yaml", []string{"cm/..1: a.yaml", "cm: ..data a.yaml"}},
		{"dirs/link/a.yaml", "cm/..1/a.yaml", []string{"cm/..1: a.yaml", "dirs: link"}},
		{"dirs/link/../a.yaml", "cm/..1/a.yaml", []string{"cm/..1: a.yaml", "cm: ..data a.yaml", "dirs: link"}},
		{"dirs/none/file", "", []string{"dirs: none"}},
		{"deep/one", "", []string{"/: ROOT", "deep: one two"}},
		{"loop/a", "", []string{"loop: a b"}},
		{"cm/..1/", "cm/..1", []string{"cm: ..1"}},
	} {
		s := spots{}
		real := s.follow(root + "/" + tt.path)
		if tt.real != "" {
			tt.real = filepath.Join(root, tt.real)
		}
		if real != tt.real {
			t.Errorf("%s leads to %q, want %q", tt.path, real, tt.real)
		}
		if diff := cmp.Diff(tt.want, spotTexts(root, s)); diff != "" {
			t.Errorf("%s: %s", tt.path, diff)
		}
	}
}

// Two paths to one directory make one watch that both depend on.
func TestTwoPathsToOneDirectory(t *testing.T) {
	dir := t.TempDir()
	n := newNotifier(fsnotify.NewWatcher, slog.New(slog.DiscardHandler))
	defer n.close()
	both := func() spots { return spots{dir: {"x": true}, dir + "/.": nil} }
	if !n.watch(both()) || n.watch(both()) {
		t.Error("the directory is not watched, or once more each time")
	}
	write(t, filepath.Join(dir, "y"), "1")
	waitCall(t, n.news)
	n.watch(spots{dir + "/.": nil})
	n.watch(spots{})
	if left := n.watcher.WatchList(); len(left) > 0 {
		t.Errorf("still watched: %q", left)
	}
}

// spotTexts lists directories, and the names that matter in them.
func spotTexts(root string, s spots) []string {
	var out []string
	for dir, names := range s {
		text := strings.TrimPrefix(dir, root+"/") + ":"
		for _, name := range slices.Sorted(maps.Keys(names)) {
			text += " " + name
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}
