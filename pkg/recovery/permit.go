package recovery

import (
	"context"
	"errors"
	"fmt"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

// ErrMoved tells that a daemon is in another state than the one that a Plan was made for.
var ErrMoved = errors.New("BIRD has moved on since this configuration was made for it")

// Permit makes sure, right before a Plan is carried out, that it still fits. Errors other
// than ErrMoved tell that the daemon could not be asked, which is for others to deal with.
func (p *Plan) Permit(ctx context.Context, client bird.Client, made State) error {
	if made.Condition == Silent || made.Condition == Unseen {
		return nil
	}
	conn, err := client.Dial(ctx)
	switch {
	case errors.Is(err, bird.ErrNotRunning):
		if made.Condition != Down {
			return moved(made.Condition, Down)
		}
		return nil
	case err != nil:
		return nil
	}
	defer conn.Close()
	status, err := conn.Status(ctx)
	if err != nil {
		return nil // whoever loads the configuration finds out
	}
	now := Steady
	if status.Recovery.InProgress {
		now = Recovering
	}
	if now != made.Condition {
		return moved(made.Condition, now)
	}
	if len(p.Flips) == 0 {
		return nil
	}
	protocols, err := conn.Protocols(ctx)
	if err != nil {
		return nil
	}
	flips := make(map[string]bool, len(p.Flips))
	for _, name := range p.Flips {
		flips[name] = true
	}
	for _, row := range protocols {
		if flips[row.Name] && (row.Established() || row.ComingUp()) {
			return fmt.Errorf("%w: the session %s has come up", ErrMoved, row.Name)
		}
	}
	return nil
}

func moved(from, to Condition) error {
	return fmt.Errorf("%w: it was %s and is %s", ErrMoved, from, to)
}
