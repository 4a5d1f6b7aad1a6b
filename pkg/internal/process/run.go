package process

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"
)

const defaultTimeout = 30 * time.Second

// Command is a program to run. It leads a process group of its own, and reads nothing.
type Command struct {
	// Name is what errors call it.
	Name string
	Path string // of the executable
	Args []string
	// Timeout bounds the run, 30 s when zero.
	Timeout time.Duration
	// Grace is how long the program has between SIGTERM and SIGKILL, which go to its
	// group when its time is over or the context ends. With zero there is no SIGTERM.
	Grace time.Duration
	// LeaveGroup leaves the group alone when the program has ended by itself, for one that
	// is to start a daemon. Otherwise nothing of the group is left running.
	LeaveGroup bool
}

// Result is what a program left.
type Result struct {
	// Output is what it wrote, standard output and standard error together; its end when
	// that is longer than MaxOutput.
	Output string
	// Held tells that something that the program started held its output open for longer
	// than drainTime. That is not read any more, and writing to it fails.
	Held bool
}

// TimeoutError tells that a program took too long and was ended. errors.Is finds
// context.DeadlineExceeded in it.
type TimeoutError struct {
	Name    string
	After   time.Duration
	Excerpt string // the end of what it wrote, for people
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s did not end within %s%s", e.Name, e.After, after(e.Excerpt))
}

// Unwrap makes it a timeout like any other.
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// Run runs the program to its end. The error says what became of it unless it exited with
// 0. It wraps an *exec.ExitError only if it exited by itself, a *TimeoutError if it took
// too long, and the cause if the context ended; once a program had to be ended, its exit
// code says nothing.
func (c Command) Run(ctx context.Context) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("%s: %w", c.Name, context.Cause(ctx))
	}
	limited, cancel := context.WithTimeout(ctx, cmp.Or(c.Timeout, defaultTimeout))
	defer cancel()

	r, err := start(c)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.Name, err)
	}
	stopped, stuck := false, error(nil)
	select {
	case <-r.exited:
	case <-limited.Done():
		stopped, stuck = r.stop(c.Grace)
	}
	if stuck != nil {
		result := r.abandon()
		return result, fmt.Errorf("%w; %w", c.stopError(ctx, result.Output), stuck)
	}
	result, err := r.collect(stopped, c.LeaveGroup)
	if stopped {
		return result, c.stopError(ctx, result.Output)
	}
	return result, c.exitError(r.cmd.ProcessState, err, result.Output)
}

// stopError tells why the program was ended.
func (c Command) stopError(ctx context.Context, output string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", c.Name, context.Cause(ctx))
	}
	return &TimeoutError{Name: c.Name, After: cmp.Or(c.Timeout, defaultTimeout), Excerpt: Excerpt(output)}
}

// exitError tells how the program ended by itself, nil for exit code 0.
func (c Command) exitError(state *os.ProcessState, err error, output string) error {
	switch {
	case state == nil: // somebody else has reaped it
		return fmt.Errorf("%s: %w", c.Name, err)
	case state.Success():
		return nil
	case state.Exited():
		return fmt.Errorf("%s: %w%s", c.Name, err, after(Excerpt(output)))
	default: // not %w: it did not exit, it was ended
		return fmt.Errorf("%s was ended by %s%s", c.Name, state, after(Excerpt(output)))
	}
}

// after returns an excerpt as the continuation of an error's text.
func after(excerpt string) string {
	if excerpt == "" {
		return ""
	}
	return ": " + excerpt
}
