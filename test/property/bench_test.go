package property

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/render"
	"github.com/birdconfd/birdconfd/test/bulk"
	"github.com/birdconfd/birdconfd/test/fromtext"
)

const benchNode = "node-00000"

// BenchmarkRender renders one node's files from a View that is there.
func BenchmarkRender(b *testing.B) {
	each(b, func(b *testing.B, text string) {
		set := fromtext.Set(b)
		r := fromtext.Input{Text: text}.Decode().Render(b, benchNode)
		measure(b, func() {
			for _, target := range set.Targets {
				if _, problems := set.Render(target, render.Input{Views: r.Views}); len(problems) > 0 {
					b.Fatal(problems)
				}
			}
		})
		size := 0
		for _, text := range r.Files {
			size += len(text)
		}
		b.ReportMetric(float64(size)/1e6, "output-MB")
	})
}

// BenchmarkComputeAndRender is what a change of the cluster costs, once it is decoded.
func BenchmarkComputeAndRender(b *testing.B) {
	each(b, func(b *testing.B, text string) {
		c := fromtext.Input{Text: text}.Decode()
		measure(b, func() { c.Render(b, benchNode) })
	})
	b.Run("5000-to-1000", func(b *testing.B) {
		small, large := fromtext.Input{Text: bulk.Nodes(1000, true)}.Decode(), fromtext.Input{Text: bulk.Nodes(5000, true)}.Decode()
		for b.Loop() {
			b.ReportMetric(bulk.Ratio(1000, func() { small.Render(b, benchNode) }, 5000, func() { large.Render(b, benchNode) }), "ratio")
		}
	})
}

// BenchmarkWholeWay is decoding, the calculation and rendering.
func BenchmarkWholeWay(b *testing.B) {
	each(b, func(b *testing.B, text string) {
		in := fromtext.Input{Text: text}
		measure(b, func() { in.Decode().Render(b, benchNode) })
	})
	b.Run("5000-to-1000", func(b *testing.B) {
		small, large := fromtext.Input{Text: bulk.Nodes(1000, true)}, fromtext.Input{Text: bulk.Nodes(5000, true)}
		for b.Loop() {
			b.ReportMetric(bulk.Ratio(1000, func() { small.Decode().Render(b, benchNode) }, 5000, func() { large.Decode().Render(b, benchNode) }), "ratio")
		}
	})
}

// BenchmarkRenderConfd renders one node's files with templates written for confd: of keys and
// values only (3.31), or with the object (3.33). The ratio tells that scans of keys stay linear:
// five times the nodes may cost five times as much.
func BenchmarkRenderConfd(b *testing.B) {
	for _, release := range fromtext.Releases {
		set := fromtext.ConfdSet(b, release)
		render := func(nodes int) func() {
			c := fromtext.Input{Text: bulk.Nodes(nodes, true) + bulk.Racks(40, 5)}.Decode()
			return func() { c.RenderWith(b, set, benchNode) }
		}
		b.Run(release+"/5000-nodes-40-racks", func(b *testing.B) { measure(b, render(5000)) })
		b.Run(release+"/5000-to-1000", func(b *testing.B) {
			small, large := render(1000), render(5000)
			for b.Loop() {
				b.ReportMetric(bulk.Ratio(1000, small, 5000, large), "ratio")
			}
		})
	}
}

// BenchmarkBird2Reads is the CPU time that BIRD 2 takes to read what is rendered for it.
func BenchmarkBird2Reads(b *testing.B) {
	each(b, func(b *testing.B, text string) {
		dir := b.TempDir()
		for name, text := range (fromtext.Input{Text: text}).Decode().RenderWith(b, fromtext.Bird2Set(b), benchNode).Files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		var spent time.Duration
		for b.Loop() {
			cmd := exec.Command(birdtest.Bird2(b), "-p", "-c", filepath.Join(dir, "bird.cfg"))
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			spent += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
		b.ReportMetric(spent.Seconds()/float64(b.N), "cpu-s/op")
	})
}

func each(b *testing.B, f func(*testing.B, string)) {
	for _, bench := range []struct {
		name, text string
	}{
		{"mesh-5000-dual", bulk.Nodes(5000, true)},
		{"mesh-5000-single", bulk.Nodes(5000, false)},
		{"racks-1000-nodes-200-peers-50-filters", bulk.Nodes(1000, true) + bulk.Racks(200, 50)},
	} {
		b.Run(bench.name, func(b *testing.B) { f(b, bench.text) })
	}
}

func measure(b *testing.B, run func()) {
	peak := bulk.Peak(run)
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
	b.ReportMetric(peak, "peak-MB")
}

// Nor with templates written for confd, which scan keys for each node.
func TestConfdCostIsLinear(t *testing.T) {
	for _, release := range fromtext.Releases {
		set := fromtext.ConfdSet(t, release)
		perNode := func(nodes int) float64 {
			c := fromtext.Input{Text: bulk.Nodes(nodes, true) + bulk.Racks(20, 5)}.Decode()
			return testing.AllocsPerRun(1, func() { c.RenderWith(t, set, benchNode) }) / float64(nodes)
		}
		if small, large := perNode(200), perNode(2000); large > 1.2*small {
			t.Errorf("%s: %.1f allocations per node of 2000, but %.1f of 200", release, large, small)
		}
	}
}

// TestCostIsLinear counts allocations, which do not depend on the machine: a node of a
// large cluster may not need more than one of a small cluster.
func TestCostIsLinear(t *testing.T) {
	perNode := func(nodes int) float64 {
		c := fromtext.Input{Text: bulk.Nodes(nodes, true) + bulk.Racks(20, 5)}.Decode()
		return testing.AllocsPerRun(1, func() { c.Render(t, benchNode) }) / float64(nodes)
	}
	if small, large := perNode(200), perNode(2000); large > 1.2*small {
		t.Errorf("%.1f allocations per node of 2000, but %.1f of 200", large, small)
	}
}
