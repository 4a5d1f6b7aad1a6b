package live

import (
	"fmt"
	"hash/maphash"
	"regexp"
	"slices"
	"time"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// Item is one value as the server keeps it.
type Item struct {
	// Key tells it from all others of the part.
	Key string
	// Data is all of the value that is used. A value whose Data is what it was has not changed.
	Data []byte
}

// PartOptions describe a part.
type PartOptions struct {
	// Name is what people call it, such as "BGPPeers".
	Name string
	// Decode makes an object of an item; calico.DecodeObject has the details.
	Decode func(Item) (calico.Object, []calico.Problem)
	// Optional parts do not keep the others from being used. The first snapshot waits until they
	// have been read, or the server has refused to let them be read; later ones wait for new
	// parts for a moment only.
	Optional bool
	// Vital tells of a key that nothing begins before its value can be read: without it the rest
	// would mean something else. Nil when there is none.
	Vital func(key string) bool
	// HoldEmpty is how long a list without anything is not believed when there was something.
	HoldEmpty time.Duration
}

// Part is a list of values that is read and watched by itself. Its methods may be called by
// any goroutine.
type Part struct {
	o     PartOptions
	store *Store

	// What follows is the store's to guard.
	entries   map[string]*entry
	status    status
	problems  []calico.Problem // why the part itself cannot be read
	notes     []calico.Problem // about the part, whether it can be read or not
	emptied   time.Time        // since when the server says that nothing is left; zero when it does not
	doubtful  map[string]bool  // what was there then and has not been seen since
	tried     bool             // whether it was read, or reading it failed, once
	refused   bool             // whether the server does not let it be read, as an operator would have to mend
	dropped   bool
	heldTimer *time.Timer
}

// entry is one value.
type entry struct {
	digest uint64
	object calico.Object // the one in use; nil for none
	at     time.Time     // when that was read
	// problems are those of the newest data.
	problems []calico.Problem
}

var seed = maphash.MakeSeed()

// Replace takes a complete list, as of a revision.
func (p *Part) Replace(items []Item, revision string) {
	s := p.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.dropped {
		return
	}
	s.reads++
	changed := !p.status.synced
	listed := make(map[string]bool, len(items))
	for _, item := range items {
		listed[item.Key] = true
		changed = p.put(item) || changed
	}
	if len(items) == 0 && p.inUse() > 0 && p.o.HoldEmpty > 0 {
		p.hold()
		changed = true
	}
	for key := range p.entries {
		switch {
		case listed[key] && p.doubtful[key]:
			delete(p.doubtful, key)
			changed = true
		case listed[key] || p.doubtful[key]: // a list that is being filled again is no proof either
		default:
			delete(p.entries, key)
			changed = true
		}
	}
	if len(p.doubtful) == 0 {
		changed = p.believe() || changed
	}
	p.read(revision)
	s.touch(changed)
}

// Put takes one value that is new or may have changed.
func (p *Part) Put(item Item, revision string) {
	s := p.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.dropped {
		return
	}
	changed := p.put(item)
	if p.doubtful[item.Key] {
		delete(p.doubtful, item.Key)
		changed = true
	}
	p.seen(revision)
	s.touch(changed)
}

// Remove takes note that a value is gone.
func (p *Part) Remove(key, revision string) {
	s := p.store
	s.mu.Lock()
	defer s.mu.Unlock()
	_, there := p.entries[key]
	delete(p.entries, key)
	delete(p.doubtful, key)
	p.seen(revision)
	s.touch(there)
}

// Seen takes note that nothing newer than what is known existed at a revision.
func (p *Part) Seen(revision string) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.seen(revision)
}

// Lost takes note that the part cannot be read or watched now. What is known stays in use.
// Problems are for what an operator has to mend about this part; a connection that is gone
// is none.
func (p *Part) Lost(err error, problems ...calico.Problem) {
	s := p.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.dropped {
		return
	}
	changed := !p.tried && p.o.Optional || !slices.Equal(p.problems, problems) || p.refused != (len(problems) > 0)
	if p.status.connected {
		p.status.losses++
	}
	p.status.connected, p.status.err = false, err.Error()
	p.tried, p.problems, p.refused = true, problems, len(problems) > 0
	s.touch(changed)
}

// Found takes note that the part can be watched again, without a list.
func (p *Part) Found() {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	if p.status.synced {
		p.connect()
	}
}

// Note sets what else there is to say about the part, until it is set anew.
func (p *Part) Note(problems ...calico.Problem) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	changed := !slices.Equal(p.notes, problems)
	p.notes = problems
	p.store.touch(changed)
}

