package daemon

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// asker asks the BIRD daemon at a control socket.
type asker func(ctx context.Context, socket string) Answer

// share makes those who ask for the same socket at the same time share one question, so
// that nobody can keep BIRD busy by asking often. The question goes on when one of them
// leaves; it ends after limit, and with life.
func share(life context.Context, limit time.Duration, ask asker) asker {
	var group singleflight.Group
	return func(ctx context.Context, socket string) Answer {
		started := time.Now()
		answer := group.DoChan(socket, func() (any, error) {
			ctx, cancel := context.WithTimeout(life, limit)
			defer cancel()
			return ask(ctx, socket), nil
		})
		select {
		case r := <-answer:
			return r.Val.(Answer)
		case <-ctx.Done():
			return silence(socket, started)
		}
	}
}

// remember keeps each answer, also that there was none, for some time.
func remember(age time.Duration, ask asker) asker {
	type kept struct {
		answer Answer
		at     time.Time
	}
	var mu sync.Mutex
	answers := map[string]kept{}
	return func(ctx context.Context, socket string) Answer {
		mu.Lock()
		k, ok := answers[socket]
		mu.Unlock()
		if ok && time.Since(k.at) < age {
			return k.answer
		}
		k = kept{ask(ctx, socket), time.Now()}
		mu.Lock()
		answers[socket] = k
		mu.Unlock()
		return k.answer
	}
}

// within bounds how long an asker is waited for.
func within(limit time.Duration, ask asker) asker {
	return func(ctx context.Context, socket string) Answer {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return ask(ctx, socket)
	}
}

// askAll asks the daemons of all targets that have a socket at once, and returns what they
// say in the same order.
func askAll(ctx context.Context, targets []TargetStatus, ask asker) []Answer {
	answers := make([]Answer, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		if t.Socket != "" {
			all.Go(func() { answers[i] = ask(ctx, t.Socket) })
		}
	}
	all.Wait()
	return answers
}
