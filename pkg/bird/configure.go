package bird

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// Codes of BIRD's answers to the configure commands (doc/reply_codes in its source).
const (
	codeReconfigured  = 3
	codeInProgress    = 4
	codeQueued        = 5
	codeShuttingDown  = 6
	codeUnqueued      = 17
	codeConfirmed     = 18
	codeConfigRefused = 8002
)

// ConfigureOptions say what Configure has BIRD load, and how. The zero ConfigureOptions
// have it load its own file for good.
type ConfigureOptions struct {
	// File is an absolute path without quotation marks; "" stands for the daemon's own.
	File string
	// Undo, if above zero, has BIRD go back to the configuration before unless Confirm is
	// called within this time, which is rounded up to whole seconds.
	Undo time.Duration
}

func (o ConfigureOptions) command() (string, error) {
	command := "configure"
	if o.File != "" {
		if !filepath.IsAbs(o.File) {
			return "", fmt.Errorf("%q is not an absolute path", o.File)
		}
		if strings.ContainsFunc(o.File, func(r rune) bool { return r == '"' || isControl(r) }) {
			return "", fmt.Errorf("the path %q has characters that BIRD cannot be told", o.File)
		}
		command += ` "` + o.File + `"`
	}
	if o.Undo > 0 {
		seconds := (o.Undo-1)/time.Second + 1
		command += fmt.Sprintf(" timeout %d", seconds)
	}
	return command, nil
}

// RefusedError is BIRD's answer that it did not do what it was told: that it did not take
// a configuration, or that there was nothing to confirm or undo.
type RefusedError struct {
	// Code is BIRD's: 8002 for an error in the configuration, 6 when it shuts down, 19 for
	// nothing to do, 8007 for a restricted session, 9001 for a command it does not know.
	Code  int
	Words string // BIRD's own; they may quote the configuration
	// Config is the place of the error, nil when BIRD gives none.
	Config *ConfigError
}

// Error gives the place as compilers do, or BIRD's words and code.
func (e *RefusedError) Error() string {
	if e.Config != nil {
		return "refused: " + e.Config.Error()
	}
	return fmt.Sprintf("refused: %s (%04d)", e.Words, e.Code)
}

// Unwrap returns Config, if there is one.
func (e *RefusedError) Unwrap() error {
	if e.Config == nil {
		return nil
	}
	return e.Config
}

// BadConfig tells that BIRD has read the configuration and found an error in it. Everything
// else that it refuses may be different the next time, with the same files.
func (e *RefusedError) BadConfig() bool { return e.Code == codeConfigRefused }

// Outcome are the words of a reply of Configure, with what BIRD does not say by itself: it
// has no message when a reconfiguration ends.
func (r Reply) Outcome() string {
	if r.Code == codeInProgress || r.Code == codeQueued {
		return r.Words() + ", and finished since"
	}
	return r.Words()
}

// refused makes an error of a reply.
func (c *Conn) refused(command string, reply Reply) error {
	e := &RefusedError{Code: reply.Code, Words: strings.TrimSpace(reply.last().Text)}
	if e.Code == codeConfigRefused {
		e.Config = parseRefusal(e.Words)
	}
	return fmt.Errorf("%s: `%s`: %w", c.at, command, e)
}

// Configure has BIRD load a configuration and waits until it runs. Before that it waits
// until BIRD has finished what it was told earlier: 2.0 frees memory that is still in use
// when it is told again too soon (fixed in 2.13). The error has a *RefusedError when BIRD
// goes on with what it had; after any other it is not known what BIRD runs.
func (c *Conn) Configure(ctx context.Context, o ConfigureOptions) (Reply, error) {
	command, err := o.command()
	if err != nil {
		return Reply{}, fmt.Errorf("%s: configure: %w", c.at, err)
	}
	_, begin, err := c.untilIdle(ctx)
	if err != nil {
		return Reply{}, err
	}
	reply, err := c.Ask(ctx, command)
	if err != nil {
		return reply, err
	}
	switch reply.Code {
	case codeReconfigured:
		return reply, nil
	case codeInProgress, codeQueued:
		return reply, c.loaded(ctx, command, begin)
	default:
		return reply, c.refused(command, reply)
	}
}

