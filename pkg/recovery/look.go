package recovery

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

// looker looks at a daemon over one connection.
type looker struct {
	*Watcher
	conn *bird.Conn
	// sessionsAt is when the sessions were last looked at, sessionsTook how long that took.
	sessionsAt   time.Time
	sessionsTook time.Duration
	waiting      int // for so many the recovery waited then
	running      time.Duration
}

// look asks for everything that may have changed.
func (l *looker) look(ctx context.Context) (State, error) {
	status, err := l.conn.Status(ctx)
	if err != nil {
		return State{}, err
	}
	now := time.Now()
	l.began(status, now)
	s := l.state
	s.At, s.Version, s.Why, s.Recovery = now, l.conn.Version(), nil, status.Recovery
	s.Booted = status.LastReboot
	before := s.Condition
	s.Condition = Steady
	if status.Recovery.InProgress {
		s.Condition = Recovering
	}
	l.running = now.Sub(l.upAt)
	if !status.ServerTime.IsZero() && !status.LastReboot.IsZero() {
		l.running = status.ServerTime.Sub(status.LastReboot)
	}
	_, follows := l.asked()
	fresh := before != s.Condition || s.Sessions == nil || l.sessionsAt.IsZero()
	stale := now.Sub(l.sessionsAt) >= l.between()
	switch {
	case s.Condition == Recovering && (fresh || stale || status.Recovery.Waiting != l.waiting):
		s.Sessions, err = l.details(ctx)
		l.waiting = status.Recovery.Waiting
	case s.Condition == Steady && len(follows) > 0:
		s.Sessions, err = l.rows(ctx, follows)
	case s.Condition == Steady:
		s.Sessions = nil
	}
	if err != nil {
		return State{}, err
	}
	for name, session := range s.Sessions {
		if session.Established && s.Condition == Recovering {
			l.ever[name] = true
		}
	}
	return s, nil
}

// began notes whether it is another daemon than before.
func (l *looker) began(status bird.Status, now time.Time) {
	if l.gone || !status.SameStart(l.boot) {
		l.gone, l.upAt = false, now
		l.state.Start++
		l.state.Released, l.state.Sessions = nil, nil
		l.ever, l.failed = map[string]bool{}, map[string]bool{}
	}
	l.boot = status
}

// between is how much time must be between two looks at sessions.
func (l *looker) between() time.Duration { return max(sessionsEvery, share*l.sessionsTook) }

// next is when to look again; zero for not before something happens.
func (l *looker) next() time.Duration {
	_, follows := l.asked()
	switch {
	case l.state.Condition == Recovering:
		return recoveringEvery
	case len(follows) > 0:
		return max(steadyEvery, share*l.sessionsTook)
	}
	return 0
}

// details looks at sessions and at what the recovery waits for.
func (l *looker) details(ctx context.Context) (map[string]Session, error) {
	began := time.Now()
	list, err := l.conn.Details(ctx)
	l.sessionsAt = time.Now()
	l.sessionsTook = l.sessionsAt.Sub(began)
	out := make(map[string]Session, len(list))
	for i := range list {
		if list[i].IsBGP() {
			out[list[i].Name] = sessionOf(&list[i])
		}
	}
	return out, err
}

func sessionOf(d *bird.Detail) Session {
	return Session{Established: d.Established(), ComingUp: d.ComingUp(), Holds: d.HoldsRecovery}
}

// rows looks at some sessions alone.
func (l *looker) rows(ctx context.Context, follows map[string]bool) (map[string]Session, error) {
	began := time.Now()
	list, err := l.conn.Protocols(ctx)
	l.sessionsAt = time.Now()
	l.sessionsTook = l.sessionsAt.Sub(began)
	out := make(map[string]Session, len(follows))
	for _, p := range list {
		if p.IsBGP() && follows[p.Name] {
			out[p.Name] = Session{Established: p.Established(), ComingUp: p.ComingUp()}
		}
	}
	return out, err
}

// release releases the peers that are due, each only if it still holds the recovery and has
// no session.
func (l *looker) release(ctx context.Context) error {
	policy, _ := l.asked()
	released := slices.Clone(l.state.Released)
	for _, r := range policy.due(l.state, l.running, l.ever) {
		if l.failed[r.Name] {
			continue
		}
		now, err := l.conn.Details(ctx, r.Name)
		if err != nil {
			return err
		}
		if len(now) != 1 || !now[0].HoldsRecovery || sessionOf(&now[0]).touchy() {
			continue
		}
		done, err := l.conn.Restart(ctx, r.Name)
		if err != nil {
			return err
		}
		if !done {
			l.failed[r.Name] = true
			continue
		}
		r.At = time.Now()
		released = append(released, r)
	}
	if len(released) == len(l.state.Released) {
		return nil
	}
	s := l.state
	s.Released, s.Sessions = released, maps.Clone(s.Sessions)
	for _, r := range released {
		s.Sessions[r.Name] = Session{}
	}
	l.sessionsAt = time.Time{}
	l.tell(s)
	return nil
}
