package bird

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"syscall"
	"time"
)

// ErrNotRunning tells that no daemon listens on a control socket: there is no socket, or
// the one that is there was left behind by a daemon that was killed.
var ErrNotRunning = errors.New("no daemon listens there")

const (
	defaultAnswer = 10 * time.Second
	defaultSettle = 60 * time.Second
	// maxSocket is the longest name of a Unix socket in Linux (unix(7)), in bytes.
	maxSocket = 107
)

// Client asks a BIRD daemon over its control socket.
type Client struct {
	Socket string // a path
	// Timeout bounds connecting and each single reply, 10 s when zero. BIRD answers
	// nobody while it reads a configuration.
	Timeout time.Duration
	// Settle bounds how long Configure and Undo wait for a reconfiguration to finish,
	// 60 s when zero.
	Settle time.Duration
}

// Dial opens a session and reads BIRD's greeting. errors.Is finds ErrNotRunning when no
// daemon is there.
func (c Client) Dial(ctx context.Context) (*Conn, error) {
	at := "bird at " + c.Socket
	timeout := cmp.Or(c.Timeout, defaultAnswer)
	conn, err := c.connect(ctx, timeout)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	session := &Conn{
		conn: conn, lines: lineReader{r: conn}, at: at,
		timeout: timeout, settle: cmp.Or(c.Settle, defaultSettle),
	}
	if err := session.greet(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return session, nil
}

// connect goes on while the daemon's queue of connections is full: like silence, that is
// the sign of a daemon that is busy.
func (c Client) connect(ctx context.Context, timeout time.Duration) (net.Conn, error) {
	if len(c.Socket) > maxSocket {
		return nil, fmt.Errorf("the path is longer than %d bytes, which no socket can have", maxSocket)
	}
	limited, cancel := context.WithTimeoutCause(ctx, timeout, silence("accept a connection", timeout))
	defer cancel()
	for pause := firstPause; ; pause = nextPause(pause) {
		conn, err := new(net.Dialer).DialContext(limited, "unix", c.Socket)
		switch {
		case err == nil:
			return conn, nil
		case limited.Err() != nil, errors.Is(err, context.DeadlineExceeded):
			<-limited.Done() // the dialer's own clock may be a little early
			return nil, context.Cause(limited)
		case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED):
			return nil, fmt.Errorf("%w: %w", ErrNotRunning, cause(err))
		case !errors.Is(err, syscall.EAGAIN):
			return nil, cause(err)
		}
		if err := wait(limited, pause); err != nil {
			return nil, err
		}
	}
}

// cause takes off what the net package puts around a system call's error: the names in it
// are told already.
func cause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

func silence(what string, timeout time.Duration) error {
	return fmt.Errorf("did not %s within %s: %w", what, timeout, context.DeadlineExceeded)
}

// A daemon is asked again after pauses that grow from firstPause to lastPause.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 250 * time.Millisecond
)

func nextPause(pause time.Duration) time.Duration { return min(2*pause, lastPause) }

// wait returns the cause when the context ends first.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// codeReady is the code of the greeting.
const codeReady = 1

// introduction matches the greeting, and what "show status" begins with.
var introduction = regexp.MustCompile(`^BIRD (\S+)(?: ready\.)?$`)

func (c *Conn) greet(ctx context.Context) error {
	reply, err := c.exchange(ctx, "a new session", "")
	if err != nil {
		return err
	}
	version, err := introduced(reply.last().Text)
	if reply.Code != codeReady || err != nil {
		return fmt.Errorf("%s: this is not BIRD: it greets with %.100q", c.at, reply.last().Text)
	}
	c.version = version
	return nil
}

// introduced reads the version that a daemon gives itself, like "BIRD 1.6.8 ready.".
func introduced(text string) (Version, error) {
	m := introduction.FindStringSubmatch(text)
	if m == nil {
		return Version{}, fmt.Errorf("no BIRD version in %.100q", text)
	}
	return parseVersion("BIRD version " + m[1])
}
