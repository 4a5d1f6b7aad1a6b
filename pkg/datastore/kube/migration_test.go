package kube_test

import (
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
	"github.com/birdconfd/birdconfd/test/backend"
)

// Resources that move to the other group are not followed, but what is known stays and it is
// said what to do.
func TestMigrationToTheOtherGroup(t *testing.T) {
	for from, to := range map[string]string{backend.GroupV1: backend.GroupV3, backend.GroupV3: backend.GroupV1} {
		t.Run(from, func(t *testing.T) {
			k := backend.SharedKube(t)
			k.Clear(t)
			k.InstallCRDs(t, from)
			k.Apply(t, peer(from, "a", "192.0.2.1"))
			w := watch(t, impatient(k.Admin()), live.Needs{})
			w.PeersAre("a=192.0.2.1")
			k.InstallCRDs(t, to)
			k.Apply(t, peer(to, "a", "192.0.2.2"))
			for _, plural := range backend.CalicoPlurals {
				k.RemoveCRD(t, from, plural)
			}
			w.Is("it is said", func(s datastore.Snapshot) bool {
				return strings.Contains(problem(s, calico.RuleNotInstalled), "moved to "+to+", restart birdconfd")
			})
			for _, s := range w.All() {
				if len(s.Cluster.Peers) != 1 || s.Cluster.Peers[0].PeerIP.String() != "192.0.2.1" {
					t.Errorf("peers %+v", s.Cluster.Peers)
				}
			}
			// Who starts now takes the new group.
			watch(t, impatient(k.Admin()), live.Needs{}).PeersAre("a=192.0.2.2")
		})
	}
}
