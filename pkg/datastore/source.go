// Package datastore says what a source of a cluster's resources is: something that reads
// them all, watches them, and hands over an immutable snapshot whenever one that matters
// has changed. The packages below it read files, etcd and the Kubernetes API.
//
// A source never hands over a part of what it has: before everything has been read once it
// is silent, and what cannot be read later keeps the content it had last, with a Problem.
package datastore

import (
	"context"
	"time"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// Snapshot is all that a source knows at one moment.
type Snapshot struct {
	// Cluster is complete; it is never nil.
	Cluster *calico.Cluster
	// Problems are those of reading and decoding, and of making the Cluster.
	Problems []calico.Problem
}

// Source reads and watches resources.
type Source interface {
	// Run reads and watches until the context ends, and only then returns, with the
	// context's cause; it leaves no goroutine behind. It hands the first snapshot to
	// deliver once everything has been read, and another each time a used field, or what
	// there is to report, has changed. It calls deliver from one goroutine, and deliver
	// returns at once. Trouble with the source is retried and shows in Status.
	Run(ctx context.Context, deliver func(Snapshot)) error
	// Status may be called at any time, by any goroutine.
	Status() Status
}

// Status is how a source is doing.
type Status struct {
	// Kind is "file", "etcd" or "kubernetes".
	Kind string `json:"kind"`
	// Connected tells that the source can be read and watched now.
	Connected bool `json:"connected"`
	// Synced tells that everything has been read at least once.
	Synced bool `json:"synced"`
	// SyncedAt is when it was last certain that the snapshot handed over is the newest.
	SyncedAt time.Time `json:"syncedAt,omitzero"`
	// Reads counts how often all of it was read, and Reconnects the connections that were
	// made anew.
	Reads      int `json:"reads"`
	Reconnects int `json:"reconnects"`
	// LastError is what was last wrong, "" when nothing is wrong now.
	LastError string `json:"lastError,omitempty"`
	// Revision is the newest that is known of the data, in the server's count; "" for files.
	Revision string `json:"revision,omitempty"`
	// Parts are the lists that the source reads and watches one by one; none for files.
	Parts []PartStatus `json:"parts,omitempty"`
}

// PartStatus is how one list of a source is doing, such as that of all BGPPeers.
type PartStatus struct {
	Name      string `json:"name"`
	Connected bool   `json:"connected"`
	Synced    bool   `json:"synced"`
	// Optional lists do not keep the rest from being used.
	Optional bool `json:"optional,omitempty"`
	// Objects counts those in use.
	Objects int `json:"objects"`
	// Revision is the server's word for how new the list is.
	Revision  string    `json:"revision,omitempty"`
	SyncedAt  time.Time `json:"syncedAt,omitzero"`
	LastError string    `json:"lastError,omitempty"`
}
