package live

import (
	"context"
	"math/rand/v2"
	"time"
)

// Jitter changes a duration by a random part of it, either way: thousands of nodes that lose a
// server at once do not come back at once.
func Jitter(d time.Duration, part float64) time.Duration {
	return time.Duration(float64(d) * (1 + part*(2*rand.Float64()-1)))
}

// Sleep waits, and reports whether the context has not ended by then.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
