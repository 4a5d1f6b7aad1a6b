package live

import (
	"context"
	"sync"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
)

// Needs is what has to be read beside Calico's own resources and the nodes.
type Needs struct {
	// Services and EndpointSlices.
	Services bool
	// Secrets are their names, sorted.
	Secrets []string
}

// Feed reads and watches some parts of a store.
type Feed interface {
	// Run does so until the context ends, and leaves no goroutine behind.
	Run(ctx context.Context)
	// Need tells what is needed from now on, and is called before Run is, too. It adds parts
	// to the store, and drops them, before it returns; it does not wait for anything else. It
	// reports whether it did any of that. It is called by one goroutine at a time.
	Need(Needs) bool
}

// Source makes a datastore.Source of a store and what feeds it.
type Source struct {
	Store *Store
	Feeds []Feed
	// Needs tells from a snapshot what else is needed.
	Needs func(*calico.Cluster) Needs
	// Workloads reads the workloads of this node; nil when there are none.
	Workloads datastore.Source
}

// Status implements datastore.Source.
func (s *Source) Status() datastore.Status { return s.Store.Status() }

// Run implements datastore.Source.
func (s *Source) Run(ctx context.Context, deliver func(datastore.Snapshot)) error {
	var running sync.WaitGroup
	defer running.Wait()
	for _, f := range s.Feeds {
		f.Need(Needs{})
		running.Go(func() { f.Run(ctx) })
	}
	if s.Workloads != nil {
		s.Store.ExpectWorkloads()
		running.Go(func() {
			_ = s.Workloads.Run(ctx, func(now datastore.Snapshot) { // it ends with the context only
				s.Store.SetWorkloads(now.Cluster.Workloads, now.Problems)
			})
		})
	}
	s.Store.run(ctx, func(c *calico.Cluster) bool {
		needs, different := s.Needs(c), false
		for _, f := range s.Feeds {
			different = f.Need(needs) || different
		}
		return different
	}, deliver)
	return context.Cause(ctx)
}
