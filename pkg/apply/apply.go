package apply

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

// Apply makes the target have these files, the main file first, and use them. Either all
// of them end up in place or, when the check or the daemon refuses them or they cannot be
// written, none. Apply may be called again with the same files: that is how what was left
// undone is tried again.
//
// An error is an *Error, that of the context, which ends a transaction only before files are
// replaced, or that of Conditions.Permit.
func (a *Applier) Apply(ctx context.Context, files []File) (Result, error) {
	return a.transact(ctx, files, nil)
}

// apply does it, for files that are to have the access that they had before, if any.
func (a *Applier) apply(ctx context.Context, files []File, before map[string]fileAccess) (Result, error) {
	id := fingerprint(a.record.Key, files)
	res := Result{Outcome: Rejected, Desired: id, Applied: a.record.Applied}
	if err := a.keepState(); err != nil {
		return res, &Error{StageWrite, err}
	}
	for _, f := range files {
		a.sweep(a.target.path(f.Name))
	}
	changes, err := a.target.plan(files, before)
	if err != nil {
		return res, &Error{StageWrite, err}
	}
	a.note(&res, changes)
	isNew := slices.ContainsFunc(changes, func(c *change) bool { return c.bytes })
	if !isNew && len(changes) > 0 {
		if err := a.adjust(changes, &res); err != nil {
			return res, err
		}
	}
	if !isNew && id == a.record.Desired.ID && a.record.Phase != phaseNone {
		if done, err := a.upToDate(ctx, id); done || err != nil {
			res.Outcome = Unchanged
			if err != nil {
				res.Outcome = Placed
			}
			return res, err
		}
		if err := a.permitted(ctx); err != nil {
			res.Outcome = Placed
			return res, err
		}
	} else {
		if err := a.stageAndCheck(ctx, id, files, &res); err != nil {
			return res, err
		}
		if err := a.dare(ctx, id); err != nil {
			return res, err
		}
		if err := a.permitted(ctx); err != nil {
			a.drop()
			return res, err
		}
		if err := a.place(id, files, changes, &res); err != nil {
			return res, err
		}
	}
	return a.reload(ctx, files, res)
}

// Maintain makes sure that what is in place, by the record, still is, and that the daemon
// uses it. It is for the time in which a newer set cannot be applied.
func (a *Applier) Maintain(ctx context.Context) (Result, error) {
	if a.record.Phase == phaseNone || len(a.record.Desired.Names) == 0 {
		return Result{Outcome: Unchanged}, nil
	}
	if err := a.keepState(); err != nil {
		return Result{Outcome: Rejected}, &Error{StageWrite, err}
	}
	set := a.record.Desired
	if a.record.Phase == phaseRestoring {
		set = *a.record.Previous
	}
	files, err := a.staged(set)
	if err != nil {
		return Result{Outcome: Rejected}, &Error{StageWrite, err}
	}
	return a.transact(ctx, files, set.Access)
}

// dare refuses to put a set in place that the daemon has refused before, unless the daemon
// can be asked once more: one that starts with it would not come up.
func (a *Applier) dare(ctx context.Context, id string) error {
	p, ok := a.target.Reloader.(prober)
	if !ok || id != a.record.Refused {
		return nil
	}
	err := p.reach(ctx)
	if a.heard(err); err != nil {
		a.drop()
		return &Error{StageReload, fmt.Errorf("%w; these files were refused before, so they are put in place only when BIRD can be asked", err)}
	}
	return nil
}

// adjust gives files that need nothing else the right owner and mode.
func (a *Applier) adjust(changes []*change, res *Result) error {
	if err := prepare(changes); err != nil {
		return &Error{StageWrite, err}
	}
	defer discard(changes)
	changed, err := commit(changes, a.step)
	res.Changed = append(res.Changed, changed...)
	if err != nil {
		return &Error{StageWrite, err}
	}
	res.Notes = append(res.Notes, "put the owner or the mode right of "+strings.Join(changed, ", "))
	return nil
}

// note tells, once for each file, that it is written in place.
func (a *Applier) note(res *Result, changes []*change) {
	for _, c := range changes {
		if c.dest.mounted && !a.told[c.path] {
			a.told[c.path] = true
			res.Notes = append(res.Notes, fmt.Sprintf("%s is a mount point, so it is written in place, which is not atomic", c.path))
		}
	}
}

