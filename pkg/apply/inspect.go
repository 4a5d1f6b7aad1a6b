package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// InPlace tells how the files that belong to a main file are, to somebody who does not
// apply them.
type InPlace struct {
	// Target is the name of the target, "" when nobody has ever put such a main file in place.
	Target string
	// Whole tells that the files are all those of one set, unchanged.
	Whole bool
	// Held tells that a process takes care of the target now.
	Held bool
	// Current tells that this process vouches for them: since it started, and since the
	// daemon that ran last has ended, it has put in place, or found there, what a daemon
	// should start with. Without a control socket nobody knows when a daemon has ended.
	Current bool
	// Why tells, for people, why they are not current; "" when they are.
	Why string
}

// Inspect looks at the files in a directory that belong to the main file of that name. It
// changes nothing, and is in nobody's way. Of stateDir see Target.StateDir; a state
// directory can be read only by its owner.
func Inspect(dir, stateDir, main string) (InPlace, error) {
	root := StatePath(dir, stateDir, "")
	best := InPlace{Why: fmt.Sprintf("no birdconfd has put it in place so far, by the records in %s", root)}
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return best, nil
	} else if err != nil {
		return best, fmt.Errorf("read the directory %s: %w", root, cause(err))
	}
	var errs []error
	for _, e := range entries {
		found, err := inspect(dir, stateDir, e.Name(), main)
		if err != nil {
			errs = append(errs, err) // it may be another's
			continue
		}
		// Of several, all but one are left from when the target had another name.
		if found.Target != "" && (best.Target == "" || found.rank() > best.rank()) {
			best = found
		}
	}
	if best.Target == "" {
		return best, errors.Join(errs...)
	}
	return best, nil
}

func (p InPlace) rank() int {
	n := 0
	for i, is := range []bool{p.Whole, p.Held, p.Current} {
		if is {
			n |= 1 << i
		}
	}
	return n
}

// inspect looks at one target. What is vouched for is read before the files, so that it is
// never about older ones.
func inspect(dir, stateDir, name, main string) (InPlace, error) {
	state := StatePath(dir, stateDir, name)
	said, held, err := readCurrent(filepath.Join(state, currentName))
	if err != nil {
		return InPlace{}, err
	}
	r, err := readRecord(state)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return InPlace{}, nil
	} else if err != nil {
		return InPlace{}, err
	}
	set := r.Desired
	if r.Phase == phaseRestoring {
		set = *r.Previous
	}
	if len(set.Names) == 0 || set.Names[0] != main || r.Dir != "" && !sameFile(r.Dir, dir) {
		return InPlace{}, nil
	}
	files, err := (&Target{Dir: dir}).inPlace(set.Names)
	if err != nil {
		return InPlace{}, err
	}
	id := fingerprint(r.Key, files)
	p := InPlace{Target: name, Whole: id == set.ID, Held: held}
	switch {
	case !p.Held:
		p.Why = "no birdconfd takes care of it now"
	case !p.Whole:
		p.Why = "files are being replaced, are missing or were changed by somebody else"
	case said.ID == "" || said.ID != id:
		p.Why = "birdconfd has not made sure yet that it is the newest one to start BIRD with"
	case said.Running:
		p.Why = "birdconfd has not made sure of it since BIRD ran last"
	default:
		p.Current = true
	}
	return p, nil
}

func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// readCurrent reads what is vouched for, and whether the one who does is still there. The
// lock that it takes for a moment, if there is none, is on a file that its writer never
// locks again.
func readCurrent(path string) (said current, held bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return said, false, nil
	} else if err != nil {
		return said, false, fmt.Errorf("read %s: %w", path, cause(err))
	}
	defer f.Close()
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); {
	case err == nil:
		return said, false, nil
	case !errors.Is(err, syscall.EWOULDBLOCK):
		return said, false, fmt.Errorf("lock %s: %w", path, err)
	}
	data, err := io.ReadAll(f)
	if err == nil {
		err = json.Unmarshal(data, &said)
	}
	if err != nil {
		return current{}, true, fmt.Errorf("read %s: %w", path, cause(err))
	}
	return said, true, nil
}
