package live

import (
	"time"

	"github.com/birdconfd/birdconfd/pkg/datastore"
)

// status is how one part is doing.
type status struct {
	connected, synced bool
	revision          string
	at                time.Time // when it was last certain that nothing newer exists
	since             time.Time // when the part was needed first
	err               string
	losses            int
}

// Status sums up how the parts are doing. What optional parts lack shows, but does not make
// the rest less connected.
func (s *Store) Status() datastore.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := datastore.Status{Kind: s.kind, Connected: len(s.parts) > 0, Synced: len(s.parts) > 0 && s.local, Reads: s.reads}
	first := true
	for _, p := range s.parts {
		out.Parts = append(out.Parts, datastore.PartStatus{Name: p.o.Name, Connected: p.status.connected, Synced: p.status.synced,
			Optional: p.o.Optional, Objects: p.inUse(), Revision: p.status.revision, SyncedAt: p.status.at, LastError: p.status.err})
		out.Reconnects += p.status.losses
		if out.LastError == "" && p.status.err != "" {
			out.LastError = p.o.Name + ": " + p.status.err
		}
		if p.o.Optional {
			continue
		}
		out.Connected = out.Connected && p.status.connected
		out.Synced = out.Synced && p.status.synced
		if first || p.status.at.Before(out.SyncedAt) {
			out.SyncedAt = p.status.at
		}
		first = false
	}
	return out
}
