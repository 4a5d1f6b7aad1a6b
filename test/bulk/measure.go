package bulk

import (
	"runtime"
	"time"
)

// Peak runs f and returns by how many MB the heap was larger at its largest, as far as a
// look every millisecond tells, than before.
func Peak(f func()) float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var m runtime.MemStats
		highest := uint64(0)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			runtime.ReadMemStats(&m)
			highest = max(highest, m.HeapAlloc)
			select {
			case <-stop:
				peak <- highest
				return
			case <-tick.C:
			}
		}
	}()
	f()
	close(stop)
	return float64(max(before, <-peak)-before) / 1e6
}

// Ratio runs small and large in turn, at least ten times each, and returns how many times
// more the large one takes per unit of its size: 1 means that time grows in proportion.
// The fastest runs count, as others on the machine only make a run slower.
func Ratio(smallSize int, small func(), largeSize int, large func()) float64 {
	best := [2]time.Duration{time.Hour, time.Hour}
	for range 10 {
		for i, f := range []func(){small, large} {
			start := time.Now()
			f()
			best[i] = min(best[i], time.Since(start))
		}
	}
	return (float64(best[1]) / float64(largeSize)) / (float64(best[0]) / float64(smallSize))
}
