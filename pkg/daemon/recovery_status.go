package daemon

import (
	"maps"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/recovery"
)

// GracefulRestart is what is known of a daemon's restart (RFC 4724) without asking it.
type GracefulRestart struct {
	// Condition is "down", "recovering", "steady", or "silent" when it cannot be asked.
	Condition recovery.Condition `json:"condition"`
	// Skipped are the sessions that the recovery from the last start does not wait for, or
	// while BIRD is down that from the next one will not wait for.
	Skipped []recovery.Skipped `json:"skipped,omitempty"`
	// Without are the sessions that have graceful restart turned off, and get it back when
	// they are down next and BIRD is steady, unless a template does that.
	Without []string `json:"without,omitempty"`
	// Deferred are the sessions whose change or removal waits until BIRD has recovered, and
	// DeferredAll tells that the whole of the newest configuration does, because of them.
	Deferred    []string `json:"deferred,omitempty"`
	DeferredAll bool     `json:"deferredAll,omitempty"`
	// NextStart are the settings that BIRD has read and heeds only when it starts.
	NextStart []NextStart `json:"nextStart,omitempty"`
	// Released counts the peers that the recovery was made to wait for no longer.
	Released map[recovery.Reason]uint64 `json:"released"`
}

// NextStart is a setting that BIRD heeds only when it starts. All are texts for people.
type NextStart struct {
	Statement  string `json:"statement"`
	Running    string `json:"running"`
	Configured string `json:"configured"`
}

// gracefulRestart is nil for a target that cannot be watched.
func (t *target) gracefulRestart() *GracefulRestart {
	if t.watcher == nil {
		return nil
	}
	g := &GracefulRestart{Condition: t.state.Condition, Without: t.inPlace.Without(),
		Deferred: t.plan.Deferred, Released: maps.Clone(t.released)}
	if t.awaits != nil {
		g.Deferred, g.DeferredAll = t.awaits, true
	}
	if t.state.Condition == recovery.Down {
		g.Skipped = recovery.StartedWith(t.inPlace, t.state.At).Skipped
		return g
	}
	g.Skipped = append(g.Skipped, t.started.Skipped...)
	for _, r := range t.state.Released {
		g.Skipped = append(g.Skipped, recovery.Skipped{Name: r.Name, Node: t.policy.NotReady[r.Name], Why: r.Why, Released: true})
	}
	if !t.started.Booted.IsZero() {
		for _, c := range t.started.Settings.Changes(t.inPlace.Start) {
			g.NextStart = append(g.NextStart, NextStart(c))
		}
	}
	return g
}

// bootedWith notes what the daemon was started with, as far as that is known: it is what was
// in place when the daemon was seen to be down, or what was noted then.
func (l *loop) bootedWith(t *target, before recovery.State) {
	dir := apply.StatePath(t.config.Directory, l.o.StateDir, t.config.Name)
	if before.Condition == recovery.Unseen || before.Condition == recovery.Silent {
		known, err := recovery.LoadStarted(dir)
		if err != nil {
			l.log.Warn(err.Error(), "target", t.config.Name)
		}
		if t.started = (recovery.Started{}); known.Fits(t.state.Booted) {
			t.started = known
		}
		return
	}
	t.started = recovery.StartedWith(t.inPlace, t.state.Booted)
	if t.fingerprint == nil {
		return // the target is not this process's
	}
	if err := t.started.Save(dir); err != nil {
		l.log.Warn("what BIRD was started with could not be noted", "target", t.config.Name, "error", err)
	}
}
