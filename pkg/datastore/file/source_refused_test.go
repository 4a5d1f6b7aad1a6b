package file

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/birdconfd/birdconfd/test/shared"
)

func TestWithoutPermission(t *testing.T) {
	dir := tree(t, map[string]string{"in/a.yaml": version("a", 0), "in/b.yaml": version("b", 0)})
	path := filepath.Join(dir, "in/b.yaml")
	chmod := func(path string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod(filepath.Dir(dir), 0o755)
	chmod(path, 0)
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "in"), 0o755) })
	r := start(t, onlyEvents.source(t, filepath.Join(dir, "in")), func(run func()) { shared.AsNobody(t, run) })
	r.waitError(t, path+": cannot be read: permission denied")
	chmod(path, 0o644)
	r.want(t, poolAt("a", 0)+" "+poolAt("b", 0))
	chmod(path, 0)
	s := r.want(t, poolAt("a", 0)+" "+poolAt("b", 0)+" | unreadable")
	wantMatch(t, messageOf(t, s, "unreadable"), `^cannot be read: permission denied; the content read at \S+ stays in use$`)
	if r.Status().Connected {
		t.Error("connected")
	}
	chmod(path, 0o644)
	r.want(t, poolAt("a", 0)+" "+poolAt("b", 0))
	chmod(filepath.Join(dir, "in"), 0)
	r.want(t, poolAt("a", 0)+" "+poolAt("b", 0)+" | unreadable")
	chmod(filepath.Join(dir, "in"), 0o755)
	r.want(t, poolAt("a", 0)+" "+poolAt("b", 0))
}

// What is not the file that was looked at is neither read nor an error.
func TestReadSteady(t *testing.T) {
	path := filepath.Join(tree(t, map[string]string{"a.yaml": version("a", 0)}), "a.yaml")
	seen := stampOf(os.Stat(path))
	if data, err := readSteady(path, seen, maxSize, false); err != nil || string(data) != version("a", 0) {
		t.Errorf("%q, %v", data, err)
	}
	replace(t, path, version("a", 1))
	if data, err := readSteady(path, seen, maxSize, false); !errors.Is(err, errChanging) {
		t.Errorf("%q, %v", data, err)
	}
	remove(t, path)
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readSteady(path, seen, maxSize, false); !errors.Is(err, errChanging) {
		t.Error(err)
	}
}

func TestWhatIsNoFile(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		path := filepath.Join(t.TempDir(), "a.yaml")
		if err := syscall.Mkfifo(path, 0o644); err != nil {
			t.Fatal(err)
		}
		r := m.start(t, path)
		r.waitError(t, path+": cannot be read: it is a named pipe, not a file or a directory")
		replace(t, path, version("a", 1))
		r.want(t, poolAt("a", 1))
	})
	m := onlyEvents
	m.start(t, os.DevNull).waitError(t, "/dev/null: cannot be read: it is a device, not a file or a directory")
}

func TestNew(t *testing.T) {
	for name, tt := range map[string]struct {
		o    Options
		want string
	}{
		"no path":               {Options{}, "no file or directory to watch is named"},
		"an empty path":         {Options{Paths: []string{"a", ""}}, "the name of a file or directory to watch is empty"},
		"standard input":        {Options{Paths: []string{"a", "-"}}, "standard input cannot be watched"},
		"one directory as both": {Options{Paths: []string{"/x/"}, EndpointStatus: "/x"}, "/x/ cannot hold both resources and endpoint status"},
	} {
		if _, err := New(tt.o); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
