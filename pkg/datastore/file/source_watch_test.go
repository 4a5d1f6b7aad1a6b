package file

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

func TestP7ConfigMapSwap(t *testing.T) {
	const swaps = 20
	generation := func(n int) map[string]string {
		return map[string]string{"a.yaml": version("a", n), "b.yaml": version("b", n)}
	}
	want := func(n int) string { return poolAt("a", n) + " " + poolAt("b", n) }
	for _, named := range []struct {
		name  string
		paths []string
	}{{"directory", []string{""}}, {"files", []string{"a.yaml", "b.yaml"}}} {
		t.Run(named.name, func(t *testing.T) {
			eachMode(t, func(t *testing.T, m mode) {
				dir := t.TempDir()
				configMap(t, dir, 0, generation(0))
				var paths []string
				for _, p := range named.paths {
					paths = append(paths, filepath.Join(dir, p))
				}
				r := m.start(t, paths...)
				r.want(t, want(0))
				for n := 1; n <= swaps; n++ {
					configMap(t, dir, n, generation(n))
					r.want(t, want(n)) // never one file of each generation
				}
			})
		})
	}
}

// A swap in the middle of another one leaves no mixture either.
func TestP7ConfigMapSwapsInARow(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		dir := t.TempDir()
		const last = 100
		swap := func(n int) {
			configMap(t, dir, n, map[string]string{"a.yaml": version("a", n), "b.yaml": version("b", n)})
		}
		swap(0)
		r := m.start(t, dir)
		for n := 1; n <= last; n++ {
			swap(n)
		}
		r.untilEqual(t, poolAt("a", last)+" "+poolAt("b", last))
	})
}

// untilEqual waits for a snapshot, and fails if one before it holds two different pools.
func (r *running) untilEqual(t *testing.T, want string) {
	t.Helper()
	for {
		s := r.next(t)
		if p := s.Cluster.Pools; len(p) != 2 || p[0].CIDR != p[1].CIDR || len(s.Problems) > 0 {
			t.Fatalf("delivered %q", describe(s))
		}
		if describe(s) == want {
			return
		}
	}
}

func TestP14SaveByRename(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		for _, how := range []struct {
			name string
			save func(path, text string)
		}{
			{"new file over the old", func(path, text string) { replace(t, path, text) }},
			{"old file becomes a backup first", func(path, text string) { move(t, path, path+"~"); write(t, path, text) }},
			{"in place", func(path, text string) { write(t, path, text) }},
		} {
			t.Run(how.name, func(t *testing.T) {
				path := filepath.Join(tree(t, map[string]string{"a.yaml": version("a", 0)}), "a.yaml")
				r := m.start(t, path)
				r.want(t, poolAt("a", 0))
				for n := 1; n <= 10; n++ {
					how.save(path, version("a", n))
					r.until(t, poolAt("a", n)) // a slow test may show that there was no file
				}
			})
		}
	})
}

func TestW10DeleteAndRecreate(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		dir := tree(t, map[string]string{"a.yaml": version("a", 0), "b.yaml": version("b", 0)})
		r := m.start(t, dir)
		r.want(t, poolAt("a", 0)+" "+poolAt("b", 0))
		for n := 1; n <= 5; n++ {
			remove(t, filepath.Join(dir, "b.yaml"))
			r.want(t, poolAt("a", 0))
			write(t, filepath.Join(dir, "b.yaml"), version("b", n))
			r.want(t, poolAt("a", 0)+" "+poolAt("b", n))
		}
	})
}

func TestW2Bursts(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		dir := tree(t, map[string]string{"a.yaml": version("a", 0)})
		r := m.start(t, dir)
		r.want(t, poolAt("a", 0))
		random, n := rand.New(rand.NewPCG(1, 2)), 0
		for range 30 {
			burst := 1 + random.IntN(8)
			for range burst {
				n++
				switch path := filepath.Join(dir, "a.yaml"); random.IntN(3) {
				case 0:
					write(t, path, version("a", n))
				case 1:
					replace(t, path, version("a", n))
				default:
					remove(t, path)
					write(t, path, version("a", n))
				}
			}
			if extra := r.until(t, poolAt("a", n)); extra >= 2*burst {
				t.Errorf("%d snapshots more than changes", extra)
			}
		}
	})
}

