package apply

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
)

// phase is how far the last transaction came. What follows from it after a crash is in
// recover.go.
type phase string

const (
	// phaseNone: nothing was ever replaced.
	phaseNone phase = ""
	// phasePlacing: files are being replaced by those of the desired set, or all are in
	// place and the daemon may not use them.
	phasePlacing phase = "placing"
	// phaseRestoring: files are being replaced by those of the previous set.
	phaseRestoring phase = "restoring"
	// phaseApplied: all files are in place, and the daemon uses them.
	phaseApplied phase = "applied"
)

// setInfo describes a set that is kept in the state directory.
type setInfo struct {
	// ID is the set's fingerprint.
	ID string `json:"id"`
	// Names are its files, the main file first. It may be empty for a previous set.
	Names []string `json:"names"`
	// Secrets are those of Names that hold a password.
	Secrets []string `json:"secrets,omitempty"`
	// Asked are the modes and owners of those that are to have their own; 0 and -1 stand for
	// what is not asked for.
	Asked map[string]fileAccess `json:"asked,omitempty"`
	// Access is how the files could be read when the daemon took them, by their names. It is
	// unknown for a set that is not in place yet.
	Access map[string]fileAccess `json:"access,omitempty"`
}

// fileAccess is the mode and the owner that a file had.
type fileAccess struct {
	Mode     fs.FileMode `json:"mode"`
	UID, GID int
}

// record is what outlives the process: it lies in the state directory as record.json.
type record struct {
	Phase phase `json:"phase"`
	// Dir is the directory of the files, for those who know only that; "" in older records.
	Dir string `json:"dir,omitempty"`
	// Key is the key of fingerprints.
	Key []byte `json:"key"`
	// Desired is the set that is or will be in place.
	Desired setInfo `json:"desired"`
	// Previous is the set to go back to, the one that the daemon took last; nil before
	// anything was replaced.
	Previous *setInfo `json:"previous,omitempty"`
	// Trial are the sessions that were established when a set was put on trial at TrialAt,
	// until one has passed.
	Trial   []string  `json:"trial,omitempty"`
	TrialAt time.Time `json:"trialAt,omitzero"`
	// Refused is the fingerprint of the set that the daemon refused last, or whose trial
	// failed. It is put in place only for a daemon that can be asked about it once more.
	Refused string `json:"refused,omitempty"`
	// Undone tells that its trial failed.
	Undone bool `json:"undone,omitempty"`
	// Applied is the fingerprint of the set that the daemon took last, Instance what it
	// identified itself with then.
	Applied   string    `json:"applied,omitempty"`
	Instance  string    `json:"instance,omitempty"`
	AppliedAt time.Time `json:"appliedAt,omitzero"`
}

const recordName = "record.json"

// loadRecord reads the record of a state directory. Without one, and without one that can
// be read, a new record is made: then nothing is known to be applied, which costs a reload.
func loadRecord(dir string) (record, error) {
	fresh := record{Key: make([]byte, 32)}
	_, _ = rand.Read(fresh.Key) // never fails
	r, err := readRecord(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	} else if err != nil {
		return fresh, err
	}
	return r, nil
}

// readRecord reads a record as it is.
func readRecord(dir string) (record, error) {
	var r record
	path := filepath.Join(dir, recordName)
	data, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%s is damaged: %w", path, err)
	}
	switch {
	case len(r.Key) == 0:
		return r, fmt.Errorf("%s is damaged: it has no key", path)
	case r.Phase == phaseRestoring && r.Previous == nil:
		return r, fmt.Errorf("%s is damaged: there is nothing to go back to", path)
	}
	return r, nil
}

// save writes the record so that a crash leaves the old or the new one.
func (r *record) save(dir string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, recordName)
	if err := renameio.WriteFile(path, data, 0o600, renameio.WithTempDir(dir)); err != nil {
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	return syncDir(dir)
}
