package daemon

import (
	"fmt"
	"slices"
	"time"

	"github.com/birdconfd/birdconfd/pkg/recovery"
)

// logReadiness writes which nodes are not ready when that has changed.
func (l *loop) logReadiness() {
	var names []string
	for _, n := range l.computed.Nodes {
		if n.NotReady {
			names = append(names, n.Name)
		}
	}
	if !slices.Equal(names, l.notReady) {
		l.notReady = names
		l.log.Info("other nodes are not ready than before", "not_ready", len(names), "nodes", someOf(names))
	}
}

// logState writes what is new in a target's state.
func (l *loop) logState(t *target, before recovery.State) {
	now := t.state
	log := l.log.With("target", t.config.Name)
	if now.Condition != before.Condition || now.Start != before.Start {
		switch now.Condition {
		case recovery.Down:
			log.Warn("BIRD is not running: nothing answers at its control socket", "socket", t.config.Socket)
		case recovery.Silent:
			log.Warn("BIRD cannot be asked how it is", "error", now.Why.Error())
		case recovery.Recovering:
			log.Info("BIRD is running, and recovers from its start: routes are held back", "bird", now.Version.String(),
				"restarted", before.Start > 0 && now.Start != before.Start, "waiting_for", someOf(now.Holders()), "at_most", now.Recovery.Left.Round(time.Second).String())
		case recovery.Steady:
			if before.Condition == recovery.Recovering && before.Start == now.Start {
				log.Info("BIRD has recovered: routes are no longer held back")
				break
			}
			log.Info("BIRD is running", "bird", now.Version.String(), "restarted", before.Start > 0 && now.Start != before.Start)
		}
	}
	if v := t.config.Version; now.Start != before.Start && now.Up() && !now.Version.Is(v) {
		log.Error("the BIRD that runs is of another version than the files are for: choose other templates, with --set or in conf.d",
			"bird", now.Version.String(), "files_for", v)
	}
	if now.Start == 1 && before.Start == 0 && now.KeepsHolds() && l.o.ReleaseUnreachable > 0 {
		log.Warn("--release-unreachable has no effect: only BIRD 1.6 can be made to wait for a peer no longer", "bird", now.Version.String())
	}
	known := 0
	if now.Start == before.Start {
		known = len(before.Released)
	}
	for _, r := range now.Released[known:] {
		t.released[r.Reason]++
		log.Warn("the recovery waits no longer for a peer", "session", r.Name, "reason", string(r.Reason), "why", r.Why)
	}
}

// someOf names a few of many.
func someOf(names []string) []string {
	if more := len(names) - maxCauses; more > 0 {
		return append(slices.Clone(names[:maxCauses]), fmt.Sprintf("%d more", more))
	}
	return names
}
