package grlab

import (
	"errors"
	"testing"
	"time"
)

// TestCrashWithDeadPeer has BIRD crash while another node is dead.
func TestCrashWithDeadPeer(t *testing.T) {
	each(t, func(t *testing.T, f Flavor) {
		b := start(t, f, Options{})
		crashed, dead := b.Node(4), b.Node(3)
		live := b.Others(crashed, dead)
		b.ok(dead.PowerOff())
		b.shuns(crashed, dead)
		begin := time.Now()
		at := b.crashes(crashed)
		over, err := crashed.AwaitRecovery(b.ctx, soon+patience)
		b.ok(err)
		if took := over.Sub(at); took > soon {
			t.Errorf("the recovery took %s, want at most %s", took, soon)
		}
		b.settles(crashed, live...)
		for _, n := range live {
			if gap := max(crashed.Missing(n, begin), n.Missing(crashed, begin)); gap > 0 {
				t.Errorf("routes between %s and %s were missing for %s", crashed.Name, n.Name, gap)
			}
		}
	})
}

// TestCrashLosesNoPacket has BIRD crash while all peers are up, and packets on their way all
// the time.
func TestCrashLosesNoPacket(t *testing.T) {
	each(t, func(t *testing.T, f Flavor) {
		b := start(t, f, Options{Workloads: true})
		crashed, other, third := b.Node(4), b.Node(1), b.Node(2)
		var probers []*Prober
		for _, pair := range [][2]*Node{{crashed, other}, {other, crashed}, {other, third}, {third, other}} {
			p, err := b.Probe(pair[0], pair[1])
			b.ok(err)
			b.ok(p.Arrived(b.ctx))
			probers = append(probers, p)
		}
		begin := time.Now()
		at := b.crashes(crashed)
		b.settles(crashed, b.Others(crashed)...)
		b.until(patience, "the kernel's table is looked through once more", func() error {
			if time.Since(at) < soon {
				return errors.New("not yet")
			}
			return nil
		})
		for _, p := range probers {
			sent, lost := p.Stop()
			if sent < 300 || len(lost) > 0 {
				t.Errorf("%s: of %d packets in %s these were lost: %v", p, sent, time.Since(begin), lost)
			}
		}
	})
}

// TestProberTellsLoss wants packets to be missed that cannot have come.
func TestProberTellsLoss(t *testing.T) {
	t.Parallel()
	b := start(t, bird1(t), Options{Nodes: 2, Workloads: true})
	p, err := b.Probe(b.Node(1), b.Node(2))
	b.ok(err)
	b.ok(p.Arrived(b.ctx))
	b.ok(b.Node(2).PowerOff())
	gone := p.last.Load()
	b.until(patience, "packets are sent to nobody", func() error {
		if p.sent.Load() < gone+10 {
			return errors.New("not yet")
		}
		return nil
	})
	if sent, lost := p.Stop(); len(lost) < 5 || lost[len(lost)-1] != sent {
		t.Errorf("of %d packets these were lost: %v", sent, lost)
	}
}
