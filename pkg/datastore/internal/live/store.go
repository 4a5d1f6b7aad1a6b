package live

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
)

const (
	// quiet is how long changes must have ceased before a snapshot is made, and longest how
	// long one waits at most: several changes at once cost one snapshot.
	quiet   = 20 * time.Millisecond
	longest = 250 * time.Millisecond
	// patience is how long a snapshot waits for an optional part that has become needed.
	patience = 5 * time.Second
)

// Store is what is known.
type Store struct {
	kind  string
	log   *slog.Logger
	dirty chan struct{}

	mu        sync.Mutex
	parts     []*Part
	reads     int
	workloads []calico.WorkloadEndpoint
	// found are the problems of reading the workloads.
	found []calico.Problem
	// local tells that the workloads have been read once, or need not be.
	local bool
	// waiting is since when a snapshot could be made but for optional parts.
	waiting time.Time
	// begun tells that there has been a snapshot.
	begun bool
	said  string // what keeps it from beginning, as it was logged last
}

// NewStore makes a store for a source of a kind, as in datastore.Status.
func NewStore(kind string, logger *slog.Logger) *Store {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Store{kind: kind, log: logger, dirty: make(chan struct{}, 1), local: true}
}

// Part adds a part, which nothing is known of yet.
func (s *Store) Part(o PartOptions) *Part {
	p := &Part{o: o, store: s, entries: map[string]*entry{}}
	p.status.since = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, p)
	return p
}

// ExpectWorkloads has the first snapshot wait for SetWorkloads.
func (s *Store) ExpectWorkloads() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.local = false
}

// SetWorkloads replaces the workloads of this node and the problems of reading them.
func (s *Store) SetWorkloads(workloads []calico.WorkloadEndpoint, problems []calico.Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workloads, s.found, s.local = workloads, problems, true
	s.touch(true)
}

// touch has a snapshot made if something has changed.
func (s *Store) touch(changed bool) {
	if changed {
		s.wake()
	}
}

func (s *Store) wake() {
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// view is a snapshot, and whether it has all that it should when it was made.
type view struct {
	datastore.Snapshot
	complete bool
	// wait is how long to wait for what it lacks; zero for as long as it takes.
	wait time.Duration
}

// snapshot makes a snapshot; nil while something is missing without which there is none.
func (s *Store) snapshot(now time.Time) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		p.settle(now)
	}
	if !s.local || slices.ContainsFunc(s.parts, func(p *Part) bool { return !p.o.Optional && !p.status.synced }) {
		return nil
	}
	if blocked := s.blocked(); blocked != "" && !s.begun {
		if blocked != s.said {
			s.log.Error("nothing is done before this is mended", "error", blocked)
		}
		s.said = blocked
		return nil
	}
	size := 0
	for _, p := range s.parts {
		size += len(p.entries)
	}
	objects := make([]calico.Object, 0, size)
	var problems []calico.Problem
	for _, p := range s.parts {
		for _, e := range p.entries {
			if e.object != nil {
				objects = append(objects, e.object)
			}
		}
		problems = p.report(problems)
	}
	cluster, found := calico.NewCluster(objects, s.workloads)
	problems = append(append(problems, s.found...), found...)
	calico.SortProblems(problems)
	v := &view{Snapshot: datastore.Snapshot{Cluster: cluster, Problems: problems}}
	v.complete, v.wait = s.complete(now)
	return v
}

// blocked is what is wrong with a value that nothing can begin without.
func (s *Store) blocked() string {
	for _, p := range s.parts {
		if p.o.Vital == nil {
			continue
		}
		for key, e := range p.entries {
			if e.object == nil && p.o.Vital(key) && calico.HasErrors(e.problems) {
				return e.problems[0].String()
			}
		}
	}
	return ""
}

// complete tells whether there is what is needed of the optional parts; if not, look again
// after the time returned, or when something has changed.
func (s *Store) complete(now time.Time) (bool, time.Duration) {
	// What cannot be reached yet may be what sessions and announcements depend on that an
	// earlier run has set up: nothing begins without it.
	if !s.begun && slices.ContainsFunc(s.parts, func(p *Part) bool { return !p.status.synced && !p.refused }) {
		return false, 0
	}
	if !slices.ContainsFunc(s.parts, func(p *Part) bool { return !p.tried }) {
		s.waiting = time.Time{}
		return true, 0
	}
	if s.waiting.IsZero() {
		s.waiting = now
	}
	wait := s.waiting.Add(patience).Sub(now)
	return wait <= 0, max(0, wait)
}

func (s *Store) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
}

// run hands over snapshots until the context ends. Each snapshot made, also one that says
// nothing new, is shown to made first, which may add and drop parts: then another is made
// before anything is delivered.
func (s *Store) run(ctx context.Context, made func(*calico.Cluster) bool, deliver func(datastore.Snapshot)) {
	var delivered *datastore.Snapshot
	timer := time.NewTimer(0)
	defer timer.Stop()
	var since time.Time // of the first change that no snapshot has yet
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.dirty:
			now := time.Now()
			if since.IsZero() {
				since = now
			}
			timer.Reset(min(quiet, max(0, since.Add(longest).Sub(now))))
			continue
		case <-timer.C:
		}
		since = time.Time{}
		next := s.snapshot(time.Now())
		if next == nil {
			continue
		}
		if made(next.Cluster) {
			// Parts that are new are waited for, those that are gone leave nothing behind.
			if next = s.snapshot(time.Now()); next == nil {
				continue
			}
		}
		if next.wait > 0 {
			timer.Reset(next.wait)
		}
		if !next.complete || delivered != nil && slices.Equal(delivered.Problems, next.Problems) &&
			len(calico.Changes(delivered.Cluster, next.Cluster)) == 0 {
			continue
		}
		delivered = &next.Snapshot
		s.begin()
		deliver(next.Snapshot)
	}
}
