package daemon

import (
	"math/rand/v2"
	"time"
)

// Pauses between attempts.
const (
	firstRetry   = 500 * time.Millisecond
	longestRetry = 30 * time.Second
)

// backoff is how long to wait after so many failures, one fifth more or less, so that many
// daemons do not come back in step.
func backoff(failures int) time.Duration {
	d := longestRetry
	if failures < 8 {
		d = min(d, firstRetry<<max(failures-1, 0))
	}
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