// upToDate tells whether the daemon uses the set that is in place. An error says that it
// could not be asked; then it remains open.
func (a *Applier) upToDate(ctx context.Context, id string) (bool, error) {
	if a.record.Phase != phaseApplied || a.record.Applied != id || a.distrusted {
		return false, nil
	}
	asked, ok := a.target.Reloader.(identifier)
	if !a.unsure && !a.suspected || !ok || a.record.Instance == "" {
		return true, nil
	}
	same, err := asked.Runs(ctx, a.record.Instance, !a.unsure)
	if a.heard(err); err != nil {
		return false, &Error{StageReload, err}
	}
	if same { // otherwise that remains open until it is
		a.unsure, a.suspected = false, false
	}
	return same, nil
}

// Suspect says that somebody may have had the daemon load something else, so that the next
// Apply asks it.
func (a *Applier) Suspect() { a.suspected = true }

// Undone tells that the trial of this very set was the last to fail, and nothing else was
// applied since.
func (a *Applier) Undone(files []File) bool {
	return a.record.Undone && a.record.Refused == fingerprint(a.record.Key, files)
}

// ErrUndone tells that a set is not tried by itself because its trial has failed.
var ErrUndone = errors.New("the trial of this configuration failed before, so it is not tried again until something changes or it is asked for")

// Distrust says that the daemon was started anew, so that the next Apply reloads it even if
// no file changes.
func (a *Applier) Distrust() { a.distrusted = true }

func (a *Applier) stageAndCheck(ctx context.Context, id string, files []File, res *Result) error {
	if err := a.stage(id, files); err != nil {
		return &Error{StageWrite, err}
	}
	dir := a.setDir(id)
	if err := linkBeside(dir, a.target.Beside, files); err != nil {
		return &Error{StageWrite, err}
	}
	if a.target.Check != nil {
		a.step("check")
		if err := a.target.Check(ctx, filepath.Join(dir, files[0].Name)); err != nil {
			if ctx.Err() != nil {
				a.drop()
				return context.Cause(ctx)
			}
			res.Kept = a.reject(id)
			return &Error{StageCheck, strip(err, dir)}
		}
	}
	if ctx.Err() != nil {
		a.drop()
		return context.Cause(ctx)
	}
	return nil
}

// drop removes a staged set that came to nothing.
func (a *Applier) drop() {
	if err := a.prune(); err != nil {
		a.log.Warn("a staged copy could not be removed", "target", a.target.Name, "error", err)
	}
}

// strip takes the directory of the stage out of what BIRD says about files in it.
func strip(err error, dir string) error {
	if c, ok := errors.AsType[*bird.ConfigError](err); ok {
		short := *c
		short.File = strings.TrimPrefix(c.File, dir+"/")
		short.Message = strings.ReplaceAll(c.Message, dir+"/", "")
		short.Output = strings.ReplaceAll(c.Output, dir+"/", "")
		return &short
	}
	if text := err.Error(); strings.Contains(text, dir+"/") {
		return &shortened{strings.ReplaceAll(text, dir+"/", ""), err}
	}
	return err
}

// shortened is an error with another text.
type shortened struct {
	text string
	err  error
}

func (e *shortened) Error() string { return e.text }

func (e *shortened) Unwrap() error { return e.err }

// place replaces the files. From the moment the record says so a crash is made good by
// going on.
func (a *Applier) place(id string, files []File, changes []*change, res *Result) error {
	if err := a.keepPrevious(files); err != nil {
		return &Error{StageWrite, err}
	}
	a.step("prepare")
	if err := prepare(changes); err != nil {
		a.drop()
		return &Error{StageWrite, err}
	}
	defer discard(changes)
	before := a.record
	a.record.Phase, a.record.Desired = phasePlacing, describe(id, files)
	a.step("record placing")
	if err := a.record.save(a.state); err != nil {
		a.record = before
		a.drop()
		return &Error{StageWrite, err}
	}
	a.vouch("", false)
	changed, err := commit(changes, a.step)
	res.Changed = append(res.Changed, changed...)
	if err != nil {
		return &Error{StageWrite, errors.Join(err, a.restore())}
	}
	res.Outcome = Placed
	return nil
}

// keepPrevious copies what is in place before the first change ever, so that there is
// something to go back to. Later that is the set that was applied last.
func (a *Applier) keepPrevious(files []File) error {
	if a.record.Previous != nil {
		return nil
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	old, err := a.target.inPlace(names)
	if err != nil {
		return err
	}
	id := fingerprint(a.record.Key, old)
	if err := a.stage(id, old); err != nil {
		return err
	}
	s := describe(id, old)
	s.Access = a.target.accessNow(s.Names)
	a.record.Previous = &s
	return nil
}
