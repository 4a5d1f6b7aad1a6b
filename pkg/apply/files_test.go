package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/birdconfd/birdconfd/test/shared"
)

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// F1: a link stays, and the file it leads to is replaced.
func TestF1LinksAreFollowed(t *testing.T) {
	dir, persist := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(persist, "real.cfg"), "old", 0o640)
	link(t, filepath.Join(persist, "real.cfg"), filepath.Join(persist, "chain.cfg"))
	link(t, filepath.Join(persist, "chain.cfg"), filepath.Join(dir, "bird.cfg"))
	a := opened(t, Target{Name: "bird", Dir: dir})
	want(t, a, set("1", "a"), Applied, "")
	if got := files(t, persist)["real.cfg"]; got != "1" {
		t.Errorf("the real file has %q", got)
	}
	for _, path := range []string{filepath.Join(dir, "bird.cfg"), filepath.Join(persist, "chain.cfg")} {
		if modeOf(t, path)&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", path)
		}
	}
	if got := modeOf(t, filepath.Join(persist, "real.cfg")).Perm(); got != 0o640 {
		t.Errorf("mode %v", got)
	}
}

func TestF1BadPlaces(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(t *testing.T, path string)
		want string
	}{
		{"a link that leads nowhere", func(t *testing.T, path string) { link(t, "gone", path) }, "it is a symbolic link to gone, which does not exist"},
		{"a loop", func(t *testing.T, path string) { link(t, "bird.cfg", path) }, "too many links"},
		{"a directory", func(t *testing.T, path string) { _ = os.Mkdir(path, 0o755) }, "it is a directory"},
		{"a pipe", func(t *testing.T, path string) { _ = syscall.Mkfifo(path, 0o600) }, "it is not a regular file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "bird.cfg")
			tt.make(t, path)
			a := opened(t, Target{Name: "bird", Dir: dir})
			want(t, a, set("1", "a"), Rejected, "write: write "+path+": ")
			want(t, a, set("1", "a"), Rejected, tt.want)
			if _, err := os.Lstat(filepath.Join(dir, "bird_ipam.cfg")); err == nil {
				t.Error("the other file was written")
			}
		})
	}
}

func TestModesAndOwners(t *testing.T) {
	shared.NeedRoot(t, "to give files away")
	old := syscall.Umask(0o077) // must make no difference
	defer syscall.Umask(old)
	for _, tt := range []struct {
		name   string
		target Target
		// before is the mode of the main file, owned by 12:34; 0 for no file.
		before      fs.FileMode
		secret      bool
		main, other string
	}{
		{"new files", Target{}, 0, false, "0644 0:0", "0644 0:0"},
		{"new files with a password", Target{}, 0, true, "0600 0:0", "0644 0:0"},
		{"a file keeps what it has, and new ones take it over", Target{}, 0o640, false, "0640 12:34", "0640 12:34"},
		{"but a password is never for others", Target{}, 0o664, true, "0660 12:34", "0664 12:34"},
		{"mode and owner as configured", Target{Mode: 0o644, Owner: &Owner{56, 78}}, 0o600, false, "0644 56:78", "0644 56:78"},
		{"as configured, with a password", Target{Mode: 0o644, Owner: &Owner{56, 78}}, 0o600, true, "0640 56:78", "0644 56:78"},
		{"an owner without a group", Target{Owner: &Owner{56, -1}}, 0o640, false, "0640 56:34", "0640 56:34"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.target.Name, tt.target.Dir = "bird", t.TempDir()
			main, other := tt.target.path("bird.cfg"), tt.target.path("bird_ipam.cfg")
			if tt.before != 0 {
				writeFile(t, main, "old", tt.before)
				if err := os.Chown(main, 12, 34); err != nil {
					t.Fatal(err)
				}
			}
			a := opened(t, tt.target)
			fresh := set("1", "a")
			fresh[0].Secret = tt.secret
			want(t, a, fresh, Applied, "")
			if got := accessText(t, main); got != tt.main {
				t.Errorf("bird.cfg has %s, want %s", got, tt.main)
			}
			if got := accessText(t, other); got != tt.other {
				t.Errorf("bird_ipam.cfg has %s, want %s", got, tt.other)
			}
		})
	}
}

