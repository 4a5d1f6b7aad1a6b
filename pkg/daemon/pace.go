package daemon

import "time"

// pace decides when a change is acted on: the first in a quiet time at once, a storm of
// them when it has settled, but never later than the longest wait after its first.
type pace struct {
	settle, longest time.Duration
	// first and last are when the changes came that were not acted on; zero without any.
	first, last time.Time
	// acted is when changes were last acted on, or last came.
	acted time.Time
	quiet bool // the first came in a quiet time
}

// change notes that something has changed.
func (p *pace) change(now time.Time) {
	if p.first.IsZero() {
		p.first = now
		p.quiet = p.acted.IsZero() || now.Sub(p.acted) >= p.settle
	} else {
		p.quiet = false
	}
	p.last = now
}

// due tells when to act; false when there is nothing to act on.
func (p *pace) due() (time.Time, bool) {
	switch {
	case p.first.IsZero():
		return time.Time{}, false
	case p.quiet:
		return p.first, true
	}
	due := p.last.Add(p.settle)
	if latest := p.first.Add(p.longest); latest.Before(due) {
		due = latest
	}
	return due, true
}

// act notes that all changes so far are acted on.
func (p *pace) act(now time.Time) {
	p.first, p.last, p.quiet, p.acted = time.Time{}, time.Time{}, false, now
}
