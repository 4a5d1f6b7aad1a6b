package grlab

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// aSecond is how exact the timers of BIRD 1.6 are.
const aSecond = time.Second

// recovering fails unless the recovery of a node goes on until a time after BIRD's start.
func (b *bench) recovering(n *Node, start time.Time, until time.Duration) {
	b.t.Helper()
	b.until(until+patience, "the recovery goes on", func() error {
		if left := until - time.Since(start); left > 0 {
			if err := n.recovered(b.ctx); err == nil {
				b.t.Fatalf("the recovery is over %s before it should be", left)
			}
			return errors.New("some time is left")
		}
		return nil
	})
}

// TestWait is the limit alone: routes at the value that was set, not before and not much
// later.
func TestWait(t *testing.T) {
	each(t, func(t *testing.T, f Flavor) {
		const wait = 10 * time.Second
		b := start(t, f, Options{Wait: "10s", WaitFor: "AllPeers"})
		back, dead := b.Node(4), b.Node(3)
		b.ok(b.TwoDown(back, dead))
		at := b.returns(back)
		first, _ := b.routed(back, wait+3*time.Second, at, b.Others(back, dead)...)
		if first < wait-aSecond {
			t.Errorf("it has a route after %s, before %s are over", first, wait)
		}
	})
}

// TestWithoutLimit is what happens without this feature: the recovery goes on and on. Then
// the dead node comes back too, and the one does not wait for the other.
func TestWithoutLimit(t *testing.T) {
	each(t, func(t *testing.T, f Flavor) {
		b := start(t, f, Options{WaitFor: "AllPeers"})
		back, dead := b.Node(4), b.Node(3)
		live := b.Others(back, dead)
		b.ok(b.TwoDown(back, dead))
		at := b.returns(back)
		b.ok(back.AwaitSessions(b.ctx, patience, live...))
		b.recovering(back, at, 20*time.Second)
		if c, ok := back.FirstRoute(at); ok {
			t.Errorf("it has a route already: %s", c)
		}
		b.tellsHolder(back, dead)

		others, err := b.Snapshot(b.ctx, live...)
		b.ok(err)
		ours, err := b.Snapshot(b.ctx, append(live, back)...)
		b.ok(err)
		again := b.returns(dead)
		b.ok(b.SetReady(dead, "True"))
		b.routed(back, time.Minute, at, append(live, dead)...)
		b.routed(dead, 15*time.Second, again, append(live, back)...)
		b.ok(back.Restartable(b.ctx, dead), dead.Restartable(b.ctx, back), others.Flapped(b.ctx), ours.Flapped(b.ctx))
		for _, n := range b.Nodes {
			if strings.Contains(n.Config(), "graceful restart off") {
				t.Errorf("%s has graceful restart off for somebody", n.Name)
			}
		}
	})
}

// tellsHolder wants both ways of asking for the status to name the node that holds up the
// recovery.
func (b *bench) tellsHolder(n, holder *Node) {
	b.t.Helper()
	own, err := n.BirdconfdStatus(b.ctx)
	b.ok(err)
	socket, err := n.StatusOfSocket(b.ctx)
	b.ok(err)
	for _, text := range []string{own, socket} {
		said := false
		for line := range strings.Lines(text) {
			said = said || strings.Contains(line, "graceful restart") && strings.Contains(line, holder.Session())
		}
		if !said {
			b.t.Errorf("the status does not say that the recovery waits for %s:\n%s", holder.Session(), text)
		}
	}
}
