package recovery

import (
	"context"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

// Seen is what a BIRD daemon says about itself.
type Seen struct {
	// Err is why it does not answer; then there is nothing else.
	Err    error
	Status bird.Status
	// Sessions are those of BGP. More than their rows is known of them only during a
	// recovery, when it matters: with thousands of sessions the rest is long.
	Sessions []bird.Detail
}

// Look asks a daemon. The context bounds it all, the client's Timeout each answer.
func Look(ctx context.Context, client bird.Client) Seen {
	conn, err := client.Dial(ctx)
	if err != nil {
		return Seen{Err: err}
	}
	defer conn.Close()
	seen, err := look(ctx, conn)
	if err != nil {
		return Seen{Err: err}
	}
	return seen
}

func look(ctx context.Context, conn *bird.Conn) (Seen, error) {
	// A recovery never begins, it only ends: none now is none after the next question.
	status, err := conn.Status(ctx)
	if err != nil {
		return Seen{}, err
	}
	var all []bird.Detail
	if status.Recovery.InProgress {
		all, err = conn.Details(ctx)
	} else {
		var protocols []bird.Protocol
		protocols, err = conn.Protocols(ctx)
		for _, p := range protocols {
			all = append(all, bird.Detail{Protocol: p})
		}
	}
	if err != nil {
		return Seen{}, err
	}
	seen := Seen{Status: status}
	for _, d := range all {
		if d.IsBGP() {
			seen.Sessions = append(seen.Sessions, d)
		}
	}
	return seen, nil
}