// codeReading comes before the name of the file that BIRD reads.
const codeReading = 2

// OwnFile returns the file that the daemon was started with, as it was given then, so it may
// be relative to a directory that nobody knows. BIRD tells it only when it reads the file,
// which changes nothing ("configure check"), even if the file is wrong.
func (c *Conn) OwnFile(ctx context.Context) (string, error) {
	const command = "configure check"
	reply, err := c.Ask(ctx, command)
	if err != nil {
		return "", err
	}
	for _, line := range reply.Lines {
		if name, ok := strings.CutPrefix(line.Text, "Reading configuration from "); ok && line.Code == codeReading {
			return strings.TrimSpace(name), nil
		}
	}
	return "", c.refused(command, reply)
}

// Confirm makes the last configuration stay, which was loaded with a time for Undo.
func (c *Conn) Confirm(ctx context.Context) (Reply, error) {
	const command = "configure confirm"
	reply, err := c.Ask(ctx, command)
	if err == nil && reply.Code != codeConfirmed {
		err = c.refused(command, reply)
	}
	return reply, err
}

// Undo has BIRD go back to the configuration before the last one, and waits until it runs.
func (c *Conn) Undo(ctx context.Context) (Reply, error) {
	const command = "configure undo"
	reply, err := c.Ask(ctx, command)
	if err != nil {
		return reply, err
	}
	switch reply.Code {
	case codeReconfigured:
		return reply, nil
	case codeInProgress, codeQueued, codeUnqueued:
		s, _, err := c.untilIdle(ctx)
		return reply, cmp.Or(err, c.shutDown(command, s))
	default:
		return reply, c.refused(command, reply)
	}
}

// untilIdle waits until no reconfiguration is in progress; there is no message when one
// ends. It returns the status of then, and when it asked for that.
func (c *Conn) untilIdle(ctx context.Context) (s Status, asked time.Time, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, c.settle,
		fmt.Errorf("the reconfiguration did not finish within %s: %w", c.settle, context.DeadlineExceeded))
	defer cancel()
	for pause := firstPause; ; pause = nextPause(pause) {
		asked = time.Now()
		s, err = c.Status(limited)
		if err != nil || !s.Reconfiguring {
			return s, asked, err
		}
		if err := wait(limited, pause); err != nil {
			return s, asked, fmt.Errorf("%s: %w", c.at, err)
		}
	}
}

// loaded waits for the end of a reconfiguration that was begun then, and makes sure that its
// configuration is the one that runs: somebody else, or BIRD's own timer, may have undone it.
func (c *Conn) loaded(ctx context.Context, command string, begin time.Time) error {
	s, _, err := c.untilIdle(ctx)
	if err != nil {
		return err
	}
	if err := c.shutDown(command, s); err != nil {
		return err
	}
	if s.ServerTime.IsZero() || s.LastReconfiguration.IsZero() {
		return nil // timeformat hides it
	}
	// Times in one reply are comparable; those in two are not, since BIRD 1.6 has seconds
	// that begin at different moments for different clocks, and looks at them late.
	if age := s.ServerTime.Sub(s.LastReconfiguration); age > time.Since(begin)+resolution {
		return fmt.Errorf("%s: `%s`: BIRD says that it does not run this configuration, but one that it has loaded at %s", c.at, command, s.Configured)
	}
	return nil
}

// resolution is that of BIRD 1.6's times.
const resolution = time.Second

func (c *Conn) shutDown(command string, s Status) error {
	if !s.ShuttingDown {
		return nil
	}
	return c.refused(command, Reply{codeShuttingDown, []Line{{codeShuttingDown, s.State}}})
}
