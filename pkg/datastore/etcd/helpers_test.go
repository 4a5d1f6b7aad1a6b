package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/datastore/etcd"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
	"github.com/birdconfd/birdconfd/test/backend"
)

const (
	deadline  = 90 * time.Second
	resources = "/calico/resources/v3/projectcalico.org/"
)

// Nothing stays behind of sources that have ended.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eachVersion runs a test with each version of etcd.
func eachVersion(t *testing.T, test func(t *testing.T, e *backend.Etcd, c *clientv3.Client)) {
	for _, v := range backend.Versions {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			e := backend.StartEtcd(t, backend.EtcdOptions{Version: v})
			test(t, e, e.Client(t))
		})
	}
}

// impatient are options for tests: everything takes less time.
func impatient() etcd.Options {
	return etcd.Options{Node: "alpha", HoldEmpty: time.Second, Heartbeat: 300 * time.Millisecond, Timeout: 5 * time.Second,
		Retry: 20 * time.Millisecond}
}

// direct connects to a URL.
func direct(url string) etcd.Connection {
	return etcd.Connection{Endpoints: []string{url}, KeepAlive: 10 * time.Second, KeepAliveTimeout: time.Second}
}

// watching is a source that runs.
type watching struct {
	testing.TB
	source  *live.Source
	log     *logBook
	changed chan struct{}

	mu        sync.Mutex
	snapshots []datastore.Snapshot
}

// watch runs a source until the test ends, and makes sure that nothing of it stays behind.
func watch(t testing.TB, connection etcd.Connection, o etcd.Options) *watching {
	t.Helper()
	w := &watching{TB: t, log: &logBook{}, changed: make(chan struct{}, 1)}
	o.Connection = connection
	o.Logger = slog.New(slog.NewTextHandler(w.log, nil))
	store := live.NewStore("etcd", o.Logger)
	w.source = &live.Source{Store: store, Feeds: []live.Feed{etcd.NewFeed(store, o)},
		Needs: func(*calico.Cluster) live.Needs { return live.Needs{} }}
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.source.Run(ctx, w.deliver) }()
	t.Cleanup(func() {
		cancel(over)
		select {
		case err := <-ended:
			if !errors.Is(err, over) {
				t.Errorf("Run returned %v", err)
			}
		case <-time.After(deadline):
			t.Error("Run does not return")
		}
	})
	return w
}

func (w *watching) deliver(s datastore.Snapshot) {
	w.mu.Lock()
	w.snapshots = append(w.snapshots, s)
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// last is the newest snapshot, and how many there have been.
func (w *watching) last() (datastore.Snapshot, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.snapshots) == 0 {
		return datastore.Snapshot{}, 0
	}
	return w.snapshots[len(w.snapshots)-1], len(w.snapshots)
}

// forget drops the snapshots so far, which the test keeps.
func (w *watching) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.snapshots = nil
}

// until waits for something to be true.
func (w *watching) until(what string, is func() bool) {
	w.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(deadline); !is(); {
		select {
		case <-tick.C:
		case <-limit:
			s, n := w.last()
			w.Fatalf("%s: it never was; peers %q after %d snapshots, problems %v, status %+v, log:\n%s",
				what, peers(s), n, s.Problems, w.source.Status(), w.log)
		}
	}
}

// peers describes the peers, as in "a=192.0.2.1 b=192.0.2.2", and how many problems there are.
func peers(s datastore.Snapshot) string {
	if s.Cluster == nil {
		return "(nothing)"
	}
	var out []string
	for _, p := range s.Cluster.Peers {
		out = append(out, p.Name+"="+p.PeerIP.String())
	}
	for _, p := range s.Problems {
		out = append(out, p.Rule)
	}
	return strings.Join(out, " ")
}

// peersAre waits for the peers to be these.
func (w *watching) peersAre(want string) {
	w.Helper()
	w.until("peers "+want, func() bool { s, _ := w.last(); return peers(s) == want })
}

// lost and found wait until the source says that it is.
func (w *watching) lost() {
	w.Helper()
	w.until("lost", func() bool { s := w.source.Status(); return !s.Connected && s.LastError != "" })
}

func (w *watching) found() {
	w.Helper()
	w.until("connected", func() bool { s := w.source.Status(); return s.Connected && s.LastError == "" })
}

// history lists all that was ever delivered of one peer, each state once in a row.
func (w *watching) history(name string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, s := range w.snapshots {
		now := "absent"
		for _, p := range s.Cluster.Peers {
			if p.Name == name {
				now = p.PeerIP.String()
			}
		}
		if len(out) == 0 || out[len(out)-1] != now {
			out = append(out, now)
		}
	}
	return out
}

// logBook keeps what is logged.
type logBook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logBook) count(text string) int { return strings.Count(l.String(), text) }

func peerKey(name string) string { return resources + "bgppeers/" + name }

func peer(name, address string) string {
	return fmt.Sprintf(`{"kind":"BGPPeer","apiVersion":"projectcalico.org/v3","metadata":{"name":%q},"spec":{"peerIP":%q,"asNumber":64512}}`, name, address)
}

func node(name, address string) (key, value string) {
	return resources + "nodes/" + name, fmt.Sprintf(
		`{"kind":"Node","apiVersion":"projectcalico.org/v3","metadata":{"name":%q,"labels":{"rack":"r1"}},"spec":{"bgp":{"ipv4Address":%q}}}`, name, address)
}

func affinityKey(node, block string) string { return "/calico/ipam/v2/host/" + node + "/" + block }

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}
