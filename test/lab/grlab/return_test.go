package grlab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

// soon is when a node that nothing holds up has its routes.
const soon = 6 * time.Second

// TestOneOfTwoReturns is what all this is for: two nodes lose power, and one comes back. Later
// the other does, too.
func TestOneOfTwoReturns(t *testing.T) {
	each(t, func(t *testing.T, f Flavor) {
		b := start(t, f, Options{})
		back, dead := b.Node(4), b.Node(3)
		live := b.Others(back, dead)
		b.ok(b.TwoDown(back, dead))
		at := b.returns(back)
		b.routed(back, soon, at, live...)
		b.ok(b.SetReady(back, "True"))
		for _, n := range live {
			_, err := n.AwaitRoutes(b.ctx, patience, time.Time{}, back)
			b.ok(err)
		}
		b.until(patience, "graceful restart is on again for the dead node", func() error { return on(back, dead) })

		before, err := b.Snapshot(b.ctx, append(live, back)...)
		b.ok(err)
		again := b.returns(dead)
		b.ok(b.SetReady(dead, "True"))
		b.routed(dead, 15*time.Second, again, append(live, back)...)
		b.settles(back, append(live, dead)...)
		b.ok(back.Restartable(b.ctx, dead), dead.Restartable(b.ctx, back), before.Flapped(b.ctx))
		for _, n := range b.Nodes {
			if strings.Contains(n.Config(), "graceful restart off") {
				t.Errorf("%s has graceful restart off for somebody", n.Name)
			}
		}
	})
}

// on is nil when a node's files have graceful restart on for another.
func on(n, peer *Node) error {
	if n.Off(peer) {
		return errors.New("it is off")
	}
	return nil
}

// TestPassiveNodeReturns is about the node that waits for all others to connect. They have
// noticed that it was gone, and try every five seconds.
func TestPassiveNodeReturns(t *testing.T) {
	each(t, func(t *testing.T, f Flavor) {
		b := start(t, f, Options{Templates: shortHold(t)})
		back, dead := b.Node(1), b.Node(3)
		live := b.Others(back, dead)
		b.ok(b.TwoDown(back, dead))
		for _, n := range live {
			b.until(30*time.Second, n.Name+" has noticed", func() error {
				return n.sessions(b.ctx, []*Node{back, dead}, func(p bird.Protocol) bool { return p.Proto != "" && !p.Established() })
			})
		}
		at := b.returns(back)
		b.routed(back, soon+5*time.Second, at, live...)
	})
}

// shortHold is a directory of templates for sessions that notice soon when the other end is
// gone.
func shortHold(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	text := `{{define "hook-30-bgp-template"}}  keepalive time 2; hold time 6;{{end}}`
	if err := os.WriteFile(filepath.Join(dir, "hold.tmpl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestNotReadyButAlive has BIRD crash beside a node that is said to be NotReady and is not.
// That costs at most a moment of the routes between the two, once.
func TestNotReadyButAlive(t *testing.T) {
	each(t, func(t *testing.T, f Flavor) {
		b := start(t, f, Options{})
		crashed, shunned := b.Node(4), b.Node(3)
		others := b.Others(crashed, shunned)
		uninvolved, err := b.Snapshot(b.ctx, append(others, shunned)...)
		b.ok(err)
		b.shuns(crashed, shunned)
		begin := time.Now()
		b.crashes(crashed)
		b.ok(crashed.AwaitSessions(b.ctx, 20*time.Second, b.Others(crashed)...))
		b.settles(crashed, b.Others(crashed)...)
		if !crashed.Off(shunned) {
			t.Errorf("graceful restart is on for %s, though its session is up", shunned.Name)
		}

		since, err := b.Snapshot(b.ctx, b.Nodes...)
		b.ok(err)
		b.untouched(since, crashed, shunned, 8*time.Second)
		b.ok(b.SetReady(shunned, "True"))
		b.untouched(since, crashed, shunned, 5*time.Second)

		for _, pair := range [][2]*Node{{crashed, shunned}, {shunned, crashed}} {
			if gap := pair[0].Missing(pair[1], begin); gap > 3*time.Second {
				t.Errorf("%s had no route to %s for %s", pair[0].Name, pair[1].Name, gap)
			}
		}
		for _, n := range b.Nodes {
			for _, c := range n.Changes(begin) {
				between := n == crashed && c.Prefix == shunned.Block || n == shunned && c.Prefix == crashed.Block
				if !between {
					t.Errorf("%s: a route of others has changed: %s", n.Name, c)
				}
			}
		}
		b.ok(uninvolved.Flapped(b.ctx))
	})
}

// untouched watches for a while that no session goes down, and that graceful restart stays off
// for one.
func (b *bench) untouched(s *Snapshot, n, peer *Node, long time.Duration) {
	b.t.Helper()
	begin := time.Now()
	b.until(long+patience, "nothing is touched", func() error {
		b.ok(s.Flapped(b.ctx))
		if !n.Off(peer) {
			b.t.Fatalf("graceful restart is on for %s while its session is up", peer.Name)
		}
		if left := long - time.Since(begin); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})
}
