package daemon

import (
	"testing"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// What counts is what BIRD has, and not a set in between that it refused.
func TestW12RefusedSetIsNotWhatTheNextIsComparedWith(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 10)
	s.templates(badFor)
	s.start()
	s.applied(mesh(10))
	s.write("cluster.yaml", cluster(6)+peerYAML("blamed", "192.0.2.11", 64999))
	s.until("refused", func() bool { return s.problem(calico.RuleBirdCheck) != calico.Problem{} })
	s.write("cluster.yaml", cluster(4))
	s.until("held", func() bool { return s.target("bird").Held != nil })
	if held := s.target("bird").Held; held.Lost != 6 || held.Before != 9 {
		t.Errorf("held: %+v", held)
	}
	s.runs(s.bird, meshes(10)...)
	s.write("cluster.yaml", cluster(10))
	s.until("not held any more", func() bool { return s.target("bird").Held == nil && s.target("bird").PendingSince.IsZero() })
	s.runs(s.bird, meshes(10)...)
}
