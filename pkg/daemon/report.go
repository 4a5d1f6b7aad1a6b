package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// publish makes what the daemon knows visible.
func (l *loop) publish() {
	problems := l.problems()
	l.logProblems(problems)
	s := &Status{Node: l.o.Node, Version: l.o.Version, Started: l.started, Config: l.loading,
		Problems: problems, Renders: l.renders}
	for _, t := range l.targets {
		s.Targets = append(s.Targets, t.status())
	}
	l.status.Store(s)
}

// current returns the newest status; nil before there is one.
func (l *loop) current() *Status {
	s := l.status.Load()
	if s == nil {
		return nil
	}
	now := *s
	now.Source = l.o.Source.Status()
	if e := now.Source.LastError; e != "" && !now.Source.Synced {
		// Until there is a snapshot the source itself says what is wrong, and logs it.
		now.Problems = append(slices.Clone(now.Problems), calico.Problem{Severity: calico.Error, Rule: calico.RuleUnreadable, Message: e})
	}
	return &now
}

func (t *target) status() TargetStatus {
	s := TargetStatus{Name: t.config.Name, Family: t.config.FamilyName(), Directory: t.config.Directory,
		Socket: t.config.Socket, Applied: t.applied, PendingSince: t.pendingSince, AppliedAt: t.appliedAt,
		Last: t.last, Failures: t.failures, RetryAt: t.retryAt, Withheld: t.withheld, BIRD: t.bird,
		GracefulRestart: t.gracefulRestart(), Outcomes: maps.Clone(t.outcomes), Reloads: maps.Clone(t.reloads)}
	newest := t.sent
	if t.sent != nil {
		s.views = t.sent.input.Views
	}
	if t.awaits != nil {
		newest, s.views = t.waiting, t.waiting.input.Views
	}
	if t.held != nil {
		held := t.held.Held
		s.Held, newest = &held, t.held.job
	}
	if newest != nil && t.fingerprint != nil {
		if newest.id == "" {
			newest.id = t.fingerprint(newest.files)
		}
		s.Desired = newest.id
	}
	return s
}

// problems collects everything there is to report, sorted.
func (l *loop) problems() []calico.Problem {
	out := slices.Concat(l.loadProblems, l.renderProblems)
	for _, t := range l.targets {
		out = append(out, t.rendered.problems...)
		if t.problem != nil {
			out = append(out, *t.problem)
		}
		if t.held != nil {
			out = append(out, calico.Problem{Severity: calico.Error, Rule: calico.RuleGuard, Message: t.config.Name + ": " + t.held.Reason,
				Hint: heldHint})
		}
	}
	calico.SortProblems(out)
	return slices.Compact(out)
}

// logged are the rules of problems that the line about an attempt tells already; what is wrong
// at some place in a file it does not tell.
var logged = []string{calico.RuleGuard, calico.RuleWrite, calico.RuleReload}

// maxLogged is how many problems are logged at a time.
const maxLogged = 20

// logProblems logs those that were not there before, and how many are gone.
func (l *loop) logProblems(problems []calico.Problem) {
	now := make(map[string]bool, len(problems))
	fresh := 0
	for _, p := range problems {
		text := p.String()
		if now[text] {
			continue
		}
		now[text] = true
		if l.known[text] || slices.Contains(logged, p.Rule) && p.Position.IsZero() {
			continue
		}
		if fresh++; fresh > maxLogged {
			continue
		}
		l.logProblem(p)
	}
	if fresh > maxLogged {
		l.log.Warn("there are more problems, which are in the status", "more", fresh-maxLogged)
	}
	var gone []string
	for text := range l.known {
		if !now[text] {
			first, _, _ := strings.Cut(text, "\n") // without the hint
			gone = append(gone, first)
		}
	}
	if len(gone) > 0 {
		slices.Sort(gone)
		l.log.Info("problems are gone", "gone", len(gone), "which", someOf(gone), "left", len(now))
	}
	l.known = now
}

func (l *loop) logProblem(p calico.Problem) {
	args := []any{"rule", p.Rule}
	for _, a := range []struct{ key, value string }{{"resource", p.Resource}, {"field", p.Field}, {"at", p.Position.String()}, {"hint", p.Hint}} {
		if a.value != "" {
			args = append(args, a.key, a.value)
		}
	}
	switch p.Severity {
	case calico.Error:
		l.log.Error(p.Message, args...)
	case calico.Warning:
		l.log.Warn(p.Message, args...)
	default:
		l.log.Info(p.Message, args...)
	}
}

