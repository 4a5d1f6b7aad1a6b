package recovery

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/bird"
)

// Rules are what an operator decides about readiness.
type Rules struct {
	// MaxAge is how old the knowledge that nodes are NotReady may be, DefaultMaxAge when zero.
	MaxAge time.Duration
	// Settled is how long BIRD must have run for one session to be enough; zero for never.
	Settled time.Duration
}

// Verdict tells whether a BIRD serves its node.
type Verdict struct {
	Ready bool `json:"ready"`
	// Reasons are those that are about the daemon as a whole.
	Reasons []string `json:"reasons"`
	// Sessions counts the BGP sessions, without those of local workloads; Up those of them
	// that exchange routes.
	Sessions int `json:"sessions"`
	Up       int `json:"up"`
	// Settled tells that BIRD has run so long that one session is enough.
	Settled bool `json:"settled"`
	// Missing are the sessions that are not up, first those that count.
	Missing []MissingPeer `json:"missing"`
}

// MissingPeer is a session that is not up.
type MissingPeer struct {
	Name    string     `json:"name"`
	Address netip.Addr `json:"address,omitzero"`
	// Node and Origin are as in KnownPeer.
	Node   string `json:"node,omitempty"`
	Origin string `json:"origin,omitempty"`
	// State is BIRD's: the state of the session and its last error.
	State string `json:"state"`
	// HoldsRecovery tells that BIRD's recovery waits for it.
	HoldsRecovery bool `json:"holdsRecovery"`
	Counts        bool `json:"counts"`
	// Why says why it counts, or does not.
	Why string `json:"why"`
}

// String is a line for people.
func (m MissingPeer) String() string {
	var b strings.Builder
	b.WriteString(m.Name)
	if m.Address.IsValid() {
		fmt.Fprintf(&b, " (%s)", m.Address)
	}
	fmt.Fprintf(&b, ": %s", m.State)
	if m.HoldsRecovery {
		b.WriteString("; the recovery waits for it")
	}
	if m.Counts {
		fmt.Fprintf(&b, "; it counts: %s", m.Why)
	} else {
		fmt.Fprintf(&b, "; it does not count: %s", m.Why)
	}
	return b.String()
}

// Judge decides whether a BIRD serves its node: it answers, holds nothing back after a
// start, and has every session that counts. Sessions that count are those with peers that
// should be there: peers that are no nodes of the cluster, and nodes unless they are NotReady.
func Judge(seen Seen, known Peers, now time.Time, rules Rules) Verdict {
	v := Verdict{Reasons: []string{}, Missing: []MissingPeer{}}
	if seen.Err != nil {
		v.Reasons = append(v.Reasons, seen.Err.Error())
		return v
	}
	v.daemon(&seen, rules)
	about := map[string]KnownPeer{}
	expected := 0
	for _, p := range known.Peers {
		if about[p.Name] = p; !strings.HasPrefix(p.Name, string(bgp.LocalWorkload)+"_") {
			expected++
		}
	}
	counting := judge{known: known, now: now, maxAge: cmp.Or(rules.MaxAge, DefaultMaxAge)}
	needed, neededUp := 0, 0
	for _, d := range seen.Sessions {
		if strings.HasPrefix(d.Name, string(bgp.LocalWorkload)+"_") {
			continue
		}
		p, ok := about[d.Name]
		counts, why := counting.counts(d, p, ok)
		v.Sessions++
		if counts {
			needed++
		}
		// What a recovery holds back is missing no longer when that is over, which is
		// a reason of its own.
		if d.Established() && !d.HoldsRecovery && (!d.AwaitsRecovery || seen.Status.Recovery.InProgress) {
			v.Up++
			if counts {
				neededUp++
			}
			continue
		}
		v.Missing = append(v.Missing, MissingPeer{Name: d.Name, Address: p.Address, Node: p.Node, Origin: p.Origin,
			State: state(d), HoldsRecovery: d.HoldsRecovery, Counts: counts, Why: why})
	}
	slices.SortFunc(v.Missing, func(a, b MissingPeer) int {
		if a.Counts != b.Counts {
			return map[bool]int{true: -1, false: 1}[a.Counts]
		}
		return cmp.Compare(a.Name, b.Name)
	})
	if v.Sessions == 0 && expected > 0 && known.fresh(now, counting.maxAge) {
		v.Reasons = append(v.Reasons, fmt.Sprintf("BIRD has no BGP sessions, and the resources have %d: it runs another configuration", expected))
	}
	if v.Sessions > 0 && v.Up == 0 {
		v.Reasons = append(v.Reasons, fmt.Sprintf("BIRD reaches nobody: none of its BGP sessions is up, of %d", v.Sessions))
	}
	enough := neededUp == needed || v.Settled && neededUp > 0
	v.Ready = len(v.Reasons) == 0 && enough
	return v
}

// daemon judges the daemon as a whole.
func (v *Verdict) daemon(seen *Seen, rules Rules) {
	s := &seen.Status
	if s.ShuttingDown {
		v.Reasons = append(v.Reasons, "BIRD is shutting down")
	}
	if r := s.Recovery; r.InProgress {
		reason := fmt.Sprintf("BIRD has started and holds routes back (graceful restart): it waits for %d", r.Waiting)
		if r.LeftKnown {
			reason += fmt.Sprintf(", %s longer at most", r.Left.Round(time.Second))
		}
		v.Reasons = append(v.Reasons, reason)
	}
	// Times of one reply are comparable; they are zero where BIRD writes none that can be read.
	known := !s.ServerTime.IsZero() && !s.LastReboot.IsZero()
	v.Settled = rules.Settled > 0 && known && s.ServerTime.Sub(s.LastReboot) >= rules.Settled
}

// state gives BIRD's words for a session that is not up.
func state(d bird.Detail) string {
	switch {
	case d.Established() && d.HoldsRecovery:
		return d.Info + ", but the peer has not sent all its routes"
	case d.Established():
		return d.Info + ", but nothing is announced yet"
	}
	return cmp.Or(d.Info, d.State)
}

// judge says which sessions count.
type judge struct {
	known  Peers
	now    time.Time
	maxAge time.Duration
}

func (j judge) counts(d bird.Detail, p KnownPeer, known bool) (counts bool, why string) {
	switch {
	case d.Disabled():
		return false, "it is disabled in BIRD"
	case !known:
		return true, "nothing is known about the peer"
	case p.Node == "":
		return true, "the peer is no node of the cluster"
	case !p.NotReady:
		return true, fmt.Sprintf("node %s is not known to be NotReady", p.Node)
	case !j.known.fresh(j.now, j.maxAge):
		return true, fmt.Sprintf("that node %s is NotReady was certain %s ago, which is too long", p.Node, j.now.Sub(j.known.AsOf).Round(time.Second))
	}
	return false, fmt.Sprintf("node %s is NotReady", p.Node)
}
