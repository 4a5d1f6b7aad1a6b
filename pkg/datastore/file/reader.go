package file

import (
	"cmp"
	"context"
	"io/fs"
	"syscall"
	"time"
)

// reader reads what has changed, and remembers the rest.
type reader struct {
	o        *Options
	sights   sights
	contents map[contentKey]*content
	// known are the named directories as they were when they could be listed last.
	known map[string]knownDir
	reads int
	last  *findings
	// dirty tells that last does not tell of all that has been read.
	dirty bool
	// synced tells that everything has been read once.
	synced bool
}

// contentKey tells apart what one file means as this and as that.
type contentKey struct {
	path   string
	status bool
}

type knownDir struct {
	files []string
	at    time.Time
}

func newReader(o *Options) *reader {
	return &reader{o: o, sights: sights{}, contents: map[contentKey]*content{}, known: map[string]knownDir{}}
}

// survey looks at all paths. The endpoint status comes last.
func (r *reader) survey() *survey {
	s := newSurvey()
	for _, path := range r.o.Paths {
		s.look(path, resourceFormat.suits)
	}
	if r.o.EndpointStatus != "" {
		s.look(r.o.EndpointStatus, statusFormat.suits)
	}
	for i := range s.places {
		p := &s.places[i]
		if r.isStatus(i) && !p.dir {
			p.files = nil
			p.err = cmp.Or(p.err, error(syscall.ENOTDIR))
		}
		for _, dir := range p.below {
			s.stamps[dirKey(dirKey(dir))] = stamp{mode: fs.ModeDir} // just that it is there
		}
		r.keep(s, p)
	}
	return s
}

// keep gives a directory that has become unreadable, or has vanished, the files that it had.
func (r *reader) keep(s *survey, p *place) {
	known, ok := r.known[p.path]
	if !ok || p.err == nil {
		return
	}
	delete(s.stamps, p.path)
	s.stamps[dirKey(p.path)] = stampOf(nil, p.err)
	p.dir, p.files = true, known.files
	for _, path := range known.files {
		if seen := r.sights[path]; seen != nil {
			s.stamps[path] = seen.taken
		}
	}
}

// isStatus tells which of the places holds endpoint status.
func (r *reader) isStatus(place int) bool { return place == len(r.o.Paths) }

func (r *reader) format(place int) format {
	if r.isStatus(place) {
		return statusFormat
	}
	return resourceFormat
}

// look finds out what has changed and reads it once it is settled. The findings are nil
// when something is not, and without a cluster when nothing has changed; look again after
// the time returned, if any.
func (r *reader) look(ctx context.Context, take func() *survey) (*findings, time.Duration) {
	quiet := r.o.Quiet
	s, now := take(), time.Now()
	r.sights.update(s.stamps, now, r.last == nil && len(r.sights) == 0)
	wait, late := r.sights.wait(now, quiet)
	if wait > 0 && !late {
		return nil, wait
	}
	wait = min(max(wait, 0), quiet)
	read, err := r.read(ctx, s, now)
	if err != nil {
		return nil, quiet
	}
	r.dirty = r.sights.take(now, quiet) || read || r.dirty
	if !r.dirty && !late && r.last != nil {
		return r.last.again(), 0
	}
	if read {
		r.reads++
		// What was read belongs together only if nothing has changed meanwhile.
		s, now = take(), time.Now()
		if r.sights.update(s.stamps, now, false); r.sights.changed() && !late {
			return nil, quiet
		}
	}
	r.last, r.dirty = r.find(s, now), false
	if r.synced = r.synced || len(r.last.missing) == 0; r.synced {
		r.remember(s, now)
	}
	return r.last, wait
}

// read reads files that are new or have changed, and those that could not be read.
func (r *reader) read(ctx context.Context, s *survey, now time.Time) (some bool, err error) {
	used := make(map[contentKey]*content, len(r.contents))
	for i, p := range s.places {
		for _, path := range p.files {
			key, seen := contentKey{path, r.isStatus(i)}, r.sights[path]
			if seen == nil {
				continue
			}
			c := r.contents[key]
			if c == nil {
				c = &content{}
			}
			used[key] = c
			if p.err != nil || !seen.stamp.readable() || !seen.settled(now, r.o.Quiet) || !seen.changed() && c.read() {
				continue
			}
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			// What looks the same for so long is believed, whoever has it open: where leases
			// mean nothing, as on some network file systems, all files seem to be written.
			believe := seen.stamp.size > 0 && now.Sub(seen.still) > endless*r.o.Quiet
			if err := c.load(path, seen.stamp, r.format(i), believe); err != nil {
				if now.Sub(seen.unsettled) <= endless*r.o.Quiet {
					seen.since = now
					return false, err
				}
				c.err, c.broken = err, nil
			}
			some = true
		}
	}
	r.contents = used
	return some, nil
}

// remember keeps the lists of directories for when they are gone.
func (r *reader) remember(s *survey, now time.Time) {
	for _, p := range s.places {
		switch {
		case p.err != nil:
		case p.dir:
			r.known[p.path] = knownDir{p.files, now}
		default:
			delete(r.known, p.path)
		}
	}
}
