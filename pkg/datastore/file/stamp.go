package file

import (
	"io/fs"
	"syscall"
	"time"
)

// stamp tells without reading a file whether it is the one that it was. The zero stamp is
// that of a file which does not exist.
type stamp struct {
	mode               fs.FileMode
	device, inode      uint64
	size               int64
	modified, inodeSet int64 // nanoseconds since 1970: mtime, and ctime that nobody can set
	// err says why there is nothing to know, empty if there is.
	err string
}

// stampOf is the stamp of a file, or of a directory without regard to what is in it.
func stampOf(info fs.FileInfo, err error) stamp {
	if err != nil {
		return stamp{err: cause(err)}
	}
	s := stamp{mode: info.Mode()}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok {
		s.device, s.inode = uint64(stat.Dev), stat.Ino
	}
	if info.IsDir() {
		return s
	}
	s.size, s.modified = info.Size(), info.ModTime().UnixNano()
	if ok {
		s.inodeSet = time.Unix(stat.Ctim.Unix()).UnixNano()
	}
	return s
}

// readable tells that there is something to read.
func (s stamp) readable() bool { return s.err == "" && s != stamp{} }

// sight is a path as it was seen.
type sight struct {
	stamp stamp
	since time.Time // when it was first seen to be so, or was found not to be readable
	still time.Time // when it was first seen to be so
	taken stamp     // the one it had when it was read last
	// unsettled is since when stamp is not the one that was taken.
	unsettled time.Time
}

const (
	// emptied is how many times longer a file that has lost all content must stay like
	// that: whoever truncates a file is about to write it.
	emptied = 10
	// patience is how many times longer than it must be quiet the files together may keep
	// changing before those that are quiet are read without the others.
	patience = 10
	// endless is how many times longer one file may keep changing before that is reported.
	endless = 100
)

// changed tells that a path is not what it was when it was read last.
func (s *sight) changed() bool { return s.stamp != s.taken }

// settles says from when on a file can be believed to be complete.
func (s *sight) settles(quiet time.Duration) time.Time {
	if s.stamp.readable() && s.stamp.size == 0 && s.taken.size > 0 {
		quiet *= emptied
	}
	return s.since.Add(quiet)
}

// settled tells that a path has not changed for as long as it takes to believe it.
func (s *sight) settled(now time.Time, quiet time.Duration) bool {
	return !s.changed() || !now.Before(s.settles(quiet)) || s.keepsBeingReplaced(now, quiet)
}

// keepsBeingReplaced tells that a file does not come to rest because others take its place
// again and again. Each of those is complete, unlike one that is written in its place.
func (s *sight) keepsBeingReplaced(now time.Time, quiet time.Duration) bool {
	return s.taken.readable() && s.stamp.readable() && s.stamp.inode != s.taken.inode &&
		now.Sub(s.unsettled) > patience*quiet
}

// sights are those of all paths.
type sights map[string]*sight

// update notes what the paths look like now. The first time that anything is looked at a
// file's own time says since when it has been as it is; later that is not to be trusted.
func (all sights) update(stamps map[string]stamp, now time.Time, first bool) {
	for path, stamp := range stamps {
		s := all[path]
		if s == nil {
			s = &sight{}
			all[path] = s
		}
		if s.stamp == stamp {
			continue
		}
		s.stamp, s.since, s.still = stamp, now, now
		if modified := time.Unix(0, stamp.modified); first && !modified.After(now) {
			s.since, s.still = modified, modified
		}
	}
	for path, s := range all {
		if _, exists := stamps[path]; !exists && s.stamp != (stamp{}) {
			s.stamp, s.since, s.still = stamp{}, now, now
		}
		switch {
		case s.changed():
			if s.unsettled.IsZero() {
				s.unsettled = now
			}
		case s.stamp == (stamp{}):
			delete(all, path)
		default:
			s.unsettled = time.Time{}
		}
	}
}

// wait says how long to wait until all that has changed is settled. Late tells that this
// has taken too long: what is settled by now is not to wait for the rest any more.
func (all sights) wait(now time.Time, quiet time.Duration) (wait time.Duration, late bool) {
	for _, s := range all {
		if s.changed() {
			wait = max(wait, s.settles(quiet).Sub(now))
			late = late || now.Sub(s.unsettled) > patience*quiet
		}
	}
	return wait, late && wait > 0
}

// changed tells whether anything has changed that was not taken.
func (all sights) changed() bool {
	for _, s := range all {
		if s.changed() {
			return true
		}
	}
	return false
}

// take notes that what is settled has been read, and tells whether that was anything.
func (all sights) take(now time.Time, quiet time.Duration) (some bool) {
	for path, s := range all {
		if !s.changed() || !s.settled(now, quiet) {
			continue
		}
		some = true
		s.taken, s.unsettled = s.stamp, time.Time{}
		if s.taken == (stamp{}) {
			delete(all, path)
		}
	}
	return some
}
