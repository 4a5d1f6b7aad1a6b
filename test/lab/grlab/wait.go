package grlab

import (
	"context"
	"fmt"
	"time"
)

// pollEvery is how often a condition is looked at.
const pollEvery = 50 * time.Millisecond

// Until waits until there is no error any more. After the limit, or when the context ends,
// it returns the last one; what is for people.
func Until(ctx context.Context, limit time.Duration, what string, missing func() error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := missing()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-limited.Done():
			if ctx.Err() != nil {
				return fmt.Errorf("%s: %w", what, context.Cause(ctx))
			}
			return fmt.Errorf("still not so after %s: %s: %w", limit, what, err)
		}
	}
}
