package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
)

// deadline is how long a test waits for what must happen.
const deadline = 30 * time.Second

// onlyEvents makes the poll come too late for any test, onlyPoll makes events fail.
var (
	onlyEvents = mode{"events", Options{Poll: time.Hour, Quiet: 20 * time.Millisecond}, fsnotify.NewWatcher}
	onlyPoll   = mode{"poll", Options{Poll: 10 * time.Millisecond, Quiet: 20 * time.Millisecond},
		func() (*fsnotify.Watcher, error) { return nil, errors.New("too many open files") }}
)

type mode struct {
	name string
	o    Options
	open func() (*fsnotify.Watcher, error)
}

// eachMode runs a test with events only, and with the poll only.
func eachMode(t *testing.T, test func(t *testing.T, m mode)) {
	for _, m := range []mode{onlyEvents, onlyPoll} {
		t.Run(m.name, func(t *testing.T) { test(t, m) })
	}
}

// running is a Source that runs.
type running struct {
	*Source
	snapshots chan datastore.Snapshot
}

// source makes a Source that watches paths.
func (m mode) source(t *testing.T, paths ...string) *Source {
	t.Helper()
	m.o.Paths = paths
	s, err := New(m.o)
	if err != nil {
		t.Fatal(err)
	}
	s.open = m.open
	return s
}

// start runs a Source that watches paths until the test ends.
func (m mode) start(t *testing.T, paths ...string) *running {
	t.Helper()
	return start(t, m.source(t, paths...), func(run func()) { run() })
}

func start(t *testing.T, s *Source, as func(run func())) *running {
	t.Helper()
	r := &running{Source: s, snapshots: make(chan datastore.Snapshot, 10_000)}
	before := goleak.IgnoreCurrent()
	cause := errors.New("the test is over")
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	go as(func() { ended <- s.Run(ctx, func(s datastore.Snapshot) { r.snapshots <- s }) })
	t.Cleanup(func() {
		cancel(cause)
		select {
		case err := <-ended:
			if !errors.Is(err, cause) {
				t.Errorf("Run returned %v", err)
			}
		case <-time.After(deadline):
			t.Error("Run does not return")
		}
		if err := goleak.Find(before); err != nil {
			t.Error(err)
		}
	})
	return r
}

// next returns the next snapshot.
func (r *running) next(t *testing.T) datastore.Snapshot {
	t.Helper()
	select {
	case s := <-r.snapshots:
		return s
	case <-time.After(deadline):
		t.Fatalf("nothing was delivered; status %+v", r.Status())
		panic("unreachable")
	}
}

// want fails the test if the next snapshot is another one.
func (r *running) want(t *testing.T, want string) datastore.Snapshot {
	t.Helper()
	s := r.next(t)
	if got := describe(s); got != want {
		t.Fatalf("delivered %q, want %q", got, want)
	}
	return s
}

// until waits for a snapshot and returns how many came before it.
func (r *running) until(t *testing.T, want string) (before int) {
	t.Helper()
	for ; describe(r.next(t)) != want; before++ {
	}
	return before
}

// waitStatus waits for a status.
func (r *running) waitStatus(t *testing.T, is func(datastore.Status) bool) datastore.Status {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(deadline); ; {
		if s := r.Status(); is(s) {
			return s
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("the status stays %+v", r.Status())
		}
	}
}

// describe gives the pools, the peers among workloads, and how many problems there are of each
// rule, as in "a=10.0.0.0/24 | cali1 | unreadable".
func describe(s datastore.Snapshot) string {
	var parts, pools []string
	for _, p := range s.Cluster.Pools {
		pools = append(pools, p.Name+"="+p.CIDR.String())
	}
	parts = append(parts, strings.Join(pools, " "))
	for _, w := range s.Cluster.Workloads {
		parts = append(parts, w.Interface)
	}
	for _, p := range s.Problems {
		parts = append(parts, p.Rule)
	}
	return strings.Join(parts, " | ")
}

// version is the text of a pool that differs from version to version.
func version(name string, n int) string {
	return strings.Replace(pool(name), "198.51.100.0/24", fmt.Sprintf("10.%d.%d.0/24", n/256, n%256), 1)
}

// poolAt is how describe shows it.
func poolAt(name string, n int) string { return fmt.Sprintf("%s=10.%d.%d.0/24", name, n/256, n%256) }

// write writes a file in place, or puts a new one there in one piece.
func write(t *testing.T, path, text string) {
	t.Helper()
	if _, err := os.Lstat(path); err != nil && !strings.HasSuffix(path, ".new") {
		replace(t, path, text)
		return
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replace writes a file as careful programs do.
func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, filepath.Join(filepath.Dir(path), ".new"), text)
	move(t, filepath.Join(filepath.Dir(path), ".new"), path)
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// configMap writes a generation of a mounted ConfigMap as kubelet's AtomicWriter does.
func configMap(t *testing.T, dir string, n int, files map[string]string) {
	t.Helper()
	old, _ := os.Readlink(filepath.Join(dir, "..data"))
	now := fmt.Sprintf("..2026_12_01_%04d", n)
	mkdir(t, filepath.Join(dir, now))
	for name, text := range files {
		write(t, filepath.Join(dir, now, name), text)
	}
	link(t, now, filepath.Join(dir, "..data_tmp"))
	move(t, filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data"))
	for name := range files {
		if path := filepath.Join(dir, name); !isLink(path) {
			link(t, filepath.Join("..data", name), path)
		}
	}
	if old != "" {
		remove(t, filepath.Join(dir, old))
	}
}

func isLink(path string) bool {
	_, err := os.Readlink(path)
	return err == nil
}

// messageOf returns the message of the only problem with a rule.
func messageOf(t *testing.T, s datastore.Snapshot, rule string) string {
	t.Helper()
	var found []calico.Problem
	for _, p := range s.Problems {
		if p.Rule == rule {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		t.Fatalf("problems with the rule %s: %v", rule, found)
	}
	return found[0].Message
}
