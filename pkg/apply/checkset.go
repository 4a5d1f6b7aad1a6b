package apply

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// checkPrefix begins the names of directories for sets that are only checked.
const checkPrefix = "birdconfd-check-"

// CheckSet has a set checked, with what is in another directory beside it (Target.Beside), in a directory for temporary files, which nobody else can
// read, and leaves nothing there. Names of files in what the check says are without
// directories. What an earlier process that was killed has left there is removed.
func CheckSet(ctx context.Context, files []File, beside string, check func(ctx context.Context, main string) error) error {
	sweepChecks()
	dir, err := os.MkdirTemp("", checkPrefix) // mode 0700
	if err != nil {
		return &Error{StageWrite, err}
	}
	defer os.RemoveAll(dir)
	lock, err := lockDir(dir)
	if err != nil {
		return &Error{StageWrite, err}
	}
	defer lock.Close()
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			return &Error{StageWrite, fmt.Errorf("write %s: %w", f.Name, cause(err))}
		}
	}
	if err := linkBeside(dir, beside, files); err != nil {
		return &Error{StageWrite, err}
	}
	if err := check(ctx, filepath.Join(dir, files[0].Name)); err != nil {
		return &Error{StageCheck, strip(err, dir)}
	}
	return nil
}

// lockDir marks a directory as in use for as long as the result is open.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweepChecks removes directories of checks whose process is gone.
func sweepChecks() {
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		return // the check itself will tell
	}
	for _, e := range entries {
		path := filepath.Join(os.TempDir(), e.Name())
		info, err := e.Info()
		if !strings.HasPrefix(e.Name(), checkPrefix) || err != nil || !info.IsDir() {
			continue
		}
		if s, ok := info.Sys().(*syscall.Stat_t); !ok || int(s.Uid) != os.Getuid() {
			continue
		}
		if lock, err := lockDir(path); err == nil {
			_ = os.RemoveAll(path) // the next check tries again
			lock.Close()
		}
	}
}