// Connected tells whether the part can be watched, as far as it was told.
func (p *Part) Connected() bool {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	return p.status.connected
}

// Len is how many objects are in use.
func (p *Part) Len() int {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	return p.inUse()
}

// Drop forgets the part, which is needed no longer.
func (p *Part) Drop() {
	s := p.store
	s.mu.Lock()
	defer s.mu.Unlock()
	p.dropped = true
	s.parts = slices.DeleteFunc(s.parts, func(q *Part) bool { return q == p })
	if p.heldTimer != nil {
		p.heldTimer.Stop()
	}
	s.touch(true)
}

func (p *Part) inUse() int {
	n := 0
	for _, e := range p.entries {
		if e.object != nil {
			n++
		}
	}
	return n
}

// put brings one entry up to date and tells whether anything is different.
func (p *Part) put(item Item) bool {
	digest := maphash.Bytes(seed, item.Data)
	old := p.entries[item.Key]
	if old != nil && old.digest == digest {
		return false
	}
	e := &entry{digest: digest, at: time.Now()}
	e.object, e.problems = p.o.Decode(item)
	if e.object == nil && calico.HasErrors(e.problems) && old != nil && old.object != nil {
		e.object, e.at = old.object, old.at
		e.problems = stays(e.problems, old.at)
	}
	p.entries[item.Key] = e
	return old == nil || old.object != e.object || !slices.Equal(old.problems, e.problems)
}

// leftOut is what package calico says of an object that cannot be read.
var leftOut = regexp.MustCompile(`; (the [A-Za-z ]+|it) is left out$`)

// stays says that an older version is used in place of one that cannot be read.
func stays(problems []calico.Problem, since time.Time) []calico.Problem {
	for i, p := range problems {
		if what := leftOut.ReplaceAllString(p.Message, ""); what != p.Message {
			problems[i].Message = what + "; the version read at " + since.Format(time.RFC3339) + " stays in use"
		}
	}
	return problems
}

// read takes note of a complete list.
func (p *Part) read(revision string) {
	p.tried, p.status.synced = true, true
	p.connect()
	p.seen(revision)
}

func (p *Part) connect() {
	if !p.status.connected && !p.emptied.IsZero() { // nobody has said so meanwhile
		p.emptied = time.Now()
		p.heldTimer.Reset(p.o.HoldEmpty)
		p.store.touch(true)
	}
	p.store.touch(len(p.problems) > 0)
	p.status.connected, p.status.err, p.problems = true, "", nil
}

func (p *Part) seen(revision string) {
	if revision != "" {
		p.status.revision = revision
	}
	if p.status.synced && p.status.connected {
		p.status.at = time.Now()
	}
}

// hold keeps everything although the server says that nothing is left.
func (p *Part) hold() {
	if !p.emptied.IsZero() {
		return
	}
	p.emptied = time.Now()
	p.doubtful = make(map[string]bool, len(p.entries))
	for key := range p.entries {
		p.doubtful[key] = true
	}
	p.heldTimer = time.AfterFunc(p.o.HoldEmpty, p.store.wake)
}

// believe ends a hold, and tells whether there was one.
func (p *Part) believe() bool {
	if p.emptied.IsZero() {
		return false
	}
	p.heldTimer.Stop()
	p.emptied, p.doubtful = time.Time{}, nil
	return true
}

// settle gives up what has been held for long enough. A server that cannot be asked any more
// has not said so for long.
func (p *Part) settle(now time.Time) {
	if p.emptied.IsZero() || now.Sub(p.emptied) < p.o.HoldEmpty {
		return
	}
	if !p.status.connected {
		p.heldTimer.Reset(p.o.HoldEmpty)
		return
	}
	for key := range p.doubtful {
		delete(p.entries, key)
	}
	p.believe()
}

// report adds what there is to say about the part and its values.
func (p *Part) report(problems []calico.Problem) []calico.Problem {
	problems = append(append(problems, p.problems...), p.notes...)
	if !p.emptied.IsZero() && len(p.doubtful) > 0 {
		problems = append(problems, calico.Problem{Severity: calico.Warning, Rule: calico.RuleEmptied,
			Message: fmt.Sprintf("%d of the %s are suddenly gone; they stay in use until %s, and go if the server still says so then",
				len(p.doubtful), p.o.Name, p.emptied.Add(p.o.HoldEmpty).Format(time.RFC3339))})
	}
	for _, e := range p.entries {
		problems = append(problems, e.problems...)
	}
	return problems
}
