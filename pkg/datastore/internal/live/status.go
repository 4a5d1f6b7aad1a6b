package live

import (
	"slices"
	"strconv"
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
	out := datastore.Status{Kind: s.kind, Connected: len(s.parts) > 0, Synced: s.begun, Reads: s.reads}
	first, newest := true, uint64(0)
	for _, p := range s.parts {
		out.Parts = append(out.Parts, datastore.PartStatus{Name: p.o.Name, Connected: p.status.connected, Synced: p.status.synced,
			Optional: p.o.Optional, Objects: p.inUse(), Revision: p.status.revision, SyncedAt: p.status.at, LastError: p.status.err})
		out.Reconnects += p.status.losses
		if n, err := strconv.ParseUint(p.status.revision, 10, 64); err == nil {
			newest = max(newest, n)
		}
		if p.o.Optional {
			continue
		}
		out.Connected = out.Connected && p.status.connected
		if first || p.status.at.Before(out.SyncedAt) {
			out.SyncedAt = p.status.at
		}
		first = false
	}
	if newest > 0 {
		out.Revision = strconv.FormatUint(newest, 10)
	}
	out.LastError = s.trouble()
	return out
}

// trouble is what is wrong: with everything, or with the first part that something is wrong
// with.
func (s *Store) trouble() string {
	var all []string
	for _, p := range s.parts {
		if !p.o.Optional {
			all = append(all, p.status.err)
		}
	}
	if common := slices.Compact(all); len(all) > 1 && len(common) == 1 && common[0] != "" {
		return common[0]
	}
	for _, p := range s.parts {
		if p.status.err != "" {
			return p.o.Name + ": " + p.status.err
		}
	}
	if !s.begun {
		return s.blocked()
	}
	return ""
}
