package grlab

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// TestFirstConfiguration has the supervisor try to start BIRD before, while and after birdconfd
// writes its files for the first time. A BIRD that comes up must have all peers at once: who it
// waits for is decided then.
func TestFirstConfiguration(t *testing.T) {
	each(t, func(t *testing.T, f Flavor) {
		b := open(t, f, Options{Pause: 20 * time.Millisecond})
		n := b.Node(4)
		for range 10 {
			b.firstConfiguration(n, time.Duration(rand.Int64N(int64(800*time.Millisecond)))-400*time.Millisecond)
		}
	})
}

// firstConfiguration starts BIRD that long after birdconfd, or before it.
func (b *bench) firstConfiguration(n *Node, offset time.Duration) {
	b.t.Helper()
	b.ok(n.Boot())
	begin := time.Now()
	first, second := n.StartBirdconfd, func() error { n.StartBIRD(); return nil }
	if offset < 0 {
		first, second = second, first
	}
	b.ok(first())
	b.until(patience, "the time for the second has come", func() error {
		if time.Since(begin) < offset.Abs() {
			return errors.New("not yet")
		}
		return nil
	})
	b.ok(second())

	// What each BIRD said when it was asked first.
	answers := map[time.Time]int{}
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	var settled time.Time
	for settled.IsZero() || time.Since(settled) < time.Second {
		select {
		case <-ctx.Done():
			b.t.Fatalf("offset %s: no BIRD came up:\n%s", offset, n.BIRDLog())
		case <-tick.C:
		}
		start := n.BIRDStarted()
		if _, asked := answers[start]; asked {
			continue
		}
		if sessions, err := n.Sessions(ctx); err == nil {
			answers[start], settled = len(sessions), time.Now()
		}
	}
	for start, sessions := range answers {
		if sessions != len(b.Nodes)-1 {
			b.t.Errorf("offset %s: a BIRD came up after %s with %d peers", offset, start.Sub(begin), sessions)
		}
	}
	if len(answers) != 1 {
		b.t.Errorf("offset %s: %d BIRDs came up:\n%s", offset, len(answers), n.BIRDLog())
	}
	b.ok(n.PowerOff())
}
