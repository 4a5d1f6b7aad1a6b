package etcd_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"github.com/birdconfd/birdconfd/pkg/datastore/etcd"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live/livetest"
	"github.com/birdconfd/birdconfd/test/backend"
)

const (
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
type watching struct{ *livetest.Watching }

// watch runs a source until the test ends.
func watch(t testing.TB, connection etcd.Connection, o etcd.Options) watching {
	t.Helper()
	o.Connection = connection
	return watching{livetest.Watch(t, "etcd", live.Needs{}, func(store *live.Store, logger *slog.Logger) live.Feed {
		o.Logger = logger
		return etcd.NewFeed(store, o)
	})}
}

// history lists all that was ever delivered of one peer, each state once in a row.
func (w watching) history(name string) []string {
	var out []string
	for _, s := range w.All() {
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
