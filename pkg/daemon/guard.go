package daemon

import (
	"fmt"
	"slices"
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/bird"
)

// Guard holds back answers that would take most BGP sessions away, since a datastore that
// was restored, emptied or half read looks the same as one where all of that was meant.
type Guard struct {
	// Threshold is the share of the sessions, in percent, of which more must go for an
	// answer to be held back; 100 lets all but an empty one through.
	Threshold int
	// Hold is how long such an answer must stay the same to be believed; zero turns the
	// guard off.
	Hold time.Duration
}

// loss is what an answer would do to the sessions that there are.
type loss struct {
	lost, before int
	some         []string // of the lost ones
	collapsed    bool
}

// judge compares the names of sessions. Sessions that are replaced by as many others are
// not lost as far as this is concerned.
func (g Guard) judge(before, after []string) loss {
	stay := make(map[string]bool, len(after))
	for _, name := range after {
		stay[name] = true
	}
	l := loss{before: len(before)}
	for _, name := range before {
		if stay[name] {
			continue
		}
		if l.lost++; len(l.some) < maxCauses {
			l.some = append(l.some, name)
		}
	}
	fewer := len(after) < len(before)
	l.collapsed = g.Hold > 0 && len(before) > 0 &&
		(len(after) == 0 || fewer && 100*l.lost > g.Threshold*len(before))
	return l
}

// sessionNames lists the BGP sessions that a set configures, in order of their names.
func sessionNames(files []apply.File) []string {
	var names []string
	for _, f := range files {
		names = append(names, bird.BGPProtocols(f.Data)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// heldSet is an answer that is held back.
type heldSet struct {
	Held
	job   *job
	names []string
	// some are names of sessions that would get lost.
	some []string
}

// heldHint says what can be done about it.
const heldHint = "if that is meant, send birdconfd the signal USR1 to apply it at once"

// hold judges an answer and tells whether it is to be held back. It remembers since when
// the same answer has been given.
func (t *target) hold(g Guard, j *job, now time.Time) bool {
	names := slices.DeleteFunc(sessionNames(j.files), func(name string) bool { return slices.Contains(t.plan.Leaving, name) })
	l := g.judge(t.measure(g, now), names)
	if !l.collapsed {
		t.held, t.believed = nil, nil // what it is compared with changes when it is in place
		return false
	}
	if t.believed != nil && !g.judge(*t.believed, names).collapsed {
		t.held, t.believed = nil, &names
		return false
	}
	since := now
	if t.held != nil && slices.Equal(t.held.names, names) {
		since = t.held.Since
	}
	if now.Sub(since) >= g.Hold {
		t.held, t.believed = nil, &names
		return false
	}
	t.held = &heldSet{job: j, names: names, some: l.some, Held: Held{Since: since, Until: since.Add(g.Hold), Lost: l.lost, Before: l.before,
		Reason: fmt.Sprintf("the new configuration takes away %d of %d BGP sessions, so it is held back until it has stayed so for %s", l.lost, l.before, g.Hold)}}
	return true
}

// inPlace are the sessions of a set that was in place until some time.
type inPlace struct {
	names []string
	until time.Time
}

// measure is what an answer is compared with: the most sessions that any set had which was
// in place lately. So losing a part again and again, within the time that a collapse must
// last to be believed, is a collapse too.
func (t *target) measure(g Guard, now time.Time) []string {
	most := t.sessions
	for _, p := range t.before {
		if now.Sub(p.until) < g.Hold && len(p.names) > len(most) {
			most = p.names
		}
	}
	return most
}

// placed notes which sessions the set has that is in place now.
func (t *target) placed(g Guard, names []string, now time.Time) {
	if slices.Equal(names, t.sessions) {
		return
	}
	if t.believed != nil && slices.Equal(*t.believed, names) {
		t.sessions, t.before, t.believed = names, nil, nil // a collapse that was meant
		return
	}
	t.before = slices.DeleteFunc(t.before, func(p inPlace) bool { return now.Sub(p.until) >= g.Hold })
	t.before = append(t.before, inPlace{t.sessions, now})
	t.sessions = names
}
