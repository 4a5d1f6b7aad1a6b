package recovery

import (
	"slices"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// Plan is what the Views of a target must be like for the state that its daemon is in.
type Plan struct {
	Views bgp.Views
	// Off are the sessions that a restart does not wait for, as their nodes are not ready.
	Off []string
	// Flips are the sessions that get graceful restart back, Kept those that get it back
	// when they are down next.
	Flips, Kept []string
	// Deferred are the sessions whose change or removal waits until the recovery is over, and
	// Leaving those of them that are removed then.
	Deferred, Leaving []string
}

// Make works out a Plan. Views are those of a daemon that has started; they are not changed.
// believe tells whether what is known of nodes' readiness is new enough.
func Make(views bgp.Views, s State, now InPlace, believe bool) Plan {
	var p Plan
	p.Views.IPv4 = p.view(views.IPv4, s, now, believe)
	p.Views.IPv6 = p.view(views.IPv6, s, now, believe)
	for _, names := range []*[]string{&p.Off, &p.Flips, &p.Kept, &p.Deferred} {
		slices.Sort(*names)
	}
	return p
}

func (p *Plan) view(v *bgp.View, s State, now InPlace, believe bool) *bgp.View {
	if v == nil {
		return nil
	}
	out := *v
	if s.Condition == Down || s.Condition == Recovering || s.Condition == Silent {
		out.Phase = bgp.Starting
	}
	out.Peers = slices.Clone(v.Peers)
	for i := range out.Peers {
		peer := &out.Peers[i]
		peer.GracefulRestartOff = p.off(v, peer, s, now, believe)
	}
	if before := now.Views.Of(v.Family); before != nil && s.Condition == Recovering && s.KeepsHolds() {
		p.keepHolders(&out, before, s)
	}
	return &out
}

// off decides whether a peer has graceful restart turned off.
func (p *Plan) off(v *bgp.View, peer *bgp.Peer, s State, now InPlace, believe bool) bool {
	is := now.Off(peer.Name)
	switch s.Condition {
	case Down:
		off := believe && peer.NodeNotReady && v.GracefulRestartWaitFor == calico.WaitForReadyNodes
		if off {
			p.Off = append(p.Off, peer.Name)
		}
		return off
	case Steady:
		session, seen := s.Sessions[peer.Name]
		switch {
		case !is:
			return false
		case !seen || session.touchy():
			p.Kept = append(p.Kept, peer.Name)
			return true
		}
		p.Flips = append(p.Flips, peer.Name)
		return false
	}
	// It is too late for this start, and a change may cost a session.
	return is
}

// ForStart is the Plan for a daemon that is to start with it.
func ForStart(views bgp.Views) Plan { return Make(views, State{Condition: Down}, InPlace{}, true) }
