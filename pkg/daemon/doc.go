// Package daemon is the loop that keeps BIRD's configuration in step with a source of
// resources: snapshots come in, sets of files go out to one worker for each target, and
// what became of them comes back and can be looked at.
//
// One goroutine owns the state and does the work of computing and rendering; it never
// waits for BIRD, a disk or the source. Nothing is written before the source has been read
// as a whole, and an answer that would take most sessions away is held back until it has
// proven to be stable.
package daemon
