package grlab

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// bird3Variable names a BIRD 3 for the one test that is about it.
const bird3Variable = "BIRDCONFD_TEST_BIRD3"

// TestHolderIsRemoved removes a node that a recovery of BIRD 2 or 3 waits for. They would never
// get over that, or crash, so it is done afterwards. Other changes are not held up in BIRD 2.
func TestHolderIsRemoved(t *testing.T) {
	t.Parallel()
	t.Run("bird2", func(t *testing.T) {
		t.Parallel()
		holderIsRemoved(t, bird2(t), true)
	})
	if path := os.Getenv(bird3Variable); path != "" {
		t.Run("bird3", func(t *testing.T) {
			t.Parallel()
			holderIsRemoved(t, Flavor{"BIRD 3", "bird2", path}, false)
		})
	}
}

func holderIsRemoved(t *testing.T, f Flavor, others bool) {
	const wait = 15 * time.Second
	b := start(t, f, Options{Wait: fmt.Sprint(wait)})
	back, dead := b.Node(4), b.Node(3)
	live := b.Others(back, dead)
	b.ok(back.PowerOff(), dead.PowerOff())
	at := b.returns(back)
	b.ok(back.AwaitSessions(b.ctx, wait, live...))
	for _, n := range b.Others(dead) {
		b.ok(n.RemoveNode(dead))
	}
	const block = "10.244.104.0/26"
	b.ok(back.Write("more.yaml", fmt.Sprintf(`apiVersion: projectcalico.org/v3
kind: BlockAffinity
metadata: {name: more}
spec: {node: %s, cidr: %s, state: confirmed, deleted: false}
`, back.Name, block)))
	arrived := func() error {
		reply, err := back.Ask(b.ctx, "show route "+block)
		if err == nil && !strings.Contains(reply, block) {
			err = errors.New("no route to the new block: " + reply)
		}
		return err
	}
	if others {
		b.until(patience, "BIRD has the other change", arrived)
	} else {
		b.until(patience, "the change waits", func() error {
			if !strings.Contains(back.BirdconfdLog(), "the configuration waits until BIRD has recovered") {
				return errors.New("the log does not say so")
			}
			return nil
		})
	}
	if err := back.recovered(b.ctx); err == nil {
		t.Fatal("the recovery is over too early to tell anything")
	}
	has := func() bool {
		sessions, err := back.Sessions(b.ctx)
		b.ok(err)
		_, there := sessions[dead.Session()]
		return there
	}
	b.until(wait+patience, "the recovery goes on with its holder", func() error {
		err := back.recovered(b.ctx)
		if err != nil && !has() {
			t.Fatal("the holder was removed during the recovery")
		}
		return err
	})
	b.routed(back, wait+3*time.Second, at, live...)
	b.until(patience, "the holder is removed", func() error {
		if has() {
			return errors.New("it is still there")
		}
		return nil
	})
	b.until(patience, "BIRD has the other change", arrived)
	if start := back.BIRDStarted(); start != at {
		t.Errorf("BIRD was started again after %s", start.Sub(at))
	}
}
