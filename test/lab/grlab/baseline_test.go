package grlab

import (
	"testing"
	"time"
)

// aSecond is how exact the timers of BIRD 1.6 are.
const aSecond = time.Second

// TestWait is the limit alone: routes at the value that was set, not before and not much
// later.
func TestWait(t *testing.T) {
	each(t, func(t *testing.T, f Flavor) {
		const wait = 10 * time.Second
		b := start(t, f, Options{Wait: "10s", WaitFor: "AllPeers"})
		back, dead := b.Node(4), b.Node(2)
		b.twoDown(back, dead)
		at := b.returns(back)
		first, _ := b.routed(back, wait+3*time.Second, at, b.others(back, dead)...)
		if first < wait-aSecond {
			t.Errorf("it has a route after %s, before %s are over", first, wait)
		}
	})
}

// twoDown takes the power off two nodes, which are NotReady from then on.
func (b *bench) twoDown(nodes ...*Node) {
	b.t.Helper()
	for _, n := range nodes {
		b.ok(n.PowerOff())
	}
	for _, n := range nodes {
		b.ok(b.SetReady(n, "False"))
	}
}
