package apply

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/moby/sys/mountinfo"
)

// destination is a file as it is now.
type destination struct {
	// real is the path with symbolic links followed.
	real string
	// old is nil when there is no file.
	old fs.FileInfo
	// mounted tells that the file itself is a mount point, so that it cannot be replaced
	// and is written in place.
	mounted bool
}

// resolve finds the file that is to be replaced. Links are followed, so that they stay.
func resolve(path string) (destination, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return destination{real: path}, nil
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		to, _ := os.Readlink(path)
		return destination{}, fmt.Errorf("it is a symbolic link to %s, which does not exist; make that file, or remove the link", to)
	} else if err != nil {
		return destination{}, fmt.Errorf("follow the symbolic link: %w", cause(err))
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return destination{}, cause(err)
	case info.IsDir():
		return destination{}, errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return destination{}, errors.New("it is not a regular file")
	}
	absolute, err := filepath.Abs(real)
	if err != nil {
		return destination{}, cause(err)
	}
	mounted, err := mountinfo.Mounted(absolute)
	if err != nil {
		return destination{}, fmt.Errorf("find out whether it is a mount point: %w", cause(err))
	}
	return destination{real: absolute, old: info, mounted: mounted}, nil
}

// access is the mode and the owner that a file shall have.
type access struct {
	mode fs.FileMode
	// uid and gid are -1 where nothing is asked for.
	uid, gid int
	// wish: the owner is not given if that is not permitted.
	wish bool
}

// accessOf works out the access of a file. model is the main file as it is, for files that
// are new; nil without one.
func (t *Target) accessOf(d destination, model fs.FileInfo, f File) access {
	a := access{mode: 0o644, uid: -1, gid: -1}
	if f.Secret {
		a.mode = 0o600
	}
	like := d.old
	if like == nil {
		like = model
	}
	if like != nil {
		a.mode = like.Mode().Perm()
	}
	if s, ok := statOf(like); ok {
		a.uid, a.gid = int(s.Uid), int(s.Gid)
		// Only root can give a new file away; whoever else runs this owns it.
		a.wish = d.old == nil
	}
	if mode := cmp.Or(f.Mode, t.Mode); mode != 0 {
		a.mode = mode.Perm()
	}
	if owner := cmp.Or(f.Owner, t.Owner); owner != nil {
		if owner.UID >= 0 {
			a.uid, a.wish = owner.UID, false
		}
		if owner.GID >= 0 {
			a.gid, a.wish = owner.GID, false
		}
	}
	if f.Secret {
		a.mode &^= 0o007
	}
	return a
}

// accessNow is what the files of those names can be read by.
func (t *Target) accessNow(names []string) map[string]fileAccess {
	out := map[string]fileAccess{}
	for _, name := range names {
		dest, err := resolve(t.path(name))
		if err != nil {
			continue // which shows when it is written
		}
		if s, ok := statOf(dest.old); ok {
			out[name] = fileAccess{dest.old.Mode().Perm(), int(s.Uid), int(s.Gid)}
		}
	}
	return out
}

func statOf(info fs.FileInfo) (*syscall.Stat_t, bool) {
	if info == nil {
		return nil, false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return s, ok
}

// fits tells whether a file has this access already.
func (a access) fits(info fs.FileInfo) bool {
	return info.Mode().Perm() == a.mode && a.owned(info)
}

func (a access) owned(info fs.FileInfo) bool {
	s, ok := statOf(info)
	return ok && (a.uid < 0 || int(s.Uid) == a.uid) && (a.gid < 0 || int(s.Gid) == a.gid)
}

// give gives a file its access: the owner first, so that the mode never serves the wrong
// one. Bits that go are taken away before.
func (a access) give(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return cause(err)
	}
	if narrow := info.Mode().Perm() & a.mode; narrow != info.Mode().Perm() {
		if err := f.Chmod(narrow); err != nil {
			return cause(err)
		}
	}
	if !a.owned(info) {
		if err := f.Chown(a.uid, a.gid); err != nil && !(a.wish && errors.Is(err, fs.ErrPermission)) {
			return fmt.Errorf("give it to user %d and group %d: %w", a.uid, a.gid, cause(err))
		}
	}
	return cause(f.Chmod(a.mode))
}

// syncDir makes sure that what was renamed in a directory stays so.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return cause(err)
	}
	defer d.Close()
	return cause(d.Sync())
}

// cause leaves out the operation and the path, which the caller names better.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}
