package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/test/shared"
)

var sixFiles = []string{"bird.cfg", "bird6.cfg", "bird6_aggr.cfg", "bird6_ipam.cfg", "bird_aggr.cfg", "bird_ipam.cfg"}

// renderTo renders edge-1 into a directory without a check.
func renderTo(t *testing.T, out string, more ...string) result {
	t.Helper()
	return birdconfd(t, append([]string{"render", "--node=edge-1", "--check=off", "--output=" + out, edge}, more...)...)
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func TestOutputDirectory(t *testing.T) {
	old := syscall.Umask(0o077) // must make no difference to the files
	defer syscall.Umask(old)
	out := filepath.Join(t.TempDir(), "made", "on", "the", "way")
	r := renderTo(t, out)
	r.want(t, 0, ", 6 files written\n")
	if r.stdout != "" {
		t.Errorf("standard output:\n%s", r.stdout)
	}
	if diff := cmp.Diff(sixFiles, listing(t, out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range sixFiles {
		want := fs.FileMode(0o644)
		if strings.Contains(readFile(t, filepath.Join(out, name)), canary) {
			want = 0o600
		}
		if got := mode(t, filepath.Join(out, name)); got != want || (want == 0o600) != (name == "bird.cfg") {
			t.Errorf("%s has mode %v, want %v", name, got, want)
		}
	}
}

// Files that are right already are not touched: something may watch them.
func TestUnchangedFilesAreNotTouched(t *testing.T) {
	out := t.TempDir()
	renderTo(t, out).want(t, 0)
	before := map[string]fs.FileInfo{}
	for _, name := range sixFiles {
		before[name], _ = os.Stat(filepath.Join(out, name))
	}
	writeFile(t, filepath.Join(out, "bird_ipam.cfg"), "changed by hand")
	renderTo(t, out).want(t, 0, ", 1 file written, 5 files unchanged\n")
	for _, name := range sixFiles {
		now, err := os.Stat(filepath.Join(out, name))
		if err != nil || os.SameFile(before[name], now) != (name != "bird_ipam.cfg") {
			t.Errorf("%s: replaced or not, %v", name, err)
		}
	}
}

func TestModeOfExistingFiles(t *testing.T) {
	for _, tt := range []struct {
		rule, file string
		mode, want fs.FileMode
	}{
		{"a file with a password keeps what is stricter", "bird.cfg", 0o640, 0o640},
		{"a file with a password is closed to everybody", "bird.cfg", 0o664, 0o660},
		{"also when all may only write to it", "bird.cfg", 0o602, 0o600},
		{"a file without keeps its mode", "bird6.cfg", 0o600, 0o600},
		{"a wide one too", "bird6.cfg", 0o666, 0o666},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			for _, content := range []string{"old", ""} { // other content, and the same
				out := t.TempDir()
				path := filepath.Join(out, tt.file)
				if content != "" {
					writeFile(t, path, content)
				} else {
					renderTo(t, out).want(t, 0)
				}
				if err := os.Chmod(path, tt.mode); err != nil {
					t.Fatal(err)
				}
				renderTo(t, out).want(t, 0)
				if got := mode(t, path); got != tt.want {
					t.Errorf("mode %v, want %v", got, tt.want)
				}
			}
		})
	}
}

func TestOwnerOfExistingFiles(t *testing.T) {
	shared.NeedRoot(t, "to give files away")
	out := t.TempDir()
	path := writeFile(t, filepath.Join(out, "bird.cfg"), "old")
	if err := os.Chown(path, 1234, 2345); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	renderTo(t, out).want(t, 0)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); s.Uid != 1234 || s.Gid != 2345 || info.Mode() != 0o640 {
		t.Errorf("owner %d, group %d, mode %v", s.Uid, s.Gid, info.Mode())
	}
}

func TestOwnerThatCannotBeKept(t *testing.T) {
	out := t.TempDir()
	for _, dir := range []string{out, filepath.Dir(out)} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	shared.NeedRoot(t, "to have files of somebody else's")
	writeFile(t, filepath.Join(out, "bird.cfg"), "old")
	shared.AsNobody(t, func() {
		renderTo(t, out).want(t, 1, "birdconfd: write "+out+"/bird.cfg: give it to user 0 and group 0: operation not permitted\n")
	})
	if readFile(t, filepath.Join(out, "bird.cfg")) != "old" || len(listing(t, out)) != 1 {
		t.Errorf("the directory has %v", listing(t, out))
	}
}

