package property

import (
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/test/cases/bulk"
	"github.com/birdconfd/birdconfd/test/cases/fromtext"
)

const benchNode = "node-00000"

// BenchmarkRender renders one node's files from a View that is there.
func BenchmarkRender(b *testing.B) {
	each(b, func(b *testing.B, text string) {
		set := fromtext.Set(b)
		r := fromtext.Input{Text: text}.Decode().Render(b, benchNode)
		measure(b, func() {
			for _, target := range set.Targets {
				if _, problems := set.Render(target, r.Views.Of(target.Family)); len(problems) > 0 {
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

// A change of a large cluster must stay cheap: this fails where something has become
// quadratic, and leaves room for a slow machine with others on it.
func TestLargeClusterIsCheap(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds under the race detector")
	}
	small, large := fromtext.Input{Text: bulk.Nodes(200, true)}.Decode(), fromtext.Input{Text: bulk.Nodes(2000, true)}.Decode()
	compute := func(c *fromtext.Cluster) func() {
		return func() { bgp.Compute(c.Cluster, benchNode, bgp.Options{}) }
	}
	if ratio := bulk.Ratio(200, compute(small), 2000, compute(large)); ratio > 5 {
		t.Errorf("a node of 2000 costs %.1f times as much as one of 200", ratio)
	}
}
