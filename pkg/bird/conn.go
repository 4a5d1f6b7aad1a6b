package bird

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// BIRD has room for 1024 bytes of commands, and throws away those that it has carried out
// only when no other is waiting. Then it takes the full room for the end of the session
// (measured with 1.6.8: read(fd, "", 0) = 0). A client that asks again at once, while BIRD is
// busy, gets there in a few dozen commands; so there is a rest in time.
const (
	restAfter = 512 // bytes
	rest      = firstPause
)

// maxCommand is the length of the longest command that BIRD reads, in bytes; it closes the
// connection at a longer one (measured with 1.6.8 and 2.0.12).
const maxCommand = 1022

// Conn is a session with a daemon. Only Close may be called while another method runs.
type Conn struct {
	conn    net.Conn
	lines   lineReader
	at      string // "bird at SOCKET"
	timeout time.Duration
	settle  time.Duration
	version Version
	// broken is why no command can be sent any more: a reply that nobody waits for may
	// still come.
	broken error
	// unrested is how many bytes were sent without a rest.
	unrested int
	answered time.Time // when the last reply came
}

// Close ends the session, and whatever waits for it. What BIRD was told to do goes on.
func (c *Conn) Close() error { return c.conn.Close() }

// Version is what the daemon says it is.
func (c *Conn) Version() Version { return c.version }

// Ask sends a command and returns the reply, also if it tells of an error. An error
// means that there is no reply, and that the session is of no use any more; errors.Is finds
// context.DeadlineExceeded in it after silence, io.ErrUnexpectedEOF when BIRD has closed the
// connection, and the cause when the context has ended.
func (c *Conn) Ask(ctx context.Context, command string) (Reply, error) {
	if strings.ContainsFunc(command, isControl) {
		return Reply{}, fmt.Errorf("%s: the command %.100q has control characters", c.at, command)
	}
	if len(command) > maxCommand {
		return Reply{}, fmt.Errorf("%s: the command `%.40s...` is longer than %d bytes", c.at, command, maxCommand)
	}
	return c.exchange(ctx, fmt.Sprintf("`%.200s`", command), command+"\n")
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// exchange sends something, if there is anything to send, and reads a reply. It is called
// what for people.
func (c *Conn) exchange(ctx context.Context, what, send string) (Reply, error) {
	if c.broken != nil {
		return Reply{}, fmt.Errorf("%w; now %s cannot be asked", c.broken, what)
	}
	if ctx.Err() != nil {
		return Reply{}, fmt.Errorf("%s: %s: %w", c.at, what, context.Cause(ctx))
	}
	if err := c.rest(ctx, len(send)); err != nil {
		return Reply{}, fmt.Errorf("%s: %s: %w", c.at, what, err)
	}
	var reply Reply
	err := c.bounded(ctx, time.Now().Add(c.timeout), func() error {
		if send != "" {
			if _, err := io.WriteString(c.conn, send); err != nil {
				return err
			}
		}
		var err error
		reply, err = readReply(&c.lines)
		return err
	})
	c.answered = time.Now()
	switch {
	case err == nil:
		return reply, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("%s %w", c.at, silence("answer "+what, c.timeout))
	case closed(err):
		err = fmt.Errorf("%s closed the connection instead of answering %s: %w", c.at, what, io.ErrUnexpectedEOF)
	default:
		err = fmt.Errorf("%s: %s: %w", c.at, what, cause(err))
	}
	c.broken = err
	return Reply{}, err
}

// rest gives BIRD the time to make room for n bytes.
func (c *Conn) rest(ctx context.Context, n int) error {
	rested := time.Since(c.answered)
	if rested < rest && c.unrested > 0 && c.unrested+n > restAfter {
		if err := wait(ctx, rest); err != nil {
			return err
		}
		rested = rest
	}
	if rested >= rest {
		c.unrested = 0
	}
	c.unrested += n
	return nil
}

// Wait reads and drops what BIRD sends without being asked until it closes the connection,
// as it does when it ends; then the error is nil. When the context ends first, it returns
// the cause, and the session can still be used.
func (c *Conn) Wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := c.bounded(ctx, time.Time{}, func() error {
		for {
			if _, err := c.lines.next(); err != nil {
				return err
			}
		}
	})
	if closed(err) {
		c.broken = fmt.Errorf("%s closed the connection: %w", c.at, io.ErrUnexpectedEOF)
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%s: wait for its end: %w", c.at, cause(err))
}

// bounded runs what reads and writes, until the deadline, if any, or the end of the context,
// whose cause it then returns.
func (c *Conn) bounded(ctx context.Context, deadline time.Time, run func() error) error {
	if err := c.conn.SetDeadline(deadline); err != nil {
		return err
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = c.conn.SetDeadline(time.Unix(1, 0)) // fails only if it is closed
	})
	err := run()
	if !stop() {
		<-interrupted // or it would interrupt what comes next
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// closed tells whether the other side has closed the connection.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
