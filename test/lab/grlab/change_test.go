package grlab

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestChangeDuringRecovery changes things while a recovery waits for a dead node. BIRD 1.6 is
// told to wait for it no longer; BIRD 2 cannot be told, is left alone, and waits until its time
// is over.
func TestChangeDuringRecovery(t *testing.T) {
	const wait = 20 * time.Second
	for _, tt := range []struct {
		name   string
		args   []string // of birdconfd
		change func(b *bench, dead *Node) error
		// BIRD 1.6 goes on between these times after its start, or after the change.
		earliest, latest time.Duration
		reason           string
	}{{
		name:   "node turns NotReady",
		change: func(b *bench, dead *Node) error { return b.SetReady(dead, "False") },
		latest: 4 * time.Second, reason: "node-not-ready",
	}, {
		name:     "wait is lowered",
		change:   func(b *bench, dead *Node) error { return b.Configure("10s", "") },
		earliest: 9 * time.Second, latest: 13 * time.Second, reason: "wait-lowered",
	}, {
		name:     "node is unreachable for long",
		args:     []string{"--release-unreachable", "5s"},
		change:   func(*bench, *Node) error { return nil },
		earliest: 4 * time.Second, latest: 12 * time.Second, reason: "unreachable",
	}} {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, f Flavor) {
				b := start(t, f, Options{Wait: fmt.Sprint(wait), Args: tt.args})
				back, dead := b.Node(4), b.Node(3)
				live := b.Others(back, dead)
				b.ok(back.PowerOff(), dead.PowerOff()) // and still Ready
				at := b.returns(back)
				b.ok(back.AwaitSessions(b.ctx, wait, live...))
				before, err := b.Snapshot(b.ctx, append(live, back)...)
				b.ok(err, tt.change(b, dead))
				changed := time.Now()
				if f.Set == "bird2" {
					b.recovering(back, at, wait-aSecond)
					if log := back.BirdconfdLog(); strings.Contains(log, "reason="+tt.reason) {
						t.Errorf("birdconfd wants to release somebody:\n%s", log)
					}
					b.routed(back, wait+3*time.Second, at, live...)
				} else {
					over, err := back.AwaitRecovery(b.ctx, wait)
					b.ok(err)
					if over.Sub(at) < tt.earliest || over.Sub(at) > tt.latest && over.Sub(changed) > tt.latest {
						t.Errorf("the recovery was over %s after the start, %s after the change", over.Sub(at), over.Sub(changed))
					}
					b.settles(back, live...)
					b.released(back, dead, tt.reason)
				}
				b.ok(before.Flapped(b.ctx))
			})
		})
	}
}

// released wants birdconfd to tell whom it released and why, and to count that.
func (b *bench) released(n, peer *Node, reason string) {
	b.t.Helper()
	said := false
	for line := range strings.Lines(n.BirdconfdLog()) {
		said = said || strings.Contains(line, reason) && strings.Contains(line, peer.Session())
	}
	if !said {
		b.t.Errorf("the log does not say that %s was released: %s\n%s", peer.Session(), reason, n.BirdconfdLog())
	}
	status, err := n.BirdconfdStatus(b.ctx, "--format", "json")
	b.ok(err)
	if !regexp.MustCompile(`"` + reason + `":\s*1\b`).MatchString(status) {
		b.t.Errorf("the status does not count what was released: %s\n%s", reason, status)
	}
}