func TestSymbolicLinks(t *testing.T) {
	dir := t.TempDir()
	real := writeFile(t, filepath.Join(dir, "persist", "real.cfg"), "old")
	link := filepath.Join(dir, "out", "bird.cfg")
	if err := os.Mkdir(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	for to, from := range map[string]string{"../persist/second": link, "real.cfg": filepath.Join(dir, "persist", "second")} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	renderTo(t, filepath.Dir(link)).want(t, 0)
	if mode(t, link)&fs.ModeSymlink == 0 || !strings.Contains(readFile(t, real), "protocol bgp") {
		t.Errorf("%v; the file behind it is %q", mode(t, link), readFile(t, real))
	}
	if got := mode(t, real); got != 0o640 { // 0644 before, with a password now
		t.Errorf("mode %v", got)
	}
	if diff := cmp.Diff([]string{"real.cfg", "second"}, listing(t, filepath.Dir(real))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The directory may be a link itself.
	if err := os.Symlink("out", filepath.Join(dir, "current")); err != nil {
		t.Fatal(err)
	}
	renderTo(t, filepath.Join(dir, "current")).want(t, 0, ", 6 files unchanged\n")
}

// When one file cannot be written none is, and nothing is left lying around.
func TestNothingIsHalfWritten(t *testing.T) {
	for _, tt := range []struct {
		rule    string
		prepare func(t *testing.T, out string) error
		want    string
	}{
		{"a dangling link", func(_ *testing.T, out string) error {
			return os.Symlink("gone/bird.cfg", filepath.Join(out, "bird.cfg"))
		},
			"write OUT/bird.cfg: it is a symbolic link to gone/bird.cfg, which does not exist; make that file, or remove the link"},
		{"a loop of links", func(_ *testing.T, out string) error { return os.Symlink("bird.cfg", filepath.Join(out, "bird.cfg")) },
			"write OUT/bird.cfg: follow the symbolic link: EvalSymlinks: too many links"},
		{"a directory in its place", func(_ *testing.T, out string) error { return os.Mkdir(filepath.Join(out, "bird.cfg"), 0o755) },
			"write OUT/bird.cfg: it is a directory"},
		{"a pipe in its place", func(_ *testing.T, out string) error { return syscall.Mkfifo(filepath.Join(out, "bird.cfg"), 0o600) },
			"write OUT/bird.cfg: it is not a regular file"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			out := t.TempDir()
			// bird.cfg comes after all that it includes, and after the other daemon's files.
			old := writeFile(t, filepath.Join(out, "bird_aggr.cfg"), "old")
			if err := tt.prepare(t, out); err != nil {
				t.Fatal(err)
			}
			r := renderTo(t, out)
			r.want(t, 1, "birdconfd: "+strings.ReplaceAll(tt.want, "OUT", out)+"\n")
			if diff := cmp.Diff([]string{"bird.cfg", "bird_aggr.cfg"}, listing(t, out)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if readFile(t, old) != "old" {
				t.Error("an included file was replaced")
			}
		})
	}
}

func TestDirectoryThatIsNotWritable(t *testing.T) {
	parent := t.TempDir()
	out := filepath.Join(parent, "out")
	writeFile(t, filepath.Join(out, "bird.cfg"), "old")
	for _, dir := range []string{filepath.Dir(parent), parent, out} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(out, "bird.cfg"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(out, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(out, 0o755)
	shared.AsNobody(t, func() {
		renderTo(t, out).want(t, 1, "birdconfd: write "+out+"/bird6_ipam.cfg: no file can be made in "+out+
			": permission denied; files are replaced by new ones, so the directory itself must be writable\n")
		renderTo(t, filepath.Join(out, "below")).want(t, 1, "birdconfd: make the directory "+out+"/below: permission denied\n")
	})
	if readFile(t, filepath.Join(out, "bird.cfg")) != "old" || len(listing(t, out)) != 1 {
		t.Errorf("the directory has %v", listing(t, out))
	}
}
