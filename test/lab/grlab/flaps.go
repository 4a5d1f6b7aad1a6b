package grlab

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Snapshot is which sessions are up on which nodes at a time, and since when.
type Snapshot struct {
	sessions []session
}

type session struct {
	node, peer *Node
	since      string
	ups        int // how often it has come up according to BIRD's log
}

// Snapshot looks at the sessions that the nodes have with each other.
func (l *Lab) Snapshot(ctx context.Context, nodes ...*Node) (*Snapshot, error) {
	s := &Snapshot{}
	for _, n := range nodes {
		for _, p := range nodes {
			if n != p {
				s.sessions = append(s.sessions, session{node: n, peer: p})
			}
		}
	}
	for i := range s.sessions {
		if err := s.sessions[i].look(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *session) look(ctx context.Context) error {
	sessions, err := s.node.Sessions(ctx)
	if err != nil {
		return err
	}
	p := sessions[s.peer.Session()]
	if !p.Established() {
		return fmt.Errorf("%s: the session with %s is %s %s", s.node.Name, s.peer.Name, p.State, p.Info)
	}
	s.since, s.ups = p.Since, strings.Count(s.node.BIRDLog(), s.peer.Session()+": BGP session established")
	return nil
}

// Flapped is nil when none of the sessions has been down since.
func (s *Snapshot) Flapped(ctx context.Context) error {
	for _, before := range s.sessions {
		now := before
		if err := now.look(ctx); err != nil {
			return err
		}
		if now.ups != before.ups || !sameSecond(before.since, now.since) {
			return fmt.Errorf("%s: the session with %s has been down: up since %s and then since %s, %d times and then %d",
				before.node.Name, before.peer.Name, before.since, now.since, before.ups, now.ups)
		}
	}
	return nil
}

// sameSecond compares times of day that BIRD gives: 1.6 rounds them, differently each time.
func sameSecond(a, b string) bool {
	ta, errA := time.Parse("15:04:05", a)
	tb, errB := time.Parse("15:04:05", b)
	if errA != nil || errB != nil {
		return a == b
	}
	return ta.Sub(tb).Abs() <= time.Second
}