func TestLinkToAFileElsewhere(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		dir := tree(t, map[string]string{"in/a.yaml": "-> ../chain/link", "chain/link": "-> ../real/a.yaml", "real/a.yaml": version("a", 0), "real/b.yaml": version("b", 7)})
		r := m.start(t, filepath.Join(dir, "in"))
		r.want(t, poolAt("a", 0))
		replace(t, filepath.Join(dir, "real/a.yaml"), version("a", 1))
		r.want(t, poolAt("a", 1))
		link(t, "../real/b.yaml", filepath.Join(dir, "chain/new"))
		move(t, filepath.Join(dir, "chain/new"), filepath.Join(dir, "chain/link"))
		r.want(t, poolAt("b", 7))
		write(t, filepath.Join(dir, "real/b.yaml"), version("b", 8))
		r.want(t, poolAt("b", 8))
	})
}

func TestDirectoryGoesAndReturns(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		root := tree(t, map[string]string{"in/a.yaml": version("a", 0)})
		dir := filepath.Join(root, "in")
		r := m.start(t, dir)
		r.want(t, poolAt("a", 0))
		for n := 1; n <= 3; n++ {
			move(t, dir, dir+fmt.Sprint(n))
			s := r.want(t, poolAt("a", n-1)+" | unreadable")
			wantMatch(t, messageOf(t, s, "unreadable"), `^cannot be read: no such file or directory; the content read at 2\d{3}-\S+ stays in use$`)
			if status := r.Status(); status.Connected || !status.Synced {
				t.Errorf("status %+v", status)
			}
			mkdir(t, dir)
			write(t, filepath.Join(dir, "a.yaml"), version("a", n))
			r.until(t, poolAt("a", n)) // an empty directory may have been seen before
		}
	})
}

func TestDirectoryIsReplaced(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		root := tree(t, map[string]string{"in/a.yaml": version("a", 0)})
		dir := filepath.Join(root, "in")
		r := m.start(t, dir)
		r.want(t, poolAt("a", 0))
		for n := 1; n <= 5; n++ {
			next := filepath.Join(root, "next")
			mkdir(t, next)
			write(t, filepath.Join(next, "a.yaml"), version("a", n))
			move(t, dir, filepath.Join(root, "old"))
			move(t, next, dir)
			remove(t, filepath.Join(root, "old"))
			r.until(t, poolAt("a", n)) // a slow test may show that there was none
			write(t, filepath.Join(dir, "a.yaml"), version("a", 100+n))
			r.want(t, poolAt("a", 100+n))
		}
	})
}

func TestNamedFileGoesAndReturns(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		path := filepath.Join(tree(t, map[string]string{"a.yaml": version("a", 0)}), "a.yaml")
		r := m.start(t, path)
		r.want(t, poolAt("a", 0))
		remove(t, path)
		r.want(t, poolAt("a", 0)+" | unreadable")
		write(t, path, version("a", 1))
		r.want(t, poolAt("a", 1))
	})
}

func TestNothingThereAtTheStart(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		root := t.TempDir()
		dir := filepath.Join(root, "some", "where")
		r := m.start(t, dir)
		r.waitError(t, dir+": cannot be read: no such file or directory")
		mkdir(t, dir)
		r.waitError(t, dir+": there is no *.yaml, *.yml or *.json file in the directory")
		write(t, filepath.Join(dir, "a.yaml"), version("a", 1))
		r.want(t, poolAt("a", 1))
		if s := r.Status(); !s.Synced || !s.Connected || s.LastError != "" || s.SyncedAt.IsZero() || s.Reads != 1 || s.Kind != "file" {
			t.Errorf("status %+v", s)
		}
	})
}

func TestRelativePaths(t *testing.T) {
	root := tree(t, map[string]string{"in/a.yaml": version("a", 0), "work/x": ""})
	t.Chdir(filepath.Join(root, "work"))
	r := onlyEvents.start(t, "../in")
	r.want(t, poolAt("a", 0))
	write(t, filepath.Join(root, "in/a.yaml"), version("a", 1))
	r.want(t, poolAt("a", 1))
}

// W8: neither goroutines nor descriptors grow, and directories that are gone are forgotten.
func TestW8ManyChanges(t *testing.T) {
	changes := 1000
	if testing.Short() {
		changes = 100
	}
	dir := t.TempDir()
	files := func(n int) map[string]string { return map[string]string{"a.yaml": version("a", n)} }
	configMap(t, dir, 0, files(0))
	m := onlyEvents
	m.o.Quiet = 1
	r := m.start(t, dir)
	r.want(t, poolAt("a", 0))
	var goroutines, descriptors int
	for n := 1; n <= changes; n++ {
		configMap(t, dir, n, files(n))
		r.until(t, poolAt("a", n))
		if n == 10 {
			goroutines, descriptors = count(t)
		}
	}
	// A timer's goroutine or a directory that is being listed may be there or not.
	g, d := count(t)
	if g > goroutines+2 || d > descriptors+2 {
		t.Errorf("after %d changes %d goroutines and %d descriptors, after 10 %d and %d", changes, g, d, goroutines, descriptors)
	}
}