// logAttempt writes the one line about an attempt.
func (l *loop) logAttempt(t *target, r *report) {
	for _, note := range r.result.Notes {
		l.log.Warn(note, "target", t.config.Name)
	}
	args := []any{"target", t.config.Name}
	if len(r.result.Changed) > 0 {
		args = append(args, "files", r.result.Changed)
	}
	if r.job != nil && len(r.job.causes) > 0 && (len(r.result.Changed) > 0 || r.failures == 1) && !r.again {
		args = append(args, "cause", strings.Join(r.job.causes, "; "))
	}
	if words := t.last.Words; words != "" {
		args = append(args, "bird", words)
	}
	if r.result.Kept != "" {
		args = append(args, "refused_set", r.result.Kept)
	}
	args = append(args, "took", r.took.Round(time.Millisecond).String())
	if r.err == nil {
		t.quiet = ""
		what := map[apply.Outcome]string{apply.Applied: "applied", apply.Unchanged: "already applied"}[r.result.Outcome]
		switch {
		case r.again && len(r.result.Changed) > 0:
			what = "files were not what was applied, and were put right"
		case r.again && r.result.Outcome == apply.Applied:
			what = "BIRD had loaded something else; applied"
		case r.reconfirmed:
			what = "BIRD has come up; " + what
		case r.result.Outcome == apply.Applied && !r.result.Reloaded:
			what = "files are in place; nothing is to be reloaded"
		case r.result.Outcome == apply.Applied && !r.result.Verdict.Confirmed:
			what = "files are in place and BIRD was told, but it has not confirmed that it uses them"
		case r.result.Outcome == apply.Applied && len(r.result.Changed) == 0:
			what = "files were right; reloaded"
		}
		l.log.Info(cmp.Or(what, string(r.result.Outcome)), append(args, "set", r.result.Desired)...)
		return
	}
	args = append(args, "error", t.last.Error)
	if !t.retryAt.IsZero() {
		args = append(args, "retry_in", t.retryAt.Sub(r.started.Add(r.took)).Round(time.Millisecond).String())
	}
	again := t.quiet == t.last.Error && r.failures > 1
	t.quiet = t.last.Error
	what := outcomeText[r.result.Outcome]
	if _, collapsed := errors.AsType[*apply.CollapsedError](r.err); collapsed {
		what = "the trial failed; the files before are back in place"
	}
	switch {
	case again:
		l.log.Debug(what, args...)
	case isDown(r.err) && r.result.Outcome == apply.Placed:
		l.log.Warn(what+"; BIRD is not running", args...)
	default:
		l.log.Error(what, args...)
	}
}

// logMaintained writes what was done for a set that was applied before, while a newer one
// cannot be.
func (l *loop) logMaintained(t *target, r *report) {
	args := []any{"target", t.config.Name}
	for _, note := range r.result.Notes {
		l.log.Warn(note, args...)
	}
	if len(r.result.Changed) > 0 {
		l.log.Warn("files were not what was applied last, and were put right", append(args, "files", r.result.Changed)...)
	}
	switch {
	case r.err != nil && !isDown(r.err):
		l.log.Error("what was applied last could not be looked after", append(args, "error", conceal(r, r.err.Error()))...)
	case r.err == nil && r.result.Reloaded:
		l.log.Info("BIRD did not run what was applied last, and was made to", append(args, "bird", conceal(r, r.result.Verdict.Words))...)
	}
}

var outcomeText = map[apply.Outcome]string{
	apply.Placed:     "files are in place, but BIRD does not use them yet",
	apply.RolledBack: "BIRD did not take the files; the ones before are back in place",
	apply.Rejected:   "nothing was replaced",
}

// applyProblem makes a problem of a failed attempt.
func applyProblem(r *report, text string) calico.Problem {
	p := calico.Problem{Severity: calico.Error, Message: r.of.config.Name + ": " + text}
	stage := apply.StageReload
	var err error = r.err
	if e, ok := errors.AsType[*apply.Error](r.err); ok {
		stage, err = e.Stage, e.Err
	}
	switch stage {
	case apply.StageCheck:
		return CheckProblem(r.of.config.Name, r.job.rendered, r.job.input, err)
	case apply.StageWrite:
		p.Rule = calico.RuleWrite
	default:
		p.Rule = calico.RuleReload
		if strings.Contains(text, "Permission denied") {
			p.Hint = "BIRD may read its files as another user: conf.d sets their owner and mode"
		}
		if isDown(r.err) && r.result.Outcome == apply.Placed {
			p.Severity = calico.Warning
			p.Message = fmt.Sprintf("%s: the files are in place, but BIRD is not running: %s", r.of.config.Name, err)
		}
	}
	return p
}
