package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
)

// Options are those of a Source.
type Options struct {
	// Paths are files and directories as for Load, but for standard input. There may be none
	// when there is endpoint status to read.
	Paths []string
	// EndpointStatus is the directory of endpoint-status files, empty for none. With
	// EndpointStatusMust it must exist; else one that does not is as good as an empty one.
	EndpointStatus     string
	EndpointStatusMust bool
	// EndpointStatusQuiet says nothing about a directory that does not exist.
	EndpointStatusQuiet bool
	// Poll is how often files are looked at even if the kernel reports nothing; 10 s when zero.
	Poll time.Duration
	// Quiet is how long files must not have changed before they are read; 100 ms when zero.
	Quiet time.Duration
	// Logger is told what keeps the source from working; nil discards.
	Logger *slog.Logger
}

// Source reads and watches the resources in files. It implements datastore.Source.
//
// A file that is being written is not read. One that stops being valid, or readable, keeps
// the content that was read last; so does a named directory that is gone. Files that
// vanish from a directory are gone.
type Source struct {
	o    Options
	open func() (*fsnotify.Watcher, error)

	mu     sync.Mutex
	status datastore.Status
}

// New makes a Source. The error says which of the options makes no sense.
func New(o Options) (*Source, error) {
	if len(o.Paths) == 0 && o.EndpointStatus == "" {
		return nil, errors.New("no file or directory to watch is named")
	}
	for _, path := range o.Paths {
		switch {
		case path == "":
			return nil, errors.New("the name of a file or directory to watch is empty")
		case path == "-":
			return nil, errors.New("standard input cannot be watched")
		case o.EndpointStatus != "" && filepath.Clean(path) == filepath.Clean(o.EndpointStatus):
			return nil, fmt.Errorf("%s cannot hold both resources and endpoint status", path)
		}
	}
	o.Paths = slices.Clone(o.Paths)
	o.Poll, o.Quiet = cmp.Or(o.Poll, DefaultPoll), cmp.Or(o.Quiet, DefaultQuiet)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Source{o: o, open: fsnotify.NewWatcher, status: datastore.Status{Kind: "file"}}, nil
}

// Status implements datastore.Source. The source is connected while all paths can be read.
func (s *Source) Status() datastore.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Run implements datastore.Source.
func (s *Source) Run(ctx context.Context, deliver func(datastore.Snapshot)) error {
	n := newNotifier(s.open, s.o.Logger)
	defer n.close()
	r := newReader(&s.o)
	take := func() *survey { return n.survey(r.survey) }
	var delivered *datastore.Snapshot
	return n.rounds(ctx, s.o.Poll, s.o.Quiet, func() time.Duration {
		found, wait := r.look(ctx, take)
		if found == nil || ctx.Err() != nil {
			return wait
		}
		s.note(found, r.synced)
		if !r.synced || found.cluster == nil {
			return wait
		}
		now := datastore.Snapshot{Cluster: found.cluster, Problems: found.problems}
		if delivered == nil || !slices.Equal(delivered.Problems, now.Problems) ||
			len(calico.Changes(delivered.Cluster, now.Cluster)) > 0 {
			delivered = &now
			deliver(now)
		}
		return wait
	})
}

// note brings the status up to date.
func (s *Source) note(f *findings, synced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.status.LastError
	s.status.Connected, s.status.LastError, s.status.Reads, s.status.Synced = f.connected, f.lastError, f.reads, synced
	if synced && !f.stale {
		s.status.SyncedAt = time.Now()
	}
	if !synced && last != f.lastError {
		s.o.Logger.Error("resources cannot be read, so nothing is done before that is mended", "error", f.lastError)
	}
}
