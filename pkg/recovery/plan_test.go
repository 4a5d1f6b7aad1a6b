package recovery

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// view has peers of these names, those with a ! on nodes that are not ready.
func view(names ...string) *bgp.View {
	v := &bgp.View{Family: bgp.IPv4, Phase: bgp.Steady, GracefulRestartWaitFor: calico.WaitForReadyNodes}
	for i, name := range names {
		name, notReady := strings.CutPrefix(name, "!")
		v.Peers = append(v.Peers, bgp.Peer{Name: name, NodeName: "node-" + name, NodeNotReady: notReady,
			Address: netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)})})
	}
	return v
}

// inPlace is a configuration in which these sessions have no graceful restart.
func inPlace(off ...string) InPlace {
	v := view(off...)
	for i := range v.Peers {
		v.Peers[i].GracefulRestartOff = true
	}
	return InPlace{Views: bgp.Views{IPv4: v}, off: offOf(v)}
}

func offOf(v *bgp.View) map[string]bool { return Place(nil, bgp.Views{IPv4: v}).off }

func offIn(v *bgp.View) []string {
	var names []string
	for _, p := range v.Peers {
		if p.GracefulRestartOff {
			names = append(names, p.Name)
		}
	}
	return names
}

func TestPlan(t *testing.T) {
	bird1, bird2 := bird.Version{Major: 1, Minor: 6, Patch: 8}, bird.Version{Major: 2, Patch: 12}
	up, coming, down := Session{Established: true}, Session{ComingUp: true}, Session{}
	for _, tt := range []struct {
		name             string
		peers            []string
		waitFor          calico.WaitFor
		state            State
		now              InPlace
		doubt            bool
		phase            bgp.Phase
		off, flips, kept []string
	}{
		{name: "before a start the recovery must not wait for nodes that are not ready", peers: []string{"a", "!b"},
			state: State{Condition: Down}, phase: bgp.Starting, off: []string{"b"}},
		{name: "unless it is to wait for all", peers: []string{"a", "!b"}, waitFor: calico.WaitForAllPeers,
			state: State{Condition: Down}, phase: bgp.Starting},
		{name: "or what is known of nodes is too old", peers: []string{"a", "!b"}, doubt: true,
			state: State{Condition: Down}, phase: bgp.Starting},
		{name: "before a start nodes that are ready again get it back", peers: []string{"a"},
			state: State{Condition: Down}, now: inPlace("a"), phase: bgp.Starting},
		{name: "during a recovery nothing is turned off", peers: []string{"a", "!b"},
			state: State{Condition: Recovering, Version: bird1}, phase: bgp.Starting},
		{name: "nor on", peers: []string{"a", "!b"}, now: inPlace("b", "a"),
			state: State{Condition: Recovering, Version: bird2, Sessions: map[string]Session{}}, phase: bgp.Starting, off: []string{"a", "b"}},
		{name: "nor when nobody knows", peers: []string{"a", "!b"}, now: inPlace("a"),
			state: State{Condition: Silent}, phase: bgp.Starting, off: []string{"a"}},
		{name: "afterwards those that are down get it back", peers: []string{"a", "!b"}, now: inPlace("b"),
			state: State{Condition: Steady, Sessions: map[string]Session{"b": down}}, phase: bgp.Steady, flips: []string{"b"}},
		{name: "those that are up keep it off", peers: []string{"a", "b"}, now: inPlace("b"),
			state: State{Condition: Steady, Sessions: map[string]Session{"b": up}}, phase: bgp.Steady, off: []string{"b"}, kept: []string{"b"}},
		{name: "and those that are coming up", peers: []string{"a", "!b"}, now: inPlace("b"),
			state: State{Condition: Steady, Sessions: map[string]Session{"b": coming}}, phase: bgp.Steady, off: []string{"b"}, kept: []string{"b"}},
		{name: "and those that nobody has looked at", peers: []string{"a", "!b"}, now: inPlace("b"),
			state: State{Condition: Steady}, phase: bgp.Steady, off: []string{"b"}, kept: []string{"b"}},
		{name: "also when it is to wait for all by now", peers: []string{"a", "!b"}, now: inPlace("b"), waitFor: calico.WaitForAllPeers,
			state: State{Condition: Steady, Sessions: map[string]Session{"b": up}}, phase: bgp.Steady, off: []string{"b"}, kept: []string{"b"}},
		{name: "nothing is turned off when a node is lost later", peers: []string{"a", "!b"},
			state: State{Condition: Steady, Sessions: map[string]Session{"b": down}}, phase: bgp.Steady},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := view(tt.peers...)
			if tt.waitFor != "" {
				v.GracefulRestartWaitFor = tt.waitFor
			}
			p := Make(bgp.Views{IPv4: v}, tt.state, tt.now, !tt.doubt)
			if p.Views.IPv6 != nil || p.Views.IPv4.Phase != tt.phase {
				t.Errorf("phase %q", p.Views.IPv4.Phase)
			}
			if diff := cmp.Diff(tt.off, offIn(p.Views.IPv4)); diff != "" {
				t.Errorf("off (-want +got):\n%s", diff)
			}
			if !slices.Equal(p.Flips, tt.flips) || !slices.Equal(p.Kept, tt.kept) {
				t.Errorf("flips %v, kept %v", p.Flips, p.Kept)
			}
			if len(offIn(v)) > 0 || v.Phase != bgp.Steady {
				t.Error("the View that it was made of has changed")
			}
		})
	}
}

