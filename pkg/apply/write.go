package apply

import (
	"fmt"
	"os"
	"slices"
)

// Written lists the paths of files that were replaced or made, and of those that were
// right already.
type Written struct {
	Changed, Unchanged []string
}

// Write only puts files into the target's directory, without check, reload and record, for
// those who use the result in another way. All are written beside their places before the
// first is moved there, so a full disk or a missing right leaves everything as it was.
func Write(t Target, files []File) (Written, error) {
	var done Written
	if err := os.MkdirAll(t.Dir, 0o755); err != nil {
		return done, fmt.Errorf("make the directory %s: %w", t.Dir, cause(err))
	}
	changes, err := t.plan(files, nil)
	if err != nil {
		return done, err
	}
	if err := prepare(changes); err != nil {
		return done, err
	}
	defer discard(changes)
	done.Changed, err = commit(changes, func(string) {})
	for _, f := range slices.Backward(files) {
		path := t.path(f.Name)
		if !slices.ContainsFunc(changes, func(c *change) bool { return c.path == path }) {
			done.Unchanged = append(done.Unchanged, path)
		}
	}
	if err != nil && len(done.Changed) > 0 {
		err = fmt.Errorf("%w; already replaced: %v", err, done.Changed)
	}
	return done, err
}
