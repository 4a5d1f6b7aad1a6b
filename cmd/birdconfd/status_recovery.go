package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/daemon"
)

// maxListed is how many sessions a line lists.
const maxListed = 20

// printRecovery shows for whom BIRD waits after its start, and how long.
func printRecovery(b *bytes.Buffer, a *daemon.Answer) {
	r := a.Recovery
	if r == nil || !r.InProgress {
		return
	}
	left := "for a time that BIRD does not tell"
	if r.SecondsLeft != nil {
		left = fmt.Sprintf("%.0f s left at most", *r.SecondsLeft)
	}
	nodes := map[string]string{}
	for _, s := range a.Sessions {
		if nodes[s.Name] = s.Node; s.NodeNotReady {
			nodes[s.Name] += ", which is not ready"
		}
	}
	holders := make([]string, len(r.HeldBy))
	for i, name := range r.HeldBy {
		holders[i] = withNode(name, nodes[name])
	}
	writeLine(b, 1, "graceful restart: routes are held back since then, waiting for %s, %s", listed(holders, fmt.Sprint(r.Waiting)), left)
}

// printRestart shows what birdconfd knows of graceful restart.
func printRestart(b *bytes.Buffer, t *daemon.TargetReport) {
	g := t.GracefulRestart
	if g == nil {
		return
	}
	verb := "the recovery from the last start did not wait for"
	switch {
	case t.Recovery != nil && t.Recovery.InProgress:
		verb = "it does not wait for"
	case !t.BIRD.Up:
		verb = "the recovery from the next start will not wait for"
	}
	for i, s := range g.Skipped {
		if i == maxListed {
			writeLine(b, 2, "and %d more", len(g.Skipped)-i)
			break
		}
		what := verb
		if s.Released {
			what = "the recovery from the last start was made to wait no longer for"
		}
		writeLine(b, 1, "%s %s: %s", what, withNode(s.Name, s.Node), s.Why)
	}
	if len(g.Without) > 0 && t.BIRD.Up {
		writeLine(b, 1, "without graceful restart until BIRD has recovered and they are down: %s", listed(g.Without, ""))
	}
	switch {
	case g.DeferredAll:
		writeLine(b, 1, "the newest configuration waits until BIRD has recovered from its start, which waits for %s", listed(g.Deferred, "nobody any more"))
	case len(g.Deferred) > 0:
		writeLine(b, 1, "changed or removed only when BIRD has recovered: %s", listed(g.Deferred, ""))
	}
	for _, s := range g.NextStart {
		writeLine(b, 1, "%s: %s is configured, which BIRD uses only after its next start; it runs with %s", s.Statement, s.Configured, s.Running)
	}
}

func withNode(session, node string) string {
	if node == "" {
		return session
	}
	return session + " (node " + node + ")"
}

// listed joins names, but not too many; none is empty.
func listed(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}
