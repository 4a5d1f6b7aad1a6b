package grlab

import (
	"context"
	"errors"
	"time"
)

// TwoDown takes the power off two nodes, which are NotReady from then on.
func (l *Lab) TwoDown(a, b *Node) error {
	return errors.Join(a.PowerOff(), b.PowerOff(), l.SetReady(a, "False"), l.SetReady(b, "False"))
}

// Outcome is how the story of a node that comes back ends.
type Outcome struct {
	Version string // of BIRD
	// Took is the time from BIRD's start to the first route in the kernel.
	Took time.Duration
	// Ended tells that there was a route within the limit, Failed that nobody knows.
	Ended, Failed bool
}

// Story takes the power off two nodes, gives it back to one, and waits up to a limit after
// the start of its BIRD for its first route.
func Story(ctx context.Context, o Options, limit time.Duration) (out Outcome, err error) {
	l, err := New(o)
	if err != nil {
		return Outcome{}, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.Start(ctx); err != nil {
		return Outcome{}, err
	}
	back, dead := l.Node(4), l.Node(3)
	if err := l.TwoDown(back, dead); err != nil {
		return Outcome{}, err
	}
	begin := time.Now()
	if err := back.PowerOn(); err != nil {
		return Outcome{}, err
	}
	start, err := back.AwaitBIRD(ctx, begin)
	if err != nil {
		return Outcome{}, err
	}
	status, err := back.Status(ctx)
	if err != nil {
		return Outcome{}, err
	}
	out.Version = status.Version.String()
	err = Until(ctx, limit+time.Second, "there is a route or the time is over", func() error {
		change, ok := back.FirstRoute(start)
		out.Ended, out.Took = ok, change.At.Sub(start)
		if !ok && time.Since(start) < limit {
			return errors.New("neither is so")
		}
		return nil
	})
	return out, err
}
