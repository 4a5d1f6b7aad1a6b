package recovery

import (
	"maps"
	"slices"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

// Condition is what a daemon was seen to be doing.
type Condition string

// Conditions. The zero value is that of a daemon which nobody has looked for yet.
const (
	Unseen Condition = ""
	// Silent: it could not be asked, and is perhaps there.
	Silent Condition = "silent"
	// Down: nothing listens at its socket.
	Down Condition = "down"
	// Recovering: it was started to recover and is not done.
	Recovering Condition = "recovering"
	// Steady: it runs, and is not recovering.
	Steady Condition = "steady"
)

// State is what is known of a daemon at one moment. It is never changed once it is handed
// out.
type State struct {
	Condition Condition
	At        time.Time // when it was seen
	// Start counts the starts of the daemon that were seen, from 1 on. It stays when the
	// daemon ends.
	Start   int
	Version bird.Version
	// Booted is when it was started, by BIRD's account; zero where that cannot be read.
	Booted time.Time
	// Why is the reason for Silent.
	Why error
	// Recovery is BIRD's own account.
	Recovery bird.Recovery
	// Sessions are the BGP sessions by name, while the daemon recovers all of them, later
	// those that a Watcher follows; nil when they are not known.
	Sessions map[string]Session
	// Released are the peers that were released since the daemon's last start.
	Released []Release
}

// Session is what matters of a BGP session here.
type Session struct {
	// Established, and ComingUp while messages are exchanged before that.
	Established, ComingUp bool
	// Holds tells that the recovery waits for it.
	Holds bool
}

// Up tells whether the daemon answers.
func (s State) Up() bool { return s.Condition == Recovering || s.Condition == Steady }

// touchy tells that a session must not be changed: it is established, or about to be.
func (s Session) touchy() bool { return s.Established || s.ComingUp }

// KeepsHolds tells that the daemon goes on waiting for a peer that was changed or removed
// meanwhile: BIRD 2 and 3 lose track of it, and 3 may crash.
func (s State) KeepsHolds() bool { return s.Version.Major >= 2 }

// holds tells whether a recovery waits for a session, as far as that is known.
func (s State) holds(name string) bool {
	if s.Condition != Recovering {
		return false
	}
	return s.Sessions == nil || s.Sessions[name].Holds
}

// Holders are the sessions that a recovery waits for, sorted.
func (s State) Holders() []string {
	var names []string
	for name, session := range s.Sessions {
		if session.Holds {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// same tells whether there is nothing new in another state but the time.
func (s State) same(o State) bool {
	return s.Condition == o.Condition && s.Start == o.Start && s.Version == o.Version &&
		len(s.Released) == len(o.Released) && (s.Sessions == nil) == (o.Sessions == nil) && maps.Equal(s.Sessions, o.Sessions)
}
