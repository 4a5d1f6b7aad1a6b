package live

import "errors"

// Reasons are why something does not work, as they were logged: each is worth one line, and
// not one for every attempt. The zero value has none.
type Reasons struct{ said map[string]bool }

// New tells whether an error has a reason that was not given since Clear. What was being done
// does not matter, only what came in its way.
func (r *Reasons) New(err error) bool {
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	if r.said[err.Error()] {
		return false
	}
	if r.said == nil {
		r.said = map[string]bool{}
	}
	r.said[err.Error()] = true
	return true
}

// Clear forgets them, when all is well.
func (r *Reasons) Clear() { r.said = nil }
