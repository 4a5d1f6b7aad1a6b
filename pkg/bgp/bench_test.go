package bgp_test

import (
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/test/bulk"
)

func BenchmarkCompute(b *testing.B) {
	for _, bench := range []struct {
		name, text string
	}{
		{"mesh-5000-dual", bulk.Nodes(5000, true)},
		{"mesh-5000-single", bulk.Nodes(5000, false)},
		{"racks-1000-nodes-200-peers-50-filters", bulk.Nodes(1000, true) + bulk.Racks(200, 50)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c := decode(b, bench.text)
			run := func() { bgp.Compute(c, "node-00000", bgp.Options{}) }
			peak := bulk.Peak(run)
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
			b.ReportMetric(peak, "peak-MB")
		})
	}
	b.Run("5000-to-1000", func(b *testing.B) {
		small, large := decode(b, bulk.Nodes(1000, true)), decode(b, bulk.Nodes(5000, true))
		for b.Loop() {
			b.ReportMetric(bulk.Ratio(1000, func() { bgp.Compute(small, "node-00000", bgp.Options{}) },
				5000, func() { bgp.Compute(large, "node-00000", bgp.Options{}) }), "ratio")
		}
	})
}
