package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

// isRefusal tells whether a daemon has judged the files themselves to be bad. Everything
// else may be different the next time, with the same files.
func isRefusal(err error) bool {
	if r, ok := errors.AsType[*bird.RefusedError](err); ok {
		return r.BadConfig()
	}
	_, collapsed := errors.AsType[*CollapsedError](err)
	return collapsed
}

// rollBack puts the previous set back and has the daemon read it, since it may have taken
// a part of the new one.
func (a *Applier) rollBack(ctx context.Context, main string, res *Result) error {
	if err := a.restore(); err != nil {
		return err
	}
	previous := *a.record.Previous
	if !slices.Contains(previous.Names, main) {
		return nil // there was nothing before, and the daemon goes on with what it has
	}
	a.step("reload previous")
	reload := a.target.Reloader.Reload
	if k, ok := a.target.Reloader.(keeper); ok {
		reload = k.reloadForGood
	}
	verdict, err := reload(ctx, a.target.path(main))
	a.heard(err)
	if errors.Is(err, bird.ErrNotRunning) {
		return nil // it finds them when it starts
	} else if err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	a.record.Phase, a.record.Applied, a.record.Instance, a.record.AppliedAt = phaseApplied, previous.ID, verdict.Instance, time.Now()
	a.unsure, a.suspected, a.distrusted = false, false, false
	res.Applied = previous.ID
	if err := a.record.save(a.state); err != nil {
		res.Notes = append(res.Notes, fmt.Sprintf("what was applied could not be recorded in %s: %s", a.state, err))
	}
	return nil
}

// restore puts the previous set back in place. It goes on when that cannot be recorded.
func (a *Applier) restore() error {
	a.vouch("", false)
	a.record.Phase = phaseRestoring
	a.step("record restoring")
	unsaved := a.record.save(a.state) // goes on all the same: the files matter more
	if _, err := a.finish(*a.record.Previous); err != nil {
		return errors.Join(err, unsaved)
	}
	a.step("record restored")
	if err := a.restored(); err != nil {
		a.log.Warn("files were put back, but that could not be recorded", "target", a.target.Name, "error", err)
		return nil
	}
	a.drop()
	return nil
}

// restored records that the previous set is in place. If the daemon never had that from us,
// as it has no main file, it is nobody's to load.
func (a *Applier) restored() error {
	previous, desired := *a.record.Previous, a.record.Desired.Names
	a.record.Phase = phasePlacing
	if len(desired) == 0 || !slices.Contains(previous.Names, desired[0]) {
		a.record.Phase = phaseNone
	}
	a.record.Desired = previous
	return a.record.save(a.state)
}

// removals adds to changes the removal of files that the desired set has and this one has
// not.
func (a *Applier) removals(set setInfo, changes []*change) ([]*change, error) {
	var removed []*change
	for _, name := range a.record.Desired.Names {
		if slices.Contains(set.Names, name) {
			continue
		}
		path := a.target.path(name)
		dest, err := resolve(path)
		if err != nil {
			return nil, fmt.Errorf("remove %s: %w", path, err)
		}
		if dest.old == nil {
			continue
		}
		old, err := os.ReadFile(dest.real)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, cause(err))
		}
		removed = append(removed, &change{path: path, dest: dest, remove: true, bytes: true, old: old,
			access: a.target.accessOf(dest, nil, File{})})
	}
	if len(set.Names) == 0 || set.Names[0] != a.record.Desired.Names[0] {
		return append(removed, changes...), nil // the main file goes, before what it includes
	}
	return append(changes, removed...), nil // it does not include them any more
}
