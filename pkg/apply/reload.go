package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// reload makes the daemon use what is in place, and goes back when it refuses.
func (a *Applier) reload(ctx context.Context, files []File, res Result) (Result, error) {
	stop := ctx.Done()
	ctx, cancel := graceful(ctx, cmp.Or(a.target.Grace, defaultGrace))
	defer cancel()
	res.Outcome = Placed
	if a.target.Reloader == nil {
		return a.applied(res)
	}
	res.Reloaded = true
	a.step("reload")
	verdict, err := a.ask(ctx, a.target.path(files[0].Name), stop)
	a.heard(err)
	a.step("reloaded")
	if err == nil {
		res.Verdict = verdict
		if verdict.Note != "" {
			res.Notes = append(res.Notes, verdict.Note)
		}
		return a.applied(res)
	}
	// A set that was refused before does not stay in place while the daemon cannot be asked.
	if !isRefusal(err) && res.Desired != a.record.Refused {
		return res, &Error{StageReload, err}
	}
	if a.record.Previous != nil && a.record.Previous.ID == res.Desired {
		return res, &Error{StageReload, fmt.Errorf("%w; it is the set that was applied before, so there is none to go back to", err)}
	}
	_, undone := errors.AsType[*CollapsedError](err)
	select {
	case <-stop: // it was cut short, which is no verdict
		undone = false
	default:
	}
	a.record.Undone = undone || a.record.Undone && a.record.Refused == res.Desired
	a.record.Refused = res.Desired
	if back := a.rollBack(ctx, files[0].Name, &res); back != nil {
		return res, &Error{StageReload, fmt.Errorf("%w; going back to the files before: %w", err, back)}
	}
	res.Outcome = RolledBack
	return res, &Error{StageReload, err}
}

// trialMemory is how long sessions that a failed trial has cost are expected to come back.
const trialMemory = 10 * time.Minute

// ask has the daemon read its configuration. The sessions that a trial is to bring back are
// recorded: if it fails or comes to no end, the next one finds them down already, and must
// not take that for how things were.
func (a *Applier) ask(ctx context.Context, main string, stop <-chan struct{}) (Verdict, error) {
	k, ok := a.target.Reloader.(keeper)
	switch {
	case !ok:
		return a.target.Reloader.Reload(ctx, main)
	case a.conditions.NoTrial:
		return k.reloadForGood(ctx, main)
	}
	if time.Since(a.record.TrialAt) > trialMemory {
		a.record.Trial = nil
	}
	return k.reloadKeeping(ctx, main, a.record.Trial, func(keep []string) {
		a.log.Info("a configuration is put on trial", "target", a.target.Name, "sessions", len(keep))
		if len(a.record.Trial) == 0 {
			a.record.TrialAt = time.Now() // what is owed already is not owed for longer
		}
		a.record.Trial = keep
		if err := a.record.save(a.state); err != nil {
			a.log.Warn("a trial could not be recorded", "target", a.target.Name, "error", err)
		}
	}, stop)
}

// graceful gives work that should not be left half done some time after its context ends.
func graceful(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(grace, func() { cancel(context.Cause(ctx)) })
		context.AfterFunc(out, func() { t.Stop() })
	})
	return out, func() { stop(); cancel(context.Canceled) }
}

// applied records that the daemon uses what is in place.
func (a *Applier) applied(res Result) (Result, error) {
	a.unsure, a.suspected, a.distrusted = false, false, false
	previous := a.record.Desired
	previous.Access = a.target.accessNow(previous.Names)
	if p := a.record.Previous; a.record.Refused == res.Desired || p == nil || p.ID != res.Desired {
		a.record.Refused, a.record.Undone = "", false // things have moved on
	}
	a.record.Phase, a.record.Previous, a.record.Trial = phaseApplied, &previous, nil
	a.record.Applied, a.record.Instance, a.record.AppliedAt = res.Desired, res.Verdict.Instance, time.Now()
	res.Outcome, res.Applied = Applied, res.Desired
	a.step("record applied")
	_ = os.RemoveAll(filepath.Join(a.state, rejectedName)) // what was wrong is over
	if err := a.record.save(a.state); err != nil {
		// The daemon does use it. After a restart it is told so once more.
		res.Notes = append(res.Notes, fmt.Sprintf("what was applied could not be recorded in %s: %s", a.state, err))
	} else if err := a.prune(); err != nil {
		res.Notes = append(res.Notes, fmt.Sprintf("old copies could not be removed from %s: %s", a.state, err))
	}
	return res, nil
}
