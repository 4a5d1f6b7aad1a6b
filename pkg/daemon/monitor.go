package daemon

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

// dialEvery is how often a daemon that is down is looked for.
const dialEvery = 500 * time.Millisecond

// seen is what a monitor saw.
type seen struct {
	of      *target
	up      bool
	version string
	at      time.Time
}

// monitor holds a connection to a daemon's control socket, so that its end and its start
// are seen at once. It returns when the context ends.
func monitor(ctx context.Context, client bird.Client, report func(seen)) {
	first := true
	for ctx.Err() == nil {
		conn, err := client.Dial(ctx)
		if err != nil {
			if first && ctx.Err() == nil {
				report(seen{at: time.Now()})
			}
			first = false
			pause(ctx, dialEvery)
			continue
		}
		first = false
		began := time.Now()
		report(seen{up: true, version: conn.Version().String(), at: began})
		_ = conn.Wait(ctx) // that it ended is all there is to know
		conn.Close()
		if time.Since(began) < dialEvery {
			pause(ctx, dialEvery) // whoever hangs up at once is not asked all the time
		}
		if ctx.Err() == nil {
			report(seen{at: time.Now()})
		}
	}
}

// pause waits, unless the context ends before.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

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