// TestHoldersStay changes and removes peers that a recovery of BIRD 2 waits for.
func TestHoldersStay(t *testing.T) {
	before := view("a", "b", "c", "d")
	before.Peers[0].Import = "calico_import:old"
	before.ImportPolicies = []bgp.Policy{{Name: "calico_import"}, {Name: "calico_import:old", Calls: []bgp.FilterCall{{Function: "bgp_old_importFilterV4"}}}}
	before.Filters = []bgp.FilterFunction{{Name: "bgp_old_importFilterV4"}}
	hold := Session{Holds: true}
	state := State{Condition: Recovering, Version: bird.Version{Major: 2}, Sessions: map[string]Session{"a": hold, "b": hold, "c": {Established: true}}}

	after := func() *bgp.View {
		v := view("b", "c", "e") // a and d are gone
		v.Peers[0].Address, v.Peers[1].Address, v.Peers[2].Address = before.Peers[1].Address, before.Peers[2].Address, before.Peers[0].Address
		v.Peers[0].Why, v.Peers[0].NodeNotReady = "another reason", true // for people only
		v.Peers[1].ASNumber = 64999                                      // nobody waits for it
		v.ImportPolicies = []bgp.Policy{{Name: "calico_import"}}
		return v
	}
	names := func(v *bgp.View) (out []string) {
		for _, p := range v.Peers {
			out = append(out, p.Name)
		}
		return out
	}
	p := Make(bgp.Views{IPv4: after()}, state, InPlace{Views: bgp.Views{IPv4: before}}, true)
	got := p.Views.IPv4
	// e has the address of a, and would take its place.
	if diff := cmp.Diff([]string{"a", "b", "c"}, names(got)); diff != "" {
		t.Errorf("peers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a"}, p.Deferred); diff != "" {
		t.Errorf("deferred (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a"}, p.Leaving); diff != "" {
		t.Errorf("leaving (-want +got):\n%s", diff)
	}
	if got.Peers[1].Why != "another reason" || got.Peers[2].ASNumber != 64999 {
		t.Error("changes that do no harm are missing")
	}
	if len(got.ImportPolicies) != 2 || len(got.Filters) != 1 {
		t.Errorf("what a needs is missing: %+v, %+v", got.ImportPolicies, got.Filters)
	}

	changed := after()
	changed.Peers[0].ASNumber = 64999
	if p := Make(bgp.Views{IPv4: changed}, state, InPlace{Views: bgp.Views{IPv4: before}}, true); p.Views.IPv4.Peers[1].ASNumber != 0 || !slices.Equal(p.Deferred, []string{"a", "b"}) {
		t.Errorf("a change of b is not deferred: %+v, %v", p.Views.IPv4.Peers, p.Deferred)
	}

	for name, s := range map[string]State{
		"BIRD 1.6":         {Condition: Recovering, Version: bird.Version{Major: 1, Minor: 6}, Sessions: state.Sessions},
		"recovery is over": {Condition: Steady, Version: state.Version, Sessions: state.Sessions},
		"down":             {Condition: Down, Version: state.Version},
	} {
		p := Make(bgp.Views{IPv4: after()}, s, InPlace{Views: bgp.Views{IPv4: before}}, true)
		if diff := cmp.Diff([]string{"b", "c", "e"}, names(p.Views.IPv4)); diff != "" || p.Deferred != nil {
			t.Errorf("%s: deferred %v, peers (-want +got):\n%s", name, p.Deferred, diff)
		}
	}
	unseen := state
	unseen.Sessions = nil
	if p := Make(bgp.Views{IPv4: after()}, unseen, InPlace{Views: bgp.Views{IPv4: before}}, true); len(p.Deferred) != 3 {
		t.Errorf("without knowing sessions the recovery may wait for any: %v", p.Deferred)
	}
}