// A file's own mode and owner come before the target's, and outlive the process.
func TestModesAndOwnersOfFiles(t *testing.T) {
	shared.NeedRoot(t, "to give files away")
	dir := t.TempDir()
	a := opened(t, Target{Name: "bird", Dir: dir, Mode: 0o640, Owner: &Owner{1, 2}})
	files := set("1", "a")
	files[0].Mode, files[0].Owner = 0o664, &Owner{-1, 7}
	files[1].Secret, files[1].Mode = true, 0o644
	want(t, a, files, Applied, "")
	check := func() {
		t.Helper()
		for name, want := range map[string]string{"bird.cfg": "0664 0:7", "bird_ipam.cfg": "0640 1:2"} {
			if got := accessText(t, filepath.Join(dir, name)); got != want {
				t.Errorf("%s has %s, want %s", name, got, want)
			}
		}
	}
	check()
	a = reopened(t, a)
	if err := os.Remove(filepath.Join(dir, "bird.cfg")); err != nil {
		t.Fatal(err)
	}
	maintained(t, a)
	check()
}

func accessText(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	s := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%#o %d:%d", info.Mode().Perm(), s.Uid, s.Gid)
}

// A mode that was changed by hand is put right, without a reload.
func TestModeAloneIsPutRightWithoutReload(t *testing.T) {
	dir, f := t.TempDir(), &fake{}
	a := opened(t, Target{Name: "bird", Dir: dir, Mode: 0o640, Reloader: f})
	want(t, a, set("1", "a"), Applied, "")
	if err := os.Chmod(filepath.Join(dir, "bird.cfg"), 0o666); err != nil {
		t.Fatal(err)
	}
	res := want(t, a, set("1", "a"), Unchanged, "")
	if got := modeOf(t, filepath.Join(dir, "bird.cfg")); got != 0o640 || len(f.reloads) != 1 || len(res.Notes) != 1 {
		t.Errorf("mode %v, reloads %q, notes %q", got, f.reloads, res.Notes)
	}
}

// F5, F6: nobody else can open a file with a password, at any moment.
func TestF6PasswordsAreNeverReadableByOthers(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := t.TempDir()
	a := opened(t, Target{Name: "bird", Dir: dir})
	look := func(string) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && d.Type().IsRegular() && info.Mode().Perm()&0o077 != 0 {
				if data, _ := os.ReadFile(path); strings.Contains(string(data), "canary") {
					t.Errorf("%s has mode %v", path, info.Mode())
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	a.step = look
	for _, text := range []string{"canary 1", "canary 2"} {
		s := set(text, "a")
		s[0].Secret = true
		want(t, a, s, Applied, "")
		look("")
	}
}

// F9: the file is writable, its directory is not.
func TestF9DirectoryIsNotWritable(t *testing.T) {
	shared.NeedRoot(t, "to become somebody else")
	dir := filepath.Join(t.TempDir(), "etc")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755)); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "bird.cfg"), "old", 0o666)
	shared.AsNobody(t, func() {
		if _, err := Open(Target{Name: "bird", Dir: dir}); err == nil || !strings.Contains(err.Error(), "make the directory "+dir+"/.birdconfd/bird: permission denied; it is where files are staged") {
			t.Errorf("got %v", err)
		}
	})
	if got := files(t, dir); got["bird.cfg"] != "old" || len(got) != 1 {
		t.Errorf("files: %v", got)
	}
}

// F10: a full disk leaves everything as it was.
func TestF10FullDisk(t *testing.T) {
	shared.NeedRoot(t, "to mount a file system")
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	f := &fake{}
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f})
	want(t, a, set("1", "a"), Applied, "")
	for size := 20 << 10; size < 400<<10; size += 8 << 10 { // at some the stage fits, at some the files too
		res, err := a.Apply(t.Context(), set(strings.Repeat("x", size), "b"))
		if err == nil {
			want(t, a, set("1", "a"), Applied, "")
			continue
		}
		if res.Outcome != Rejected || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%d bytes: %s, %v", size, res.Outcome, err)
		}
		hasFiles(t, dir, map[string]string{"bird.cfg": "1", "bird_ipam.cfg": "a"})
		if n := stagedSets(t, a); n != 1 {
			t.Fatalf("%d bytes: %d sets are kept", size, n)
		}
	}
	want(t, a, set("2", "b"), Applied, "")
}

