package kube_test

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live/livetest"
	"github.com/birdconfd/birdconfd/pkg/datastore/kube"
	"github.com/birdconfd/birdconfd/test/backend"
)

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
func watch(t testing.TB, o kube.Options, needs live.Needs) *livetest.Watching {
	t.Helper()
	return livetest.Watch(t, "kubernetes", needs, func(store *live.Store, logger *slog.Logger) live.Feed {
		o.Logger = logger
		feed, err := kube.NewFeed(store, o)
		if err != nil {
			t.Fatal(err)
		}
		return feed
	})
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
