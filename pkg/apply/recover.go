package apply

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Applier applies sets to one target, one at a time. It is not for concurrent use.
type Applier struct {
	target Target
	state  string
	key    []byte
	lock   *os.File
	record record
	log    *slog.Logger
	// unsure: the record may not tell what the daemon runs, as it was not asked since this
	// process was started. suspected: nor was it asked lately.
	unsure, suspected bool
	// distrusted: the daemon was started anew since.
	distrusted bool
	conditions Conditions
	// asked: the daemon was asked in this transaction, and down tells that none is running.
	asked, down bool
	// vouched is the file that says what is vouched for, open and locked; nil when it could
	// not be written.
	vouched *os.File
	said    current
	swept   map[string]bool
	told    map[string]bool
	// step is called before each step that a crash could separate from the one before.
	step func(string)
}

// ErrLocked tells that another process applies sets to the target.
var ErrLocked = errors.New("another birdconfd takes care of this target")

// Open takes the target, which no other process then can, and finishes what a crash has
// left: files that were being replaced are all replaced, so that a daemon which starts
// finds one whole set. Nothing else is written, and nothing is reloaded.
func Open(t Target) (*Applier, error) {
	return open(t, func(string) {})
}

func open(t Target, step func(string)) (*Applier, error) {
	a := &Applier{target: t, state: t.stateDir(), log: t.Logger, unsure: true, step: step,
		swept: map[string]bool{}, told: map[string]bool{}}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if !filepath.IsAbs(t.Dir) {
		return nil, fmt.Errorf("the directory %q of target %s is not an absolute path", t.Dir, t.Name)
	}
	if err := a.takeState(); err != nil {
		return nil, fmt.Errorf("target %s: %w", t.Name, err)
	}
	record, err := loadRecord(a.state)
	if err != nil {
		// Without the record nothing can be undone or finished, but all can be done anew.
		a.log.Warn("what was applied before is not known", "target", t.Name, "error", err)
	}
	a.record, a.key = record, record.Key
	a.record.Dir = t.Dir
	if err := a.recover(); err != nil {
		a.log.Error("an interrupted change of the files could not be finished", "target", t.Name, "error", err)
	}
	if err := a.prune(); err != nil {
		a.log.Warn("stale copies could not be removed", "target", t.Name, "error", err)
	}
	return a, nil
}

// takeState makes the state directory and locks it.
func (a *Applier) takeState() error {
	if err := os.MkdirAll(a.target.Dir, 0o755); err != nil {
		return fmt.Errorf("make the directory %s: %w", a.target.Dir, cause(err))
	}
	if err := os.MkdirAll(a.state, 0o700); err != nil {
		return fmt.Errorf("make the directory %s: %w; it is where files are staged, and another place can be set for it", a.state, cause(err))
	}
	// Somebody else may have made them, or a umask may have been at work.
	if err := os.Chmod(a.state, 0o700); err != nil {
		return fmt.Errorf("protect the directory %s: %w", a.state, cause(err))
	}
	f, err := os.OpenFile(filepath.Join(a.state, "lock"), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("lock %s: %w", a.state, cause(err))
	}
	if err := lock(f); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			pid, _ := os.ReadFile(f.Name())
			return fmt.Errorf("%s: %w: process %s has locked %s", a.target.Dir, ErrLocked, cmp.Or(strings.TrimSpace(string(pid)), "unknown"), f.Name())
		}
		return fmt.Errorf("lock %s: %w", a.state, err)
	}
	if err := errors.Join(f.Truncate(0), writeAt(f, fmt.Sprintln(os.Getpid()))); err != nil {
		a.log.Warn("the lock does not tell whose it is", "target", a.target.Name, "error", err)
	}
	a.lock = f
	a.vouch("", false)
	return nil
}

// keepState makes the state directory anew if somebody has removed it, as far as possible.
func (a *Applier) keepState() error {
	mine, err := a.lock.Stat()
	if err != nil {
		return fmt.Errorf("look at the lock: %w", cause(err))
	}
	if there, err := os.Lstat(a.lock.Name()); err == nil && os.SameFile(mine, there) {
		return nil
	}
	a.log.Warn("the state directory was removed and is made anew", "target", a.target.Name, "directory", a.state)
	old := a.lock
	if err := a.takeState(); err != nil {
		return err
	}
	old.Close()
	if a.record.Phase == phaseNone {
		return nil
	}
	// What is in place can still be copied, if it is what it should be.
	d := a.record.Desired
	if files, err := a.target.inPlace(d.Names); err == nil && fingerprint(a.record.Key, files) == d.ID {
		if err := a.stage(d.ID, files); err != nil {
			return err
		}
	}
	return a.record.save(a.state)
}

// A process that is being started has, for a moment, all files of the one that starts it, and
// so the locks that this one has just let go of.
const (
	lockTries = 10
	lockPause = 10 * time.Millisecond
)

// lock locks a file that is perhaps about to be unlocked.
func lock(f *os.File) error {
	for try := 1; ; try++ {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || try == lockTries {
			return err
		}
		time.Sleep(lockPause)
	}
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// Close lets go of the target.
func (a *Applier) Close() error {
	if a.vouched != nil {
		a.vouched.Close()
	}
	return a.lock.Close()
}

// recover finishes an interrupted replacement, forwards or backwards. Whether the daemon
// uses the files remains open, so that the next Apply reloads.
func (a *Applier) recover() error {
	for _, s := range []*setInfo{&a.record.Desired, a.record.Previous} {
		if s == nil {
			continue
		}
		for _, name := range s.Names {
			a.sweep(a.target.path(name))
		}
	}
	var set setInfo
	switch a.record.Phase {
	case phasePlacing:
		set = a.record.Desired
	case phaseRestoring:
		set = *a.record.Previous
	default:
		return nil
	}
	changed, err := a.finish(set)
	if len(changed) > 0 {
		a.log.Warn("finished a change of the files that was interrupted", "target", a.target.Name, "files", changed)
	}
	if err == nil && a.record.Phase == phaseRestoring {
		err = a.restored()
	}
	return err
}

// finish puts a set that was staged before in place. Files of the desired set that it does
// not have are removed.
func (a *Applier) finish(set setInfo) ([]string, error) {
	files, err := a.staged(set)
	if err != nil {
		return nil, err
	}
	changes, err := a.target.plan(files, set.Access)
	if err != nil {
		return nil, err
	}
	changes, err = a.removals(set, changes)
	if err != nil {
		return nil, err
	}
	if err := prepare(changes); err != nil {
		return nil, err
	}
	defer discard(changes)
	return commit(changes, a.step)
}

// sweep removes what was on the way to a file's place when an earlier run was killed.
func (a *Applier) sweep(path string) {
	dest, err := resolve(path)
	if err != nil || a.swept[dest.real] {
		return // what is wrong with the place shows when it is written
	}
	a.swept[dest.real] = true
	left, err := sweep(dest.real)
	if len(left) > 0 {
		a.log.Info("removed files that an interrupted change had left", "target", a.target.Name, "files", left)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		a.log.Warn("files that an interrupted change had left could not be removed", "target", a.target.Name, "error", err)
	}
}

// Last returns the fingerprint of the set that the daemon took last, as far as the record
// tells, and when; "" for none.
func (a *Applier) Last() (string, time.Time) { return a.record.Applied, a.record.AppliedAt }

// Fingerprint returns what identifies a set in Results. It may be called by any goroutine.
func (a *Applier) Fingerprint(files []File) string { return fingerprint(a.key, files) }