func TestReleases(t *testing.T) {
	hold, late := Session{Holds: true}, 20*time.Second
	minute, ten := time.Minute, 10*time.Second
	bird1 := bird.Version{Major: 1, Minor: 6}
	for _, tt := range []struct {
		name     string
		sessions map[string]Session
		policy   Policy
		ever     map[string]bool
		version  bird.Version
		at       Condition
		want     []string
	}{
		{name: "nobody without a reason", sessions: map[string]Session{"a": hold}},
		{name: "node not ready", sessions: map[string]Session{"a": hold, "b": hold}, policy: Policy{NotReady: map[string]string{"b": "n"}}, want: []string{"b node-not-ready"}},
		{name: "which does not hold", sessions: map[string]Session{"a": {}}, policy: Policy{NotReady: map[string]string{"a": "n"}}},
		{name: "which is not in BIRD", policy: Policy{NotReady: map[string]string{"a": "n"}}},
		{name: "whose session is up", sessions: map[string]Session{"a": {Holds: true, Established: true}}, policy: Policy{NotReady: map[string]string{"a": "n"}}},
		{name: "whose session is coming up", sessions: map[string]Session{"a": {Holds: true, ComingUp: true}}, policy: Policy{NotReady: map[string]string{"a": "n"}}},
		{name: "turned off", sessions: map[string]Session{"a": hold}, policy: Policy{Off: true, Wait: &ten, Unreachable: ten, NotReady: map[string]string{"a": "n"}}},
		{name: "BIRD 2 cannot", sessions: map[string]Session{"a": hold}, version: bird.Version{Major: 2}, policy: Policy{NotReady: map[string]string{"a": "n"}}},
		{name: "recovery is over", sessions: map[string]Session{"a": hold}, at: Steady, policy: Policy{NotReady: map[string]string{"a": "n"}}},
		{name: "wait has passed", sessions: map[string]Session{"a": hold, "b": {Holds: true, Established: true}}, policy: Policy{Wait: &ten}, want: []string{"a wait-lowered"}},
		{name: "wait has not passed", sessions: map[string]Session{"a": hold}, policy: Policy{Wait: &minute}},
		{name: "unreachable, the others have recovered", sessions: map[string]Session{"a": hold, "b": {Established: true}, "c": hold},
			policy: Policy{Unreachable: ten}, want: []string{"a unreachable", "c unreachable"}},
		{name: "not long enough", sessions: map[string]Session{"a": hold}, policy: Policy{Unreachable: minute}},
		{name: "another one is recovering", sessions: map[string]Session{"a": hold, "b": {Holds: true, Established: true}}, policy: Policy{Unreachable: ten}},
		{name: "nobody is reached, perhaps because of this node", sessions: map[string]Session{"a": hold, "b": hold}, policy: Policy{Unreachable: ten}},
		{name: "another one was up", sessions: map[string]Session{"a": hold, "b": hold}, ever: map[string]bool{"b": true}, policy: Policy{Unreachable: ten}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := State{Condition: Recovering, Version: bird1, Sessions: tt.sessions}
			if tt.at != "" {
				s.Condition = tt.at
			}
			if tt.version.Major != 0 {
				s.Version = tt.version
			}
			var got []string
			for _, r := range tt.policy.due(s, late, tt.ever) {
				if r.Why == "" {
					t.Errorf("%s is released without a word", r.Name)
				}
				got = append(got, r.Name+" "+string(r.Reason))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
