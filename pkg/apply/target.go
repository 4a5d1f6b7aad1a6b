package apply

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"
)

// File is one file of a set. Secret tells that it holds a password.
type File struct {
	Name   string
	Data   []byte
	Secret bool
	// Mode and Owner are the file's own, if set; they come before those of the Target.
	Mode  fs.FileMode
	Owner *Owner
}

// Owner is who files belong to. A number of -1 leaves that part as it is.
type Owner struct {
	UID, GID int
}

// Target is one BIRD daemon and where its files are.
type Target struct {
	Name string
	// Dir is the directory of the files, an absolute path. It is made if it is missing.
	Dir string
	// StateDir is where sets are staged and the record is kept, in a directory for the
	// target; ".birdconfd" in Dir when empty.
	StateDir string
	// Mode and Owner are those of all files, if set. Otherwise a file keeps its own, a new
	// one takes those of the main file, and without that is 0644, or 0600 with a password.
	// A file with a password is never readable by others.
	Mode  fs.FileMode
	Owner *Owner
	// Beside is a directory with other files that the set may include, "" for none. A check finds
	// them beside the staged set.
	Beside string
	// Check judges the staged set that starts with the file main; nil accepts everything.
	Check func(ctx context.Context, main string) error
	// Reloader makes the daemon use the files; with nil they are only put in place.
	Reloader Reloader
	// Grace is how long a transaction that has begun to replace files may go on when its
	// context ends, 10 s when zero.
	Grace time.Duration
	// Logger is told what happens outside of Apply; nil discards it.
	Logger *slog.Logger
}

const defaultGrace = 10 * time.Second

// StatePath is the directory that a target has for its stage, its record and what else is
// to outlive the process. It takes the target's Dir, StateDir and Name.
func StatePath(dir, stateDir, target string) string {
	return filepath.Join(cmp.Or(stateDir, filepath.Join(dir, ".birdconfd")), target)
}

// stateDir is the directory of this target's stage and record.
func (t *Target) stateDir() string { return StatePath(t.Dir, t.StateDir, t.Name) }

// path is where a file of the target belongs.
func (t *Target) path(name string) string { return filepath.Join(t.Dir, name) }

// Outcome is what became of an Apply.
type Outcome string

// Outcomes.
const (
	// Unchanged: files and daemon were right already; nothing was done.
	Unchanged Outcome = "unchanged"
	// Applied: the files are in place and the daemon uses them, as far as that can be known.
	Applied Outcome = "applied"
	// Placed: the files are in place, but the daemon does not use them yet, or nobody knows.
	Placed Outcome = "placed"
	// RolledBack: the daemon refused the files, and the ones before are back in place.
	RolledBack Outcome = "rolled back"
	// Rejected: the check refused the set, or it could not be written; nothing was replaced.
	Rejected Outcome = "rejected"
)

// Result tells what an Apply did. It is valid with an error too.
type Result struct {
	Outcome Outcome
	// Desired identifies the set that was asked for, Applied the one that the daemon uses
	// as far as is known, "" for none. They can be compared with one another, on one node,
	// and tell nothing about the contents.
	Desired, Applied string
	// Changed are the paths of the files that were replaced, included ones first.
	Changed []string
	// Reloaded tells that the daemon was asked to read its configuration.
	Reloaded bool
	Verdict  Verdict
	// Kept is the directory with the set that the check has refused, "" for none.
	Kept string
	// Notes are worth telling once, such as that a file is written in place.
	Notes []string
}

// Stage is a part of the transaction.
type Stage string

// Stages in which Apply can fail.
const (
	StageCheck  Stage = "check"
	StageWrite  Stage = "write"
	StageReload Stage = "reload"
)

// Error is why an Apply came to nothing, or not to its end.
type Error struct {
	Stage Stage
	Err   error
}

func (e *Error) Error() string { return string(e.Stage) + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// fingerprint identifies a set. It is keyed, since sets hold passwords which a plain hash
// would let somebody try.
func fingerprint(key []byte, files []File) string {
	h := hmac.New(sha256.New, key)
	for _, f := range files {
		var n [16]byte
		binary.BigEndian.PutUint64(n[:8], uint64(len(f.Name)))
		binary.BigEndian.PutUint64(n[8:], uint64(len(f.Data)))
		h.Write(n[:])
		h.Write([]byte(f.Name))
		h.Write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}