// A file that is a mount point cannot be replaced.
func TestMountedFileIsWrittenInPlace(t *testing.T) {
	shared.NeedRoot(t, "to mount a file")
	dir, f := t.TempDir(), &fake{answers: []error{nil, refused}}
	host := filepath.Join(t.TempDir(), "host.cfg")
	writeFile(t, host, "a longer text than what comes", 0o644)
	path := filepath.Join(dir, "bird.cfg")
	writeFile(t, path, "", 0o644)
	if err := syscall.Mount(host, path, "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f})
	s := set("1", "a")
	s[0].Secret = true
	res := want(t, a, s, Applied, "")
	if len(res.Notes) != 1 || !strings.Contains(res.Notes[0], path+" is a mount point, so it is written in place") {
		t.Errorf("notes %q", res.Notes)
	}
	if got := modeOf(t, host); got != 0o640 {
		t.Errorf("mode %v", got)
	}
	// It is told once, and going back works too.
	if res := want(t, a, set("22", "b"), RolledBack, "no"); len(res.Notes) != 0 {
		t.Errorf("notes %q", res.Notes)
	}
	if got := files(t, filepath.Dir(host))["host.cfg"]; got != "1" {
		t.Errorf("the file has %q", got)
	}
}

// F11: what a killed process has left goes, and nothing else.
func TestF11StaleFilesAreSwept(t *testing.T) {
	dir := t.TempDir()
	a := opened(t, Target{Name: "bird", Dir: dir})
	want(t, a, set("1", "a"), Applied, "")
	kept := map[string]string{"bird.cfg": "1", "bird_ipam.cfg": "a"}
	for _, name := range []string{".bird.cfg.birdconfd-", ".bird.cfg.birdconfd-12x", ".bird.cfg.swp", ".bird.cfg123", "bird.cfg.birdconfd-1", ".other.cfg.birdconfd-1"} {
		writeFile(t, filepath.Join(dir, name), "foreign", 0o600)
		kept[name] = "foreign"
	}
	delete(kept, ".bird.cfg.birdconfd-") // that is one of ours without any digits
	for _, name := range []string{".bird.cfg.birdconfd-123", ".bird_ipam.cfg.birdconfd-9"} {
		writeFile(t, filepath.Join(dir, name), "stale", 0o600)
	}
	if err := os.MkdirAll(filepath.Join(a.state, setPrefix+"0123"), 0o700); err != nil {
		t.Fatal(err)
	}
	a = reopened(t, a)
	hasFiles(t, dir, kept)
	if n := stagedSets(t, a); n != 1 {
		t.Errorf("%d sets are kept", n)
	}
	// Without a record they are found when their place is written.
	if err := os.RemoveAll(filepath.Join(dir, ".birdconfd")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, ".bird.cfg.birdconfd-77"), "stale", 0o600)
	a = reopened(t, a)
	want(t, a, set("1", "a"), Applied, "")
	hasFiles(t, dir, kept)
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	done, err := Write(Target{Dir: dir}, set("1", "a"))
	if err != nil || len(done.Changed) != 2 || len(done.Unchanged) != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	done, err = Write(Target{Dir: dir}, set("2", "a"))
	if err != nil || len(done.Changed) != 1 || len(done.Unchanged) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	hasFiles(t, dir, map[string]string{"bird.cfg": "2", "bird_ipam.cfg": "a"})
}

// A directory with the file's name that appears in between is as bad as it gets.
func TestReplacingFailsHalfWay(t *testing.T) {
	dir, f := t.TempDir(), &fake{}
	a := opened(t, Target{Name: "bird", Dir: dir, Reloader: f})
	want(t, a, set("1", "a"), Applied, "")
	path := filepath.Join(dir, "bird.cfg")
	a.step = func(s string) {
		if s == "replace bird.cfg" {
			_ = os.Remove(path)
			_ = os.MkdirAll(filepath.Join(path, "in the way"), 0o755)
		}
	}
	want(t, a, set("2", "b"), Rejected, "write: replace "+path+": file exists")
	a.step = func(string) {}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	want(t, a, set("2", "b"), Applied, "")
	hasFiles(t, dir, map[string]string{"bird.cfg": "2", "bird_ipam.cfg": "b"})
}
