package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2"
)

// DefaultMaxAge is how old the knowledge that nodes are NotReady may be to count. Whoever
// keeps it in a file writes it anew in less than that.
const DefaultMaxAge = 10 * time.Minute

// rewriteAfter is when a file is written anew although nothing but its time has changed.
const rewriteAfter = DefaultMaxAge / 4

const peersName = "peers.json"

// Peers are the peers of one target as the resources have them. They are kept in a file of
// the target's state directory, for those who ask BIRD while the daemon does not run.
type Peers struct {
	// AsOf is when it was certain that this is the newest.
	AsOf  time.Time   `json:"asOf"`
	Peers []KnownPeer `json:"peers"`
}

// KnownPeer is a peer, and the node at the other end.
type KnownPeer struct {
	// Name is the name of the protocol in BIRD.
	Name string `json:"name"`
	// Node is the node of the cluster at the other end, "" for a peer that is none.
	Node string `json:"node,omitempty"`
	// NotReady tells that the cluster does not count on the node now.
	NotReady bool       `json:"notReady,omitempty"`
	Address  netip.Addr `json:"address,omitzero"`
	// Origin says where the peering comes from.
	Origin string `json:"origin,omitempty"`
}

// WritePeers keeps the peers in a state directory, which is made if it is missing. Whoever
// reads meanwhile gets the old ones or the new ones. As long as nothing but AsOf changes, the
// file is written only now and then.
func WritePeers(dir string, p Peers) error {
	old, err := ReadPeers(dir)
	if age := p.AsOf.Sub(old.AsOf); err == nil && age >= 0 && age < rewriteAfter && slices.Equal(old.Peers, p.Peers) {
		return nil
	}
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("keep the peers: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep the peers: %w", err)
	}
	if err := renameio.WriteFile(filepath.Join(dir, peersName), data, 0o600, renameio.WithTempDir(dir)); err != nil {
		return fmt.Errorf("keep the peers: %w", err)
	}
	return nil
}

// ReadPeers returns the peers that were kept in a state directory. errors.Is finds
// fs.ErrNotExist when there are none.
func ReadPeers(dir string) (Peers, error) {
	path := filepath.Join(dir, peersName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Peers{}, fmt.Errorf("no peers are known yet: %w", err)
	} else if err != nil {
		return Peers{}, fmt.Errorf("read the peers: %w", err)
	}
	var p Peers
	if err := json.Unmarshal(data, &p); err != nil {
		return Peers{}, fmt.Errorf("read the peers: %s is damaged: %w", path, err)
	}
	return p, nil
}

// fresh tells whether the knowledge counts at a time. A time far ahead is that of a clock
// which was wrong then or is wrong now.
func (p Peers) fresh(now time.Time, maxAge time.Duration) bool {
	return !p.AsOf.IsZero() && now.Sub(p.AsOf).Abs() <= maxAge
}
