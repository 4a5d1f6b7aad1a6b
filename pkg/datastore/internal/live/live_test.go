package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
)

func decodeItem(item Item) (calico.Object, []calico.Problem) {
	return calico.DecodeObject("", item.Data)
}

func peerItem(name, spec string) Item {
	return Item{Key: name, Data: fmt.Appendf(nil,
		`{"apiVersion":"projectcalico.org/v3","kind":"BGPPeer","metadata":{"name":%q},"spec":{"asNumber":64512,%s}}`, name, spec)}
}

func secretItem(name string) Item {
	return Item{Key: name, Data: fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":%q,"namespace":"kube-system"},"data":{}}`, name)}
}

// feed adds parts as they are needed, and does nothing else.
type feed struct {
	store    *Store
	services *Part
}

func (f *feed) Run(ctx context.Context) { <-ctx.Done() }

func (f *feed) Need(n Needs) bool {
	if (f.services != nil) == n.Services {
		return false
	}
	if n.Services {
		f.services = f.store.Part(PartOptions{Name: "Services", Decode: decodeItem, Optional: true})
	} else {
		f.services.Drop()
		f.services = nil
	}
	return true
}

// bench is a source under test. It counts in the bubble's time.
type bench struct {
	*testing.T
	source *Source
	peers  *Part
	feed   *feed
	needs  func(*calico.Cluster) Needs

	mu   sync.Mutex
	list []datastore.Snapshot
}

func (b *bench) deliver(s datastore.Snapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, s)
}

func (b *bench) delivered() []datastore.Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.list
}

func run(t *testing.T, test func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		store := NewStore("test", nil)
		b := &bench{T: t, feed: &feed{store: store}}
		b.needs = func(*calico.Cluster) Needs { return Needs{} }
		b.peers = store.Part(PartOptions{Name: "BGPPeers", Decode: decodeItem, HoldEmpty: 30 * time.Second})
		b.source = &Source{Store: store, Feeds: []Feed{b.feed}, Needs: func(c *calico.Cluster) Needs { return b.needs(c) }}
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() {
			ended <- b.source.Run(ctx, b.deliver)
		}()
		test(b)
		over := errors.New("over")
		cancel(over)
		if err := <-ended; !errors.Is(err, over) {
			t.Errorf("Run ended with %v", err)
		}
	})
}

func (b *bench) last() datastore.Snapshot { return b.delivered()[len(b.delivered())-1] }

