package daemon

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/recovery"
)

// seen is what a watcher saw.
type seen struct {
	of    *target
	state recovery.State
}

// see takes what a watcher saw, and has the files made anew if they depend on it.
func (l *loop) see(s seen) {
	t := s.of
	if !slices.Contains(l.targets, t) {
		return
	}
	before := t.state
	t.state = s.state
	l.logState(t, before)
	changed := before.Condition != t.state.Condition || before.Start != t.state.Start
	sent := t.sent
	if changed || len(t.plan.Kept) > 0 || len(t.plan.Deferred) > 0 || t.awaits != nil {
		l.renderAgain(t, "BIRD is "+string(t.state.Condition))
	}
	if !changed {
		return
	}
	started := before.Start != t.state.Start
	if t.state.Up() && (started || !before.Up()) {
		t.bird.Up, t.bird.Since, t.bird.Version = true, t.state.At, t.state.Version.String()
		t.bird.Starts = uint64(t.state.Start)
		if started {
			l.bootedWith(t, before)
		}
	}
	switch {
	case t.state.Condition == recovery.Down:
		t.bird.Up, t.bird.Since = false, t.state.At
		t.worker.lookNow() // perhaps it ended because of its files, and needs them to start
	case t.state.Up() && started && (t.state.Start > 1 || t.failures > 0):
		t.worker.cameUp()
	case t.sent == sent && sent != nil && sent != t.done:
		t.worker.tryNow() // it may have waited for this
	}
}

// renderAgain has a target's files made anew if they depend on what has changed. A set that
// stays the same is known to be for what is there now.
func (l *loop) renderAgain(t *target, cause string) {
	if l.computed != nil {
		l.renderTarget(t, []string{cause})
	}
}

// planFor is what a target's Views must be like now.
func (l *loop) planFor(t *target) recovery.Plan {
	views := l.views.Only(t.config.Families)
	l.watch(t)
	if t.watcher == nil {
		return recovery.Plan{Views: views}
	}
	return recovery.Make(views, t.state, t.inPlace, l.believes)
}

// watch tells a target's watcher what to look for.
func (l *loop) watch(t *target) {
	if t.watcher == nil {
		return
	}
	p := recovery.Policy{Unreachable: l.o.ReleaseUnreachable}
	views := l.views.Only(t.config.Families).All()
	if len(views) == 0 {
		views = t.inPlace.Views.All()
	}
	for _, v := range views {
		p.Off = p.Off || v.GracefulRestartWaitFor == calico.WaitForAllPeers
		p.Wait = v.GracefulRestartWait
	}
	for _, peer := range l.peersOf(t) {
		if peer.NodeNotReady && l.believes {
			if p.NotReady == nil {
				p.NotReady = map[string]string{}
			}
			p.NotReady[peer.Name] = peer.NodeName
		}
	}
	if !samePolicy(p, t.policy) {
		t.policy = p
		t.watcher.Release(p)
	}
	t.watcher.Follow(t.inPlace.AnyOff())
}

// peersOf are the peers of the newest data, and those besides that the configuration in place
// has: the newest may be held back. All have the newest account of their nodes.
func (l *loop) peersOf(t *target) []bgp.Peer {
	var peers []bgp.Peer
	known := map[string]bool{}
	for _, v := range l.views.Only(t.config.Families).All() {
		for _, p := range v.Peers {
			known[p.Name] = true
			peers = append(peers, p)
		}
	}
	for _, v := range t.inPlace.Views.All() {
		for _, p := range v.Peers {
			if known[p.Name] {
				continue
			}
			if n := l.computed.Node(p.NodeName); n != nil {
				p.NodeNotReady = n.NotReady
			}
			peers = append(peers, p)
		}
	}
	return peers
}

func samePolicy(a, b recovery.Policy) bool {
	sameWait := a.Wait == nil && b.Wait == nil || a.Wait != nil && b.Wait != nil && *a.Wait == *b.Wait
	return sameWait && a.Off == b.Off && a.Unreachable == b.Unreachable && maps.Equal(a.NotReady, b.NotReady)
}

