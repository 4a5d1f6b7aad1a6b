package cases

import (
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	birdpkg "github.com/birdconfd/birdconfd/pkg/bird"
)

// The log gives the replies of BIRD, not resources. Which peers are missing is for
// readiness to say, which there is not yet.
func TestA5RecoveryIsVisible(t *testing.T) {
	var replies map[string][]string
	if err := yaml.Unmarshal([]byte(readLog(t)["A5"].steps[0]), &replies); err != nil {
		t.Fatal(err)
	}
	want := map[string]birdpkg.Recovery{
		"status_1_6": {InProgress: true, Waiting: 1, Left: 2 * time.Second, LeftKnown: true, Total: 5 * time.Second},
		"status_2_0": {InProgress: true, Waiting: 1, Left: 15277 * time.Millisecond, LeftKnown: true, Total: 20 * time.Second},
		"status_odd": {InProgress: true, Waiting: 2},
	}
	if len(replies) != len(want) {
		t.Errorf("the log has %d replies, want %d", len(replies), len(want))
	}
	for name, lines := range replies {
		if got := birdpkg.ParseRecovery(lines); got != want[name] {
			t.Errorf("%s: %+v, want %+v", name, got, want[name])
		}
	}
	p, ok := birdpkg.ParseProtocol("Mesh_192_0_2_1 BGP master wait 20:51:17 Established")
	if !ok || p.Exchanges() {
		t.Errorf("a session whose exports are held back counts as useful: %+v", p)
	}
}
