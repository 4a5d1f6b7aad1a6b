package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

// Skipped is a session that a recovery does not wait for.
type Skipped struct {
	Name string `json:"name"`
	// Node is the node at the other end, "" for none.
	Node string `json:"node,omitempty"`
	// Why is a sentence for people.
	Why string `json:"why"`
	// Released tells that it was waited for at first.
	Released bool `json:"released,omitempty"`
}

// Started is what is known of a daemon's last start. It outlives the process that knows it,
// as a file in the state directory.
type Started struct {
	// Booted is State.Booted, by which the daemon is known again.
	Booted   time.Time          `json:"booted"`
	Settings bird.StartSettings `json:"settings"`
	Skipped  []Skipped          `json:"skipped,omitempty"`
}

// StartedWith is what a daemon started with, whose files were those.
func StartedWith(in InPlace, booted time.Time) Started {
	s := Started{Booted: booted, Settings: in.Start}
	for _, name := range in.Without() {
		node := in.node(name)
		why := "it had no graceful restart when BIRD started"
		if in.Off(name) && node != "" {
			why = fmt.Sprintf("its node %s was not ready when BIRD started", node)
		}
		s.Skipped = append(s.Skipped, Skipped{Name: name, Node: node, Why: why})
	}
	return s
}

// sameStart is by how much two accounts of one start may differ: BIRD 1.6 has whole seconds,
// and rounds them in another way each time.
const sameStart = time.Second

// Fits tells whether it is the start of a daemon that was found running.
func (s Started) Fits(booted time.Time) bool {
	return !booted.IsZero() && !s.Booted.IsZero() && s.Booted.Sub(booted).Abs() <= sameStart
}

const startedName = "started.json"

// Save writes it into a state directory.
func (s Started) Save(dir string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(dir, startedName), data, 0o600, renameio.WithTempDir(dir))
}

// LoadStarted reads it. Where there is none, and where it cannot be read, nothing is known.
func LoadStarted(dir string) (Started, error) {
	var s Started
	data, err := os.ReadFile(filepath.Join(dir, startedName))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return Started{}, fmt.Errorf("what BIRD was started with is not known: %w", err)
	}
	return s, nil
}
