package daemon

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Readiness tells whether the daemon serves what the newest data asks for.
type Readiness struct {
	Ready bool `json:"ready"`
	// Reasons are why it is not ready, each a sentence for people that begins with what it
	// is about.
	Reasons []string `json:"reasons"`
	// Notes are worth knowing and do not make it less ready.
	Notes []string `json:"notes,omitempty"`
}

// readiness judges a status, nil for one that is not there yet. A daemon whose source has
// been read once and is gone stays ready: it goes on with what it knows.
func readiness(s *Status, now time.Time) Readiness {
	r := Readiness{Reasons: []string{}}
	if s == nil {
		r.because("birdconfd is starting and has read nothing yet")
		return r
	}
	r.source(s)
	r.config(&s.Config)
	for i := range s.Targets {
		r.target(&s.Targets[i], now)
	}
	r.Ready = len(r.Reasons) == 0
	return r
}

func (r *Readiness) because(format string, args ...any) {
	r.Reasons = append(r.Reasons, oneLine(fmt.Sprintf(format, args...)))
}

func (r *Readiness) note(format string, args ...any) {
	r.Notes = append(r.Notes, oneLine(fmt.Sprintf(format, args...)))
}

func (r *Readiness) source(s *Status) {
	source := &s.Source
	switch {
	case !source.Synced:
		r.because("source: %s has not been read completely yet%s", source.Kind, colon(source.LastError))
		for i := range s.Targets {
			if t := &s.Targets[i]; t.Applied != "" {
				r.note("%s: serving what was applied at %s", t.Name, clock(t.AppliedAt))
			}
		}
	case !source.Connected:
		r.note("source: %s cannot be read now, at least in part; what was read before, certain at %s, stays in use%s",
			source.Kind, clock(source.SyncedAt), colon(source.LastError))
	case source.LastError != "":
		r.note("source: a part of %s cannot be read now%s", source.Kind, colon(source.LastError))
	}
}

func (r *Readiness) config(c *ConfigStatus) {
	switch {
	case c.LoadedAt.IsZero():
		r.because("config: conf.d and the templates have never loaded; the problems say why")
	case !c.OK:
		r.note("config: conf.d and the templates do not load any more; those of %s stay in use, and the problems say why", clock(c.LoadedAt))
	}
}

// target gives the reasons of one target. Of those that follow from one another only the
// first counts.
func (r *Readiness) target(t *TargetStatus, now time.Time) {
	switch {
	case t.Withheld:
		r.because("%s: there is nothing to apply, because of a problem; %s", t.Name, stays(t))
	case t.Held != nil:
		r.because("%s: the newest configuration has been held back for %s, until %s if it stays the same: %s",
			t.Name, seconds(now.Sub(t.Held.Since)), clock(t.Held.Until), t.Held.Reason)
	case t.Desired == "" && t.Failures == 0:
		r.because("%s: nothing has been rendered yet; %s", t.Name, stays(t))
	case t.deferred() != "":
		r.because("%s: %s", t.Name, t.deferred())
	case t.Desired != t.Applied || !t.PendingSince.IsZero():
		r.because("%s: the newest configuration has not been applied%s%s%s", t.Name, waiting(t, now), lastError(t), retry(t, now))
	}
	if t.BIRD.Watched && !t.BIRD.Up {
		since := ""
		if !t.BIRD.Since.IsZero() {
			since = " for " + seconds(now.Sub(t.BIRD.Since))
		}
		r.because("%s: BIRD has not been running%s: nothing answers at %s", t.Name, since, t.Socket)
	}
}

// deferred tells what waits until BIRD has recovered, "" when nothing does.
func (t *TargetStatus) deferred() string {
	g := t.GracefulRestart
	switch {
	case g == nil || len(g.Deferred) == 0 && !g.DeferredAll:
		return ""
	case g.DeferredAll:
		return "the newest configuration waits until BIRD has recovered from its start, which waits for " + cmp.Or(strings.Join(someOf(g.Deferred), ", "), "nobody any more")
	}
	return "changes of sessions wait until BIRD has recovered from its start, which waits for them: " + strings.Join(someOf(g.Deferred), ", ")
}

// stays tells what a target serves that gets nothing new.
func stays(t *TargetStatus) string {
	if t.Applied == "" {
		return "nothing was applied before"
	}
	return "what was applied at " + clock(t.AppliedAt) + " stays"
}

func waiting(t *TargetStatus, now time.Time) string {
	if t.PendingSince.IsZero() {
		return ""
	}
	return " for " + seconds(now.Sub(t.PendingSince))
}

func lastError(t *TargetStatus) string {
	if t.Last == nil {
		return ": it is being tried for the first time"
	}
	return colon(t.Last.Error)
}

func retry(t *TargetStatus, now time.Time) string {
	if t.RetryAt.IsZero() {
		return ""
	}
	return "; the next attempt is in " + seconds(max(0, t.RetryAt.Sub(now)))
}

// colon puts a colon before a text that is there.
func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.UTC().Format(time.RFC3339)
}

// seconds gives a duration as people say it.
func seconds(d time.Duration) string { return d.Round(time.Second).String() }

// String gives the reasons and notes, a line each.
func (r Readiness) String() string {
	var b strings.Builder
	if r.Ready {
		b.WriteString("ready\n")
	}
	for _, lines := range [][]string{r.Reasons, r.Notes} {
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
