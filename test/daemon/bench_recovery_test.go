package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/test/bulk"
)

// BenchmarkBirdEnds kills a BIRD with 5,000 nodes, one of which is not ready, until the files
// for its next start are in place. cpu-ms/op has "bird -p" in it.
func BenchmarkBirdEnds(b *testing.B) {
	const text = `---
apiVersion: v1
kind: Node
metadata: {name: node-00007}
status: {conditions: [{type: Ready, status: Unknown}]}
`
	x := startBench(b, bulk.Nodes(5000, false)+text)
	main := filepath.Join(x.out, "bird.cfg")
	x.bird.Config = main
	var used time.Duration
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		before := cpu()
		x.bird.Kill()
		x.replaced(main, []string{"Mesh_10_64_0_7"})
		used += cpu() - before
		b.StopTimer()
		x.bird.Restart() // it has nothing to recover, so the session gets it back
		x.replaced(main, nil)
		b.StartTimer()
	}
	b.ReportMetric(float64(used.Microseconds())/1000/float64(n), "cpu-ms/op")
}

// replaced waits until a file is another one, and has graceful restart turned off for these
// sessions.
func (x *bench) replaced(path string, want []string) {
	x.b.Helper()
	before, tick := os.FileInfo(nil), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for {
		now, err := os.Stat(path)
		if err == nil && (before == nil || !os.SameFile(before, now)) {
			if before = now; slices.Equal(off(read(path)), want) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-x.applied: // nobody else takes it
		case <-limit:
			x.b.Fatalf("not within %s: files with %v", patience, want)
		}
	}
}