// allow tells for what a set was made. It is not applied to a daemon in another state.
func (t *target) allow(j *job) {
	if t.watcher == nil {
		return
	}
	plan, state, client := t.plan, t.state, t.watcher.Client()
	j.basis.Store(&basis{inPlace: t.placedJob, Conditions: apply.Conditions{
		Permit:  func(ctx context.Context) error { return plan.Permit(ctx, client, state) },
		NoTrial: state.Condition == recovery.Recovering, // sessions are coming up all the time
		Running: state.Condition != recovery.Down,
	}})
}

// await has a set wait until a recovery is over that it would disturb, and tells whether it
// does.
func (l *loop) await(t *target, j *job) bool {
	before := t.awaits
	t.awaits = nil
	if t.watcher == nil || t.state.Condition != recovery.Recovering {
		return false
	}
	t.awaits = t.state.Disturbed(t.inPlace, recovery.Place(contents(j.files), j.input.Views))
	if t.awaits == nil {
		return false
	}
	t.waiting = j
	t.markPending()
	if before == nil {
		l.log.Warn("the configuration waits until BIRD has recovered from its start, since this version of BIRD does not get over such a change meanwhile",
			"target", t.config.Name, "bird", t.state.Version.String(), "waiting_for", someOf(t.awaits))
	}
	return true
}

// placedSet notes which set is in place.
func (t *target) placedSet(files []apply.File, views bgp.Views) {
	t.inPlace = recovery.Place(contents(files), views)
}

func contents(files []apply.File) [][]byte {
	out := make([][]byte, len(files))
	for i, f := range files {
		out[i] = f.Data
	}
	return out
}

// sure tells that what is known of nodes' readiness is new enough to count.
func (l *loop) sure() bool {
	s := l.o.Source.Status()
	return s.Synced && time.Since(s.SyncedAt) < l.o.ReadinessAge
}

// doubtsAt is when that is too old, if nothing comes until then; zero where it does not
// matter.
func (l *loop) doubtsAt() time.Time {
	if !l.believes {
		return time.Time{}
	}
	for _, t := range l.targets {
		if len(t.policy.NotReady) > 0 {
			return l.o.Source.Status().SyncedAt.Add(l.o.ReadinessAge)
		}
	}
	return time.Time{}
}

// doubt makes targets' files anew when that has become too old, or is certain again.
func (l *loop) doubt() {
	if l.sure() == l.believes {
		return
	}
	l.believes = !l.believes
	if l.computed == nil {
		return
	}
	if l.believes {
		l.log.Info("which nodes are ready is known again")
	} else {
		l.log.Warn("which nodes are ready has not been known for so long that all count as ready", "limit", l.o.ReadinessAge.String())
	}
	for _, t := range l.targets {
		l.renderAgain(t, "age of what is known of nodes")
	}
}

// tellPeers keeps what is known of peers for those who ask BIRD without asking the daemon.
func (l *loop) tellPeers() {
	if l.computed == nil {
		return
	}
	asOf := l.o.Source.Status().SyncedAt
	for _, t := range l.targets {
		if t.fingerprint == nil {
			continue // its directory is not this process's
		}
		known := recovery.Peers{AsOf: asOf}
		for _, p := range l.peersOf(t) {
			known.Peers = append(known.Peers, recovery.KnownPeer{Name: p.Name, Node: p.NodeName, NotReady: p.NodeNotReady,
				Address: p.Address, Origin: p.Why})
		}
		err := recovery.WritePeers(apply.StatePath(t.config.Directory, l.o.StateDir, t.config.Name), known)
		if err != nil && t.untold == nil {
			l.log.Warn("nobody can be told which peers there are", "target", t.config.Name, "error", err)
		}
		t.untold = err
	}
}
