package recovery

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Policy is when a recovery shall go on without a peer. BIRD 1.6 alone can be told so; it
// then waits for the peer no longer, and graceful restart stays on.
type Policy struct {
	// NotReady names the nodes that are not ready by the sessions with them.
	NotReady map[string]string
	// Wait is the longest that the recovery shall take; nil for BIRD's own limit.
	Wait *time.Duration
	// Unreachable is how long a session may not come up at all while all others, of which
	// there must be some, have recovered; zero for ever.
	Unreachable time.Duration
	// Off turns all of it off.
	Off bool
}

// Reason is why a peer was released.
type Reason string

// Reasons.
const (
	NodeNotReady Reason = "node-not-ready"
	WaitLowered  Reason = "wait-lowered"
	Unreachable  Reason = "unreachable"
)

// Release is a peer that the recovery waits for no longer.
type Release struct {
	Name   string `json:"name"`
	Reason Reason `json:"reason"`
	// Why is a sentence for people.
	Why string    `json:"why"`
	At  time.Time `json:"at"`
}

// due lists the peers to be released, sorted by name. running is how long ago the daemon was
// started, and ever the sessions that have been up since.
func (p Policy) due(s State, running time.Duration, ever map[string]bool) []Release {
	if p.Off || s.Condition != Recovering || s.KeepsHolds() {
		return nil
	}
	var out []Release
	others := true // all others have recovered
	some := false  // and there are some: else it may be this node that reaches nobody
	for name, session := range s.Sessions {
		switch {
		case !session.Holds:
			some = some || session.Established
			continue
		case session.touchy() || ever[name]:
			others = false // it is on its way
		}
		if session.touchy() {
			continue
		}
		node, notReady := p.NotReady[name]
		switch {
		case notReady:
			out = append(out, Release{Name: name, Reason: NodeNotReady, Why: fmt.Sprintf("its node %s is not ready", node)})
		case p.Wait != nil && running >= *p.Wait:
			out = append(out, Release{Name: name, Reason: WaitLowered, Why: fmt.Sprintf("gracefulRestartWait is %s now, and that has passed", *p.Wait)})
		case p.Unreachable > 0 && running >= p.Unreachable && !ever[name]:
			out = append(out, Release{Name: name, Reason: Unreachable, Why: fmt.Sprintf("its session has not come up for %s, and all others have recovered", p.Unreachable)})
		}
	}
	if !others || !some {
		out = slices.DeleteFunc(out, func(r Release) bool { return r.Reason == Unreachable })
	}
	slices.SortFunc(out, func(a, b Release) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
