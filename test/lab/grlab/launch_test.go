package grlab

import (
	"testing"
	"time"
)

// TestLaunch has BIRD's files outlive a crash and a loss of power. They are of a time when all
// nodes were well, and BIRD must not start with them.
func TestLaunch(t *testing.T) {
	each(t, func(t *testing.T, f Flavor) {
		b := start(t, f, Options{Launch: true})
		back, dead := b.Node(4), b.Node(3)
		live := b.Others(back, dead)
		b.ok(dead.PowerOff())
		b.shuns(back, dead)
		begin := time.Now()
		at := b.crashes(back)
		over, err := back.AwaitRecovery(b.ctx, soon+patience)
		b.ok(err)
		if took := over.Sub(at); took > soon {
			t.Errorf("the recovery took %s, want at most %s", took, soon)
		}
		b.settles(back, live...)
		for _, n := range live {
			if gap := max(back.Missing(n, begin), n.Missing(back, begin)); gap > 0 {
				t.Errorf("routes between %s and %s were missing for %s", back.Name, n.Name, gap)
			}
		}

		b.until(patience, "graceful restart is on again for the dead node", func() error { return on(back, dead) })
		b.ok(back.PowerOff(), b.SetReady(back, "False"))
		at = b.returns(back)
		b.routed(back, soon, at, live...)
	})
}
