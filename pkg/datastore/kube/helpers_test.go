package kube_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
	"github.com/birdconfd/birdconfd/pkg/datastore/kube"
	"github.com/birdconfd/birdconfd/test/backend"
)

const deadline = 100 * time.Second

func TestMain(m *testing.M) {
	// A connection that is silent is noticed sooner than in real life.
	os.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "2")
	os.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
	os.Exit(backend.Main(m))
}

// eachGroup runs a test with Calico's resources in each of the two groups, and nothing else on
// the server.
func eachGroup(t *testing.T, test func(t *testing.T, k *backend.Kube, group string)) {
	for _, group := range backend.Groups {
		t.Run(group, func(t *testing.T) {
			k := backend.SharedKube(t)
			k.Both(t)
			test(t, k, group)
		})
	}
}

// watching is a source that runs.
type watching struct {
	testing.TB
	source *live.Source
	log    *logBook

	mu        sync.Mutex
	needs     live.Needs
	snapshots []datastore.Snapshot
}

// in are options for tests with one of the groups.
func in(group string, c *rest.Config) kube.Options {
	o := impatient(c)
	_, o.Group, _ = strings.Cut(group, "/")
	return o
}

// impatient are options for tests: everything takes less time.
func impatient(c *rest.Config) kube.Options {
	return kube.Options{Heartbeat: 200 * time.Millisecond, Config: c, Node: "alpha", Calico: true, SecretNamespace: "kube-system", HoldEmpty: 2 * time.Second,
		Settle: 200 * time.Millisecond, Retry: 50 * time.Millisecond}
}

// watch runs a source until the test ends.
func watch(t testing.TB, o kube.Options, needs live.Needs) *watching {
	t.Helper()
	w := &watching{TB: t, log: &logBook{}, needs: needs}
	o.Logger = slog.New(slog.NewTextHandler(w.log, nil))
	store := live.NewStore("kubernetes", o.Logger)
	feed, err := kube.NewFeed(store, o)
	if err != nil {
		t.Fatal(err)
	}
	w.source = &live.Source{Store: store, Feeds: []live.Feed{feed}, Needs: func(*calico.Cluster) live.Needs {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.needs
	}}
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
	defer w.mu.Unlock()
	w.snapshots = append(w.snapshots, s)
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

// need changes what is needed from the next snapshot on.
func (w *watching) need(n live.Needs) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.needs = n
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

// peers describes the peers, as in "a=192.0.2.1 b=192.0.2.2", and the rules of problems, but
// for the one that fields are dropped.
func peers(s datastore.Snapshot) string {
	if s.Cluster == nil {
		return "(nothing)"
	}
	var out []string
	for _, p := range s.Cluster.Peers {
		out = append(out, p.Name+"="+p.PeerIP.String())
	}
	for _, p := range s.Problems {
		if p.Rule != calico.RulePruned {
			out = append(out, p.Rule)
		}
	}
	return strings.Join(out, " ")
}

// peersAre waits for the peers to be these.
func (w *watching) peersAre(want string) {
	w.Helper()
	w.until("peers "+want, func() bool { s, _ := w.last(); return peers(s) == want })
}

// is waits for something about the newest snapshot.
func (w *watching) is(what string, true func(datastore.Snapshot) bool) {
	w.Helper()
	w.until(what, func() bool { s, n := w.last(); return n > 0 && true(s) })
}

func (w *watching) lost() {
	w.Helper()
	w.until("lost", func() bool { s := w.source.Status(); return !s.Connected && s.LastError != "" })
}

func (w *watching) found() {
	w.Helper()
	w.until("connected", func() bool { s := w.source.Status(); return s.Connected && s.LastError == "" })
}

// problem returns the text of the problems with a rule.
func problem(s datastore.Snapshot, rule string) string {
	var out []string
	for _, p := range s.Problems {
		if p.Rule == rule {
			out = append(out, p.String())
		}
	}
	return strings.Join(out, "\n")
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

// resource writes a resource of a group.
func resource(group, kind, name, spec string) string {
	return fmt.Sprintf("---\napiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec: {%s}\n", group, kind, name, spec)
}

func peer(group, name, address string) string {
	return resource(group, "BGPPeer", name, fmt.Sprintf("peerIP: %q, asNumber: 64512", address))
}

func node(name, address, ready string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Node
metadata: {name: %s, labels: {rack: r1}, annotations: {projectcalico.org/IPv4Address: %s, other/annotation: x}}
spec: {podCIDRs: [10.244.1.0/24], podCIDR: 10.244.1.0/24}
status: {conditions: [{type: Ready, status: %q, reason: x, message: x}, {type: DiskPressure, status: "False"}]}
`, name, address, ready)
}
