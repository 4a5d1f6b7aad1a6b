package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/recovery"
)

// Answer is what a BIRD daemon says when it is asked over its control socket. It is never
// changed once it is handed out.
type Answer struct {
	// Error is why it did not answer; then there is nothing else.
	Error   string   `json:"error,omitempty"`
	Running *Running `json:"running,omitempty"`
	// Recovery is that of a graceful restart of its own (RFC 4724 section 4.1).
	Recovery *Recovery `json:"recovery,omitempty"`
	// Sessions are those of BGP, sorted by name.
	Sessions []Session `json:"sessions,omitempty"`
}

// Running is the daemon and its configuration. Booted and Configured are BIRD's own texts,
// in the time zone that it runs in.
type Running struct {
	Version    string `json:"version"`
	RouterID   string `json:"routerID"`
	Booted     string `json:"booted"`
	Configured string `json:"configured"`
	// Reconfiguring tells that sessions of the configuration before are still going down.
	Reconfiguring bool `json:"reconfiguring,omitempty"`
	ShuttingDown  bool `json:"shuttingDown,omitempty"`
}

// Recovery tells whether BIRD holds routes back, for how many it waits (protocols in BIRD
// 1.6, channels in newer versions), and for how long at most.
type Recovery struct {
	InProgress bool `json:"inProgress"`
	Waiting    int  `json:"waiting,omitempty"`
	// SecondsLeft is nil when BIRD does not say.
	SecondsLeft *float64 `json:"secondsLeft,omitempty"`
	// HeldBy are the sessions that it waits for, sorted.
	HeldBy []string `json:"heldBy,omitempty"`
}

// Session is one BGP session, as BIRD and the resources see it.
type Session struct {
	Name string `json:"name"`
	// State, Since and Info are BIRD's words, as in "show protocols"; "" for a session that
	// it does not have.
	State string `json:"state,omitempty"`
	Since string `json:"since,omitempty"`
	Info  string `json:"info,omitempty"`
	// BGPState is that of RFC 4271 section 8.2.2, or BIRD's Close, Passive or Down.
	BGPState string `json:"bgpState,omitempty"`
	// Address, ASNumber, Origin and Node are from the resources, as far as they are known.
	Address  netip.Addr `json:"address,omitzero"`
	ASNumber uint32     `json:"asNumber,omitempty"`
	// Origin says where the peering comes from.
	Origin string `json:"origin,omitempty"`
	// Node is the node of the cluster at the other end.
	Node string `json:"node,omitempty"`
	// NodeNotReady tells that Kubernetes says that this node is not ready.
	NodeNotReady bool `json:"nodeNotReady,omitempty"`
	// Wrong tells that BIRD and the resources do not agree about the session.
	Wrong string `json:"wrong,omitempty"`
}

// What can be wrong with a session.
const (
	notInBIRD      = "not in BIRD's running configuration"
	notInResources = "not a peer of the newest data: left over from before, or a template's own"
)

// bgpStates are the first words of what BIRD says about a session.
var bgpStates = []string{"Idle", "Connect", "Active", "OpenSent", "OpenConfirm", "Established", "Close", "Passive", "Down"}

// Ask asks the BIRD daemon at a control socket how it is and for its BGP sessions. Before
// it answers it may take as long as the context lasts, since BIRD is silent while it reads
// a configuration.
func Ask(ctx context.Context, socket string) Answer {
	started := time.Now()
	a, err := ask(ctx, socket)
	switch {
	case err == nil:
		return a
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return silence(socket, started)
	}
	return Answer{Error: oneLine(err.Error())}
}

// silence is the Answer of a daemon that was asked and said nothing.
func silence(socket string, asked time.Time) Answer {
	return Answer{Error: fmt.Sprintf("BIRD at %s did not answer within %s", socket, time.Since(asked).Round(100*time.Millisecond))}
}

func ask(ctx context.Context, socket string) (Answer, error) {
	seen := recovery.Look(ctx, bird.Client{Socket: socket})
	if seen.Err != nil {
		return Answer{}, seen.Err
	}
	status := seen.Status
	return Answer{
		Running: &Running{Version: status.Version.String(), RouterID: status.RouterID, Booted: status.Booted,
			Configured: status.Configured, Reconfiguring: status.Reconfiguring, ShuttingDown: status.ShuttingDown},
		Recovery: recoveryOf(seen),
		Sessions: bgpSessions(seen.Sessions),
	}, nil
}

func recoveryOf(seen recovery.Seen) *Recovery {
	r := seen.Status.Recovery
	out := &Recovery{InProgress: r.InProgress, Waiting: r.Waiting}
	if r.InProgress && r.LeftKnown {
		s := r.Left.Seconds()
		out.SecondsLeft = &s
	}
	for i := range seen.Sessions {
		if seen.Sessions[i].HoldsRecovery {
			out.HeldBy = append(out.HeldBy, seen.Sessions[i].Name)
		}
	}
	slices.Sort(out.HeldBy)
	return out
}

func bgpSessions(sessions []bird.Detail) []Session {
	var out []Session
	for _, p := range sessions {
		s := Session{Name: p.Name, State: p.State, Since: p.Since, Info: p.Info}
		if word, _, _ := strings.Cut(p.Info, " "); slices.Contains(bgpStates, word) {
			s.BGPState = word
		}
		out = append(out, s)
	}
	sortSessions(out)
	return out
}

func sortSessions(s []Session) {
	slices.SortFunc(s, func(a, b Session) int { return cmp.Compare(a.Name, b.Name) })
}

// explain adds what the resources say about the sessions. Without any View nothing is known,
// and nothing is wrong.
func (a Answer) explain(views bgp.Views) Answer {
	var peers []bgp.Peer
	for _, v := range views.All() {
		peers = append(peers, v.Peers...)
	}
	if len(views.All()) == 0 || a.Error != "" {
		return a
	}
	sessions := slices.Clone(a.Sessions)
	at := make(map[string]int, len(sessions))
	for i := range sessions {
		at[sessions[i].Name] = i
		sessions[i].Wrong = notInResources
	}
	for _, p := range peers {
		j, ok := at[p.Name]
		if !ok {
			sessions = append(sessions, Session{Name: p.Name, Wrong: notInBIRD})
			j = len(sessions) - 1
		} else {
			sessions[j].Wrong = ""
		}
		s := &sessions[j]
		s.Address, s.ASNumber, s.Origin, s.Node, s.NodeNotReady = p.Address, p.ASNumber, p.Why, p.NodeName, p.NodeNotReady
	}
	sortSessions(sessions)
	a.Sessions = sessions
	return a
}
