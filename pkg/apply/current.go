package apply

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

// currentName is the file in the state directory in which an Applier vouches for what is in
// place. Its writer has it locked (flock(2)), so that it is worth nothing as soon as that
// has ended, in whatever way: a lock goes with its process.
const currentName = "current.json"

// current is what an Applier vouches for.
type current struct {
	// ID is the fingerprint of the set that is in place, as a whole, than which BIRD has
	// taken none that is newer; "" while there is none.
	ID string `json:"id"`
	// Running tells that a daemon was running then. It may end at any time, and what the next
	// one should start with may be something else.
	Running bool `json:"running"`
	// PID and At are for people.
	PID int       `json:"pid"`
	At  time.Time `json:"at"`
}

// vouch replaces what is vouched for. Before it returns nothing vouches for anything else.
func (a *Applier) vouch(id string, running bool) {
	path := filepath.Join(a.state, currentName)
	old := a.vouched
	if old != nil && a.said.ID == id && a.said.Running == running && isAt(old, path) {
		return
	}
	a.said = current{ID: id, Running: running, PID: os.Getpid(), At: time.Now()}
	a.step("vouch")
	f, err := writeLocked(path, a.said)
	if old != nil {
		old.Close() // and with it the lock
	}
	if a.vouched = f; err != nil {
		a.said = current{}
		a.log.Warn("nobody can be told that the files are in place", "target", a.target.Name, "error", err)
	}
	a.step("vouched")
}

// isAt tells that an open file is still the one with this path.
func isAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(mine, there)
}

// writeLocked replaces a file by one that is locked from the start, until it is closed.
func writeLocked(path string, c current) (*os.File, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+currentName+"-")
	if err != nil {
		return nil, cause(err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		f.Close()
		_ = os.Remove(f.Name()) // what is left is removed at the next start
		return nil, cause(err)
	}
	return f, nil
}

// heard notes what a question to the daemon has come to.
func (a *Applier) heard(err error) {
	a.asked, a.down = true, errors.Is(err, bird.ErrNotRunning)
}

// transact is apply, and vouches for what is in place after it.
func (a *Applier) transact(ctx context.Context, files []File, before map[string]fileAccess) (Result, error) {
	said := a.said
	a.asked, a.down = false, false
	res, err := a.apply(ctx, files, before)
	failed, known := errors.AsType[*Error](err)
	switch {
	case a.conditions.Running, a.record.Phase == phaseNone, a.record.Phase == phaseRestoring, len(a.record.Desired.Names) == 0:
		a.vouch("", false)
	case err == nil, known && failed.Stage != StageWrite:
		// A set that was refused leaves the one before, and nothing newer can be had.
		a.vouch(a.record.Desired.ID, a.runs(ctx))
	case said.ID == a.record.Desired.ID: // nothing came of it, and what was there is there
		a.vouch(said.ID, said.Running)
	default:
		a.vouch("", false)
	}
	return res, err
}

// runs tells that a daemon is running, as far as it can be asked. That it was not before
// this transaction is of no use, as one may have been started and ended since.
func (a *Applier) runs(ctx context.Context) bool {
	p, ok := a.target.Reloader.(prober)
	if !ok {
		return false
	}
	if !a.asked {
		a.heard(p.reach(ctx))
	}
	return !a.down
}