// wait lets time pass, in the bubble, until nothing happens any more.
func (b *bench) wait(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

// peerNames are those of the newest snapshot.
func (b *bench) peerNames() string {
	b.Helper()
	b.wait(time.Second)
	if len(b.delivered()) == 0 {
		return "(nothing)"
	}
	var names []string
	for _, p := range b.last().Cluster.Peers {
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}

func (b *bench) problems() string {
	var lines []string
	for _, p := range b.last().Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

func (b *bench) want(what, got, want string) {
	b.Helper()
	if got != want {
		b.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestNothingBeforeEverythingWasRead(t *testing.T) {
	run(t, func(b *bench) {
		pools := b.source.Store.Part(PartOptions{Name: "IPPools", Decode: decodeItem})
		b.peers.Put(peerItem("a", `"peerIP":"192.0.2.1"`), "1")
		b.want("before a list", b.peerNames(), "(nothing)")
		b.peers.Replace([]Item{peerItem("a", `"peerIP":"192.0.2.1"`)}, "1")
		b.want("one of two lists", b.peerNames(), "(nothing)")
		if s := b.source.Status(); s.Synced || s.Connected || !s.SyncedAt.IsZero() {
			t.Errorf("status %+v", s)
		}
		pools.Replace(nil, "1")
		b.want("both lists", b.peerNames(), "a")
		if s := b.source.Status(); !s.Synced || !s.Connected || s.SyncedAt.IsZero() {
			t.Errorf("status %+v", s)
		}
	})
}

func TestOnlyChangesAreDelivered(t *testing.T) {
	run(t, func(b *bench) {
		b.peers.Replace([]Item{peerItem("a", `"peerIP":"192.0.2.1"`)}, "1")
		b.want("list", b.peerNames(), "a")
		for i := range 100 { // a storm is one snapshot
			b.peers.Put(peerItem(fmt.Sprintf("b%02d", i%10), fmt.Sprintf(`"peerIP":"192.0.2.%d"`, i+1)), "2")
		}
		b.peers.Put(peerItem("a", `"peerIP":"192.0.2.1"`), "3") // the same again
		b.want("storm", b.peerNames(), "a b00 b01 b02 b03 b04 b05 b06 b07 b08 b09")
		b.peers.Replace([]Item{peerItem("b00", `"peerIP":"192.0.2.91"`)}, "4")
		b.want("list again", b.peerNames(), "b00")
		b.peers.Remove("b00", "5")
		b.want("the last one removed", b.peerNames(), "")
		b.peers.Seen("6")
		b.peers.Remove("b00", "7")
		b.wait(time.Second)
		if len(b.delivered()) != 4 {
			t.Errorf("%d snapshots, want 4", len(b.delivered()))
		}
	})
}

func TestChangesWithoutEndAreDeliveredMeanwhile(t *testing.T) {
	run(t, func(b *bench) {
		b.peers.Replace(nil, "1")
		for i := range 200 {
			b.wait(10 * time.Millisecond)
			b.peers.Put(peerItem("a", fmt.Sprintf(`"peerIP":"192.0.2.%d"`, i+1)), "2")
		}
		if n := len(b.delivered()); n < 8 || n > 12 {
			t.Errorf("%d snapshots in two seconds of changes", n)
		}
	})
}

func TestValueThatCannotBeReadKeepsTheLastGoodOne(t *testing.T) {
	run(t, func(b *bench) {
		b.peers.Replace([]Item{peerItem("a", `"peerIP":"192.0.2.1"`), peerItem("bad", `"peerIP":"nonsense"`)}, "1")
		b.want("list", b.peerNames(), "a")
		if p := b.problems(); !strings.Contains(p, "BGPPeer/bad") || !strings.Contains(p, "is left out") {
			t.Errorf("problems of the list: %s", p)
		}
		for _, data := range []string{`{`, `{"apiVersion":"projectcalico.org/v3","kind":"BGPPeer","metadata":{"name":"a"},"spec":{"asNumber":"x"}}`} {
			b.peers.Put(Item{Key: "a", Data: []byte(data)}, "2")
			b.want(data, b.peerNames(), "a")
			if p := b.problems(); !strings.Contains(p, "stays in use") {
				t.Errorf("problems of %s: %s", data, p)
			}
		}
		b.peers.Put(peerItem("a", `"peerIP":"192.0.2.7"`), "3")
		b.peers.Put(peerItem("bad", `"peerIP":"192.0.2.8"`), "4")
		b.want("mended", b.peerNames(), "a bad")
		b.want("problems", b.problems(), "")
	})
}

func TestListThatIsSuddenlyEmptyIsNotBelievedAtOnce(t *testing.T) {
	list := []Item{peerItem("a", `"peerIP":"192.0.2.1"`), peerItem("b", `"peerIP":"192.0.2.2"`)}
	for name, c := range map[string]struct {
		then func(b *bench)
		want string
		held bool // whether the answer is still not believed after a minute
	}{
		"it stays empty":     {func(*bench) {}, "", false},
		"it was an accident": {func(b *bench) { b.peers.Replace(list, "3") }, "a b", false},
		"some come back":     {func(b *bench) { b.peers.Put(list[1], "3") }, "b", false},
		"others come":        {func(b *bench) { b.peers.Replace([]Item{peerItem("c", `"peerIP":"192.0.2.3"`)}, "3") }, "c", false},
		"it is filled again bit by bit": {func(b *bench) {
			b.peers.Replace(list[:1], "3")
			b.want("half of it", b.peerNames(), "a b")
			b.peers.Replace(list, "4")
		}, "a b", false},
		"the server was off for a moment": {func(b *bench) {
			b.peers.Lost(errors.New("gone"))
			b.wait(15 * time.Second)
			b.peers.Found()
			b.want("as soon as it is back", b.peerNames(), "a b")
			b.peers.Replace(list, "3")
		}, "a b", false},
		"it is emptied again":    {func(b *bench) { b.peers.Replace(nil, "3") }, "", false},
		"then the server is off": {func(b *bench) { b.peers.Lost(errors.New("gone")) }, "a b", true},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(b *bench) {
				b.peers.Replace(list, "1")
				b.want("list", b.peerNames(), "a b")
				b.peers.Replace(nil, "2")
				b.want("emptied", b.peerNames(), "a b")
				if p := b.problems(); !strings.Contains(p, "2 of the BGPPeers are suddenly gone; they stay in use until") {
					t.Errorf("problems: %s", p)
				}
				b.wait(20 * time.Second)
				c.then(b)
				b.wait(time.Minute)
				b.want("after a minute", b.peerNames(), c.want)
				if held := b.problems() != ""; held != c.held {
					t.Errorf("problems: %s", b.problems())
				}
			})
		})
	}
}

func TestOptionalPartsAreWaitedForUntilTheyFail(t *testing.T) {
	needServices := func(c *calico.Cluster) Needs { return Needs{Services: len(c.Peers) > 0} }
	one := []Item{peerItem("a", `"peerIP":"192.0.2.1"`)}
	t.Run("read", func(t *testing.T) {
		run(t, func(b *bench) {
			b.needs = needServices
			b.peers.Replace(one, "1")
			b.want("not read yet", b.peerNames(), "(nothing)")
			b.feed.services.Replace([]Item{secretItem("s")}, "1")
			b.want("read", b.peerNames(), "a")
			if len(b.delivered()) != 1 || len(b.delivered()[0].Cluster.Secrets) != 1 {
				t.Errorf("snapshots %+v", b.delivered())
			}
			b.peers.Remove("a", "2")
			b.want("not needed", b.peerNames(), "")
			if last := b.last(); len(last.Cluster.Secrets) != 0 {
				t.Error("what is not needed any more is still there")
			}
		})
	})
	t.Run("read while it is found out what is needed", func(t *testing.T) {
		run(t, func(b *bench) {
			b.needs = func(c *calico.Cluster) Needs {
				if b.feed.services != nil {
					b.feed.services.Replace([]Item{secretItem("s")}, "1")
				}
				return needServices(c)
			}
			b.peers.Replace(one, "1")
			b.peerNames()
			b.peers.Put(peerItem("b", `"peerIP":"192.0.2.2"`), "2") // asks again
			b.want("in the end", b.peerNames(), "a b")
			for _, s := range b.delivered() {
				if len(s.Cluster.Secrets) != 1 {
					t.Errorf("a snapshot without what it needs: %+v", s.Cluster)
				}
			}
		})
	})
	t.Run("refused", func(t *testing.T) {
		run(t, func(b *bench) {
			b.needs = needServices
			b.peers.Replace(one, "1")
			b.wait(time.Second)
			b.feed.services.Lost(errors.New("forbidden"), calico.Problem{Severity: calico.Error, Rule: calico.RuleUnreadable, Message: "Services cannot be read"})
			b.want("refused", b.peerNames(), "a")
			if !strings.Contains(b.problems(), "Services cannot be read") {
				t.Errorf("problems: %s", b.problems())
			}
			if s := b.source.Status(); !s.Connected || !s.Synced || s.LastError != "Services: forbidden" {
				t.Errorf("status %+v", s)
			}
			b.feed.services.Replace(nil, "2")
			b.peerNames()
			b.want("problems after it was read", b.problems(), "")
		})
	})
	t.Run("needed at first, and cannot be reached", func(t *testing.T) {
		run(t, func(b *bench) {
			b.needs = needServices
			b.peers.Replace(one, "1")
			b.wait(time.Second)
			b.feed.services.Lost(errors.New("no route"))
			b.wait(time.Hour)
			b.want("an hour later", b.peerNames(), "(nothing)")
			if s := b.source.Status(); s.Synced || s.LastError != "Services: no route" {
				t.Errorf("status %+v", s)
			}
			b.peers.Remove("a", "2") // what needed it is gone
			b.want("without need", b.peerNames(), "")
		})
	})
	t.Run("needed later, and silent", func(t *testing.T) {
		run(t, func(b *bench) {
			b.needs = needServices
			b.peers.Replace(nil, "1")
			b.want("at first", b.peerNames(), "")
			b.peers.Put(one[0], "2")
			b.want("a second later", b.peerNames(), "")
			b.wait(patience)
			b.want("when it has been waited for long enough", b.peerNames(), "a")
		})
	})
	t.Run("needed later, and lost", func(t *testing.T) {
		run(t, func(b *bench) {
			b.needs = needServices
			b.peers.Replace(nil, "1")
			b.want("at first", b.peerNames(), "")
			b.peers.Put(one[0], "2")
			b.want("a second later", b.peerNames(), "")
			b.feed.services.Lost(errors.New("no route"))
			b.want("when that is known", b.peerNames(), "a")
		})
	})
}

func TestStatusOfAnOutage(t *testing.T) {
	run(t, func(b *bench) {
		b.peers.Replace([]Item{peerItem("a", `"peerIP":"192.0.2.1"`)}, "7")
		b.want("list", b.peerNames(), "a")
		certain := b.source.Status().SyncedAt
		b.wait(time.Minute)
		b.peers.Seen("8")
		now := b.source.Status()
		if !now.SyncedAt.After(certain) || now.Parts[0].Revision != "8" || now.Revision != "8" || now.Parts[0].Objects != 1 {
			t.Errorf("status %+v", now)
		}
		b.peers.Lost(errors.New("no route"))
		b.peers.Lost(errors.New("no route"))
		b.peers.Seen("9") // a late word of a connection that is no more
		b.wait(time.Minute)
		lost := b.source.Status()
		if lost.Connected || !lost.Synced || lost.LastError != "BGPPeers: no route" || !lost.SyncedAt.Equal(now.SyncedAt) || lost.Reconnects != 1 {
			t.Errorf("status %+v", lost)
		}
		b.want("what is known", b.peerNames(), "a")
		b.peers.Found()
		b.peers.Seen("10")
		if s := b.source.Status(); !s.Connected || s.LastError != "" || !s.SyncedAt.After(now.SyncedAt) {
			t.Errorf("status %+v", s)
		}
	})
}
