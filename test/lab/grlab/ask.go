package grlab

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

// dial opens a session with the node's BIRD.
func (n *Node) dial(ctx context.Context) (*bird.Conn, error) {
	return bird.Client{Socket: n.socket()}.Dial(ctx)
}

// Status is what BIRD says of itself.
func (n *Node) Status(ctx context.Context) (bird.Status, error) {
	conn, err := n.dial(ctx)
	if err != nil {
		return bird.Status{}, err
	}
	defer conn.Close()
	return conn.Status(ctx)
}

// Sessions are BIRD's BGP protocols, by their names.
func (n *Node) Sessions(ctx context.Context) (map[string]bird.Protocol, error) {
	conn, err := n.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	all, err := conn.Protocols(ctx)
	if err != nil {
		return nil, err
	}
	sessions := map[string]bird.Protocol{}
	for _, p := range all {
		if p.IsBGP() {
			sessions[p.Name] = p
		}
	}
	return sessions, nil
}

// Ask sends a command to BIRD and returns the lines of its answer.
func (n *Node) Ask(ctx context.Context, command string) (string, error) {
	conn, err := n.dial(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	reply, err := conn.Ask(ctx, command)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, line := range reply.Lines {
		fmt.Fprintln(&text, line.Text)
	}
	return text.String(), nil
}

// Session is what the other nodes call their session with this node.
func (n *Node) Session() string {
	return "Mesh_" + strings.ReplaceAll(n.Address.String(), ".", "_")
}

// settled is nil when no recovery is on, and all sessions and routes to some nodes are there.
func (n *Node) settled(ctx context.Context, peers []*Node) error {
	if err := n.recovered(ctx); err != nil {
		return err
	}
	if err := n.sessions(ctx, peers, bird.Protocol.Exchanges); err != nil {
		return err
	}
	routes, err := n.Routes()
	if err != nil {
		return err
	}
	for _, p := range peers {
		if routes[p.Block] != p.Address {
			return fmt.Errorf("%s has no route to %s", n.Name, p.Name)
		}
	}
	return nil
}

func (n *Node) recovered(ctx context.Context) error {
	status, err := n.Status(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", n.Name, err)
	}
	if status.Recovery.InProgress {
		return fmt.Errorf("%s: the recovery waits for %d", n.Name, status.Recovery.Waiting)
	}
	return nil
}

// sessions is nil when those with some nodes are good.
func (n *Node) sessions(ctx context.Context, peers []*Node, good func(bird.Protocol) bool) error {
	sessions, err := n.Sessions(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", n.Name, err)
	}
	for _, p := range peers {
		if s := sessions[p.Session()]; !good(s) {
			return fmt.Errorf("%s: the session with %s is %s %s", n.Name, p.Name, s.State, s.Info)
		}
	}
	return nil
}

// AwaitRoutes waits until the node has routes to all these nodes since a time, and returns
// when it got the last.
func (n *Node) AwaitRoutes(ctx context.Context, limit time.Duration, since time.Time, to ...*Node) (time.Time, error) {
	var last time.Time
	err := Until(ctx, limit, n.Name+" has its routes", func() error {
		last = time.Time{}
		for _, p := range to {
			at, ok := n.Routed(p, since)
			if !ok {
				return fmt.Errorf("no route to %s", p.Name)
			}
			if at.After(last) {
				last = at
			}
		}
		return nil
	})
	return last, err
}

// AwaitRecovery waits until the node's recovery is over, and returns when that was seen.
func (n *Node) AwaitRecovery(ctx context.Context, limit time.Duration) (time.Time, error) {
	err := Until(ctx, limit, n.Name+" has recovered", func() error { return n.recovered(ctx) })
	return time.Now(), err
}

// AwaitSessions waits until the sessions with all these nodes are established.
func (n *Node) AwaitSessions(ctx context.Context, limit time.Duration, with ...*Node) error {
	return Until(ctx, limit, n.Name+" has its sessions", func() error {
		return n.sessions(ctx, with, bird.Protocol.Established)
	})
}

// restartable matches what BIRD 1.6 and 2 say of a peer that would keep routes during a
// restart of its own.
var restartable = regexp.MustCompile(`(?s)Neighbor caps: [^\n]* restart-able|Neighbor capabilities\n.*?Graceful restart\n\s+Restart time: \d+\n(?:\s+Restart recovery\n)?\s+AF supported: ipv4`)

// Restartable is nil when another node has told this one that it does graceful restart.
func (n *Node) Restartable(ctx context.Context, peer *Node) error {
	reply, err := n.Ask(ctx, "show protocols all "+peer.Session())
	if err == nil && !restartable.MatchString(reply) {
		err = fmt.Errorf("%s: %s does no graceful restart:\n%s", n.Name, peer.Name, reply)
	}
	return err
}
