package apply

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// tempMark is in the names of files that are on their way to their places, between the
// name of the place with a dot before it and digits. No one else's files are called so.
const tempMark = ".birdconfd-"

// change is a file to be replaced, or removed.
type change struct {
	path   string
	dest   destination
	access access
	data   []byte
	remove bool
	// bytes tells that the content changes, and not only the access.
	bytes bool
	// old is the content before; nil when there was no file.
	old []byte
	// temp is the path of the new file beside the place, "" when it is written in place.
	temp string
}

// plan finds out what has to change so that the target has these files. Included files
// come before the main file. before is the access that files had, as far as it is known, and
// are to have again.
func (t *Target) plan(files []File, before map[string]fileAccess) ([]*change, error) {
	var model fs.FileInfo
	var changes []*change
	for i, f := range files {
		path := t.path(f.Name)
		dest, err := resolve(path)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", path, err)
		}
		if i == 0 {
			model = dest.old
		}
		c := &change{path: path, dest: dest, access: t.accessOf(dest, model, f), data: f.Data, bytes: true}
		if b, ok := before[f.Name]; ok {
			c.access = access{mode: b.Mode, uid: b.UID, gid: b.GID, wish: true}
		}
		if dest.old != nil {
			if c.old, err = os.ReadFile(dest.real); err != nil {
				return nil, fmt.Errorf("read %s: %w", path, cause(err))
			}
			c.bytes = !bytes.Equal(c.old, f.Data)
			if !c.bytes && c.access.fits(dest.old) {
				continue
			}
		}
		changes = append(changes, c)
	}
	slices.Reverse(changes)
	return changes, nil
}

// prepare writes all new files beside their places. After an error nothing is left of them.
func prepare(changes []*change) error {
	for _, c := range changes {
		if c.remove || c.dest.mounted {
			continue
		}
		if err := c.prepare(); err != nil {
			discard(changes)
			return fmt.Errorf("write %s: %w", c.path, err)
		}
	}
	return nil
}

func (c *change) prepare() error {
	dir, base := filepath.Split(c.dest.real)
	f, err := os.CreateTemp(dir, "."+base+tempMark) // mode 0600
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("no file can be made in %s: %w; files are replaced by new ones, so the directory itself must be writable", filepath.Clean(dir), cause(err))
	} else if err != nil {
		return cause(err)
	}
	defer f.Close()
	c.temp = f.Name()
	if _, err := f.Write(c.data); err != nil {
		return cause(err)
	}
	if err := c.access.give(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil { // a full disk may show only now
		return cause(err)
	}
	return cause(f.Close())
}

// discard removes files that were not moved to their places.
func discard(changes []*change) {
	for _, c := range changes {
		if c.temp != "" {
			_ = os.Remove(c.temp) // what is left is swept at the next start
			c.temp = ""
		}
	}
}

// commit moves all files to their places. It returns the paths that have changed, also
// with an error.
func commit(changes []*change, step func(string)) ([]string, error) {
	var done []string
	dirs := map[string]bool{}
	for _, c := range changes {
		step("replace " + filepath.Base(c.path))
		if err := c.commit(); err != nil {
			return done, fmt.Errorf("replace %s: %w", c.path, err)
		}
		done = append(done, c.path)
		dirs[filepath.Dir(c.dest.real)] = true
	}
	for dir := range dirs {
		if err := syncDir(dir); err != nil {
			return done, fmt.Errorf("sync %s: %w", dir, err)
		}
	}
	return done, nil
}

func (c *change) commit() error {
	switch {
	case c.remove && c.dest.mounted:
		return c.inPlace(nil)
	case c.remove:
		if err := os.Remove(c.dest.real); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cause(err)
		}
		return nil
	case c.temp == "":
		err := c.inPlace(c.data)
		if err != nil && c.old != nil {
			c.access = access{mode: c.dest.old.Mode().Perm() & c.access.mode, uid: -1, gid: -1}
			if back := c.inPlace(c.old); back != nil {
				return fmt.Errorf("%w; putting the old content back: %w", err, back)
			}
		}
		return err
	}
	if err := os.Rename(c.temp, c.dest.real); err != nil {
		return cause(err)
	}
	c.temp = ""
	return nil
}

// inPlace writes a file that cannot be replaced. Who must not read the new content cannot
// from before the first byte on, and who could not read the old one not before the last. The
// end is cut off last, so that at no time it is empty.
func (c *change) inPlace(data []byte) error {
	f, err := os.OpenFile(c.dest.real, os.O_WRONLY, 0)
	if err != nil {
		return cause(err)
	}
	defer f.Close()
	if narrow := c.dest.old.Mode().Perm() & c.access.mode; narrow != c.dest.old.Mode().Perm() {
		if err := f.Chmod(narrow); err != nil {
			return cause(err)
		}
	}
	if _, err := io.Copy(f, bytes.NewReader(data)); err != nil {
		return cause(err)
	}
	if err := f.Truncate(int64(len(data))); err != nil {
		return cause(err)
	}
	if err := f.Sync(); err != nil {
		return cause(err)
	}
	if err := c.access.give(f); err != nil {
		return err
	}
	return cause(f.Close())
}

// sweep removes what an earlier run left on the way to a place, and tells what that was.
func sweep(real string) ([]string, error) {
	dir, base := filepath.Split(real)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, cause(err)
	}
	var left []string
	for _, e := range entries {
		digits, ours := strings.CutPrefix(e.Name(), "."+base+tempMark)
		if !ours || strings.Trim(digits, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return left, err
		}
		left = append(left, path)
	}
	return left, nil
}
