package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"

	"github.com/birdconfd/birdconfd/pkg/render"
)

// outcome lists the paths of files that were replaced or made, and of those that were
// right already.
type outcome struct {
	written, unchanged []string
}

// writeFiles writes files into a directory, which is made if it is missing. All are
// written beside their places first, and only when that worked are they moved there,
// included files before the one that includes them; so a full disk or a missing right
// leaves everything as it was.
func writeFiles(dir string, files []render.File) (outcome, error) {
	var done outcome
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return done, fmt.Errorf("make the directory %s: %w", dir, cause(err))
	}
	var all []*replacement
	for _, f := range slices.Backward(files) {
		path := filepath.Join(dir, f.Name)
		p, err := prepare(path, f)
		if err != nil {
			discard(all)
			return done, fmt.Errorf("write %s: %w", path, err)
		}
		if p == nil {
			done.unchanged = append(done.unchanged, path)
			continue
		}
		all = append(all, p)
	}
	var err error
	done.written, err = replaceAll(all)
	return done, err
}

// replaceAll moves files to their places and says which it did move.
func replaceAll(all []*replacement) ([]string, error) {
	defer discard(all)
	var written []string
	for _, p := range all {
		if err := p.temp.CloseAtomicallyReplace(); err != nil {
			err = fmt.Errorf("replace %s: %w", p.path, cause(err))
			if len(written) > 0 {
				err = fmt.Errorf("%w; already replaced: %s", err, strings.Join(written, ", "))
			}
			return written, err
		}
		written = append(written, p.path)
	}
	return written, nil
}

// discard removes what was not moved.
func discard(all []*replacement) {
	for _, p := range all {
		_ = p.temp.Cleanup() // nothing is left to do about an error
	}
}

// replacement is a file that is ready to take its place.
type replacement struct {
	path string
	temp *renameio.PendingFile
}

// prepare writes a file beside its place; nil when it is there already. A file that
// exists keeps its owner and its mode, except that a password is never readable by
// everybody. Until the new file has both nobody else can read it.
func prepare(path string, f render.File) (*replacement, error) {
	real, old, err := resolve(path)
	if err != nil {
		return nil, err
	}
	mode := fs.FileMode(0o644)
	if f.HasSecret {
		mode = 0o600
	}
	if old != nil {
		mode = old.Mode().Perm()
		if f.HasSecret {
			mode &^= 0o007
		}
		if data, err := os.ReadFile(real); err == nil && mode == old.Mode().Perm() && bytes.Equal(data, f.Data) {
			return nil, nil
		}
	}
	temp, err := create(real)
	if err != nil {
		return nil, err
	}
	if err := fill(temp, f.Data, old, mode); err != nil {
		_ = temp.Cleanup() // the error that is returned tells more
		return nil, err
	}
	return &replacement{path, temp}, nil
}

// create makes an empty file, which nobody else can read, beside a path.
func create(path string) (*renameio.PendingFile, error) {
	dir := filepath.Dir(path)
	temp, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithPermissions(0o600))
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("no file can be made in %s: %w; files are replaced by new ones, so the directory itself must be writable", dir, cause(err))
	} else if err != nil {
		return nil, cause(err)
	}
	return temp, nil
}

func fill(temp *renameio.PendingFile, data []byte, old fs.FileInfo, mode fs.FileMode) error {
	if _, err := temp.Write(data); err != nil {
		return cause(err)
	}
	if err := keepOwner(temp, old); err != nil {
		return fmt.Errorf("keep its owner and group: %w", cause(err))
	}
	if err := temp.Chmod(mode); err != nil {
		return cause(err)
	}
	return cause(temp.Sync()) // a full disk may show only now
}

// resolve follows symbolic links to the file to be replaced. Without one there the
// FileInfo is nil.
func resolve(path string) (string, fs.FileInfo, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		to, _ := os.Readlink(path)
		return "", nil, fmt.Errorf("it is a symbolic link to %s, which does not exist; make that file, or remove the link", to)
	} else if err != nil {
		return "", nil, fmt.Errorf("follow the symbolic link: %w", cause(err))
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return "", nil, cause(err)
	case info.IsDir():
		return "", nil, errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return "", nil, errors.New("it is not a regular file")
	}
	return real, info, nil
}

func keepOwner(temp *renameio.PendingFile, old fs.FileInfo) error {
	if old == nil {
		return nil
	}
	mine, err := temp.Stat()
	if err != nil {
		return err
	}
	was, ok1 := old.Sys().(*syscall.Stat_t)
	is, ok2 := mine.Sys().(*syscall.Stat_t)
	if !ok1 || !ok2 || (was.Uid == is.Uid && was.Gid == is.Gid) {
		return nil
	}
	return temp.Chown(int(was.Uid), int(was.Gid))
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
