package bird

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Status is what "show status" says of a daemon.
type Status struct {
	Version  Version
	RouterID string
	// Times are read in the local time zone, which may not be BIRD's. They are zero when
	// they cannot be read: "timeformat base" in the configuration decides how BIRD writes
	// them. In BIRD 1.6 they have seconds, ServerTime is up to a few seconds late, and the
	// other two jump by a second between replies; the difference of two times in one reply
	// is exact. In newer versions they move with the clock of the host.
	ServerTime, LastReboot, LastReconfiguration time.Time
	// Booted and Configured are BIRD's own texts of the last two.
	Booted, Configured          string
	Recovery                    Recovery
	Reconfiguring, ShuttingDown bool
	// State is BIRD's own: "Daemon is up and running", for example.
	State string
}

// parseStatus reads a "show status" reply.
func parseStatus(r Reply) Status {
	s := Status{Recovery: ParseRecovery(r.texts())}
	for _, line := range r.Lines {
		text := strings.TrimSpace(line.Text)
		if v, err := introduced(text); err == nil {
			s.Version = v
		}
		if id, ok := strings.CutPrefix(text, "Router ID is "); ok {
			s.RouterID = id
		}
		if t, ok := strings.CutPrefix(text, "Current server time is "); ok {
			s.ServerTime = parseTime(t)
		}
		if t, ok := strings.CutPrefix(text, "Last reboot on "); ok {
			s.Booted, s.LastReboot = t, parseTime(t)
		}
		if t, ok := strings.CutPrefix(text, "Last reconfiguration on "); ok {
			s.Configured, s.LastReconfiguration = t, parseTime(t)
		}
		if line.Code == codeStatus {
			s.State = text
			s.Reconfiguring = text == "Reconfiguration in progress"
			s.ShuttingDown = text == "Shutdown in progress"
		}
	}
	return s
}

// parseTime reads a time with or without parts of a second, as the defaults of BIRD's
// versions and "iso long" have it. Others may lack the date, and are worth nothing.
func parseTime(text string) time.Time {
	for _, layout := range []string{"2006-01-02 15:04:05", "02-01-2006 15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t
		}
	}
	return time.Time{}
}

// SameLoad tells whether two replies can be those of one daemon which was not told to
// load a configuration between them. Its texts alone do not: see Status.
func (s Status) SameLoad(o Status) bool {
	return s.SameStart(o) &&
		sameTime(s.LastReconfiguration, o.LastReconfiguration, s.Configured, o.Configured)
}

// SameStart tells whether two replies can be those of one daemon. Two that were started
// within a second of each other are taken for one.
func (s Status) SameStart(o Status) bool {
	return sameTime(s.LastReboot, o.LastReboot, s.Booted, o.Booted)
}

func sameTime(a, b time.Time, textA, textB string) bool {
	if a.IsZero() || b.IsZero() {
		return textA == textB
	}
	return a.Sub(b).Abs() <= resolution
}

const (
	codeDone        = 0
	codeStatus      = 13
	codeProtocolRow = 1002
)

// Status asks for the state of the daemon.
func (c *Conn) Status(ctx context.Context) (Status, error) {
	reply, err := c.askFor(ctx, "show status", codeStatus)
	return parseStatus(reply), err
}

// Protocols asks for the state of all protocols.
func (c *Conn) Protocols(ctx context.Context) ([]Protocol, error) {
	reply, err := c.askFor(ctx, "show protocols", codeDone)
	var protocols []Protocol
	for _, line := range reply.Lines {
		if line.Code != codeProtocolRow {
			continue
		}
		if p, ok := ParseProtocol(line.Text); ok {
			protocols = append(protocols, p)
		}
	}
	return protocols, err
}

// askFor makes an error of a reply that does not end with the code.
func (c *Conn) askFor(ctx context.Context, command string, code int) (Reply, error) {
	reply, err := c.Ask(ctx, command)
	if err == nil && reply.Code != code {
		return Reply{}, fmt.Errorf("%s: `%s`: unexpected answer: %04d %s", c.at, command, reply.Code, reply.last().Text)
	}
	return reply, err
}

// Recovery is what "show status" says about a graceful restart of BIRD's own: whether it
// holds routes back, for how many it waits, and for how long at most.
type Recovery struct {
	InProgress bool
	// Waiting counts protocols in BIRD 1.6, channels in newer versions.
	Waiting int
	// Left is the time until BIRD waits no longer; LeftKnown is false when it says nothing
	// that makes sense, as 1.6 does when its timer has overflowed.
	Left      time.Duration
	LeftKnown bool
	// Total is "graceful restart wait" as it is configured now, zero when LeftKnown is
	// false. Left can be longer: BIRD goes on with the value that it has started with.
	Total time.Duration
}

var (
	recoveryWaiting = regexp.MustCompile(`^Waiting for (\d+) (?:protocols?|channels?) to recover$`)
	recoveryTimer   = regexp.MustCompile(`^Wait timer is (\d+(?:\.\d+)?)/(\d+(?:\.\d+)?)$`)
)

// ParseRecovery reads the texts of the lines of a "show status" reply, without their codes.
func ParseRecovery(lines []string) Recovery {
	var r Recovery
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if line == "Graceful restart recovery in progress" {
			r.InProgress = true
		} else if m := recoveryWaiting.FindStringSubmatch(line); m != nil {
			r.Waiting, _ = strconv.Atoi(m[1]) // digits by the expression
		} else if m := recoveryTimer.FindStringSubmatch(line); m != nil {
			left, err := time.ParseDuration(m[1] + "s")
			total, errTotal := time.ParseDuration(m[2] + "s")
			if r.LeftKnown = err == nil && errTotal == nil; r.LeftKnown {
				r.Left, r.Total = left, total
			}
		}
	}
	return r
}

var (
	dateOnly  = regexp.MustCompile(`^\d+-\d+-\d+$`)
	timeOfDay = regexp.MustCompile(`^\d+:\d+:\d+(?:\.\d+)?$`)
)

// Protocol is a row of "show protocols".
type Protocol struct {
	Name, Proto, Table string
	// State is BIRD's own: down, start, wait, feed, up, stop or flush in 1.6, where wait
	// means that a recovery holds back what is exported; newer versions have no wait.
	State, Since string
	// Info is, for BGP, the state of the session and its last error.
	Info string
}

// ParseProtocol reads the text of a row, without its code. Columns are separated by blanks,
// since long names push the others out of their places; "since" is one word, as in BIRD's
// default format. It reports false for what is no row.
func ParseProtocol(row string) (Protocol, bool) {
	f := strings.Fields(row)
	if len(f) < 5 {
		return Protocol{}, false
	}
	p, rest := Protocol{Name: f[0], Proto: f[1], Table: f[2], State: f[3], Since: f[4]}, f[5:]
	if len(rest) > 0 && dateOnly.MatchString(p.Since) && timeOfDay.MatchString(rest[0]) {
		p.Since, rest = p.Since+" "+rest[0], rest[1:]
	}
	p.Info = strings.Join(rest, " ")
	return p, true
}

// IsBGP tells whether it is a BGP session.
func (p Protocol) IsBGP() bool { return p.Proto == "BGP" }

// Disabled tells whether it was disabled, in the configuration or by hand. A protocol that
// BIRD has put down itself, at a limit or since it cannot listen, tells the error.
func (p Protocol) Disabled() bool {
	return p.State == "down" && !slices.ContainsFunc(ownErrors, func(e string) bool { return strings.HasPrefix(p.Info, e) })
}

// ownErrors begin what BIRD says of a session that it has put down itself (BIRD 1.6 to 3.x,
// proto/bgp/bgp.c).
var ownErrors = []string{"Error:", "BGP Error:", "Automatic shutdown:"}

// Established tells whether it is a BGP session that is up (RFC 4271 section 8.2.2).
func (p Protocol) Established() bool { return p.IsBGP() && strings.HasPrefix(p.Info, "Established") }

// ComingUp tells whether a BGP session is being opened: the neighbor has taken the
// connection.
func (p Protocol) ComingUp() bool {
	state, _, _ := strings.Cut(p.Info, " ")
	return p.IsBGP() && (state == "OpenSent" || state == "OpenConfirm")
}

// Exchanges reports whether a BGP session carries routes in both directions: it is
// established, and no recovery holds back what it exports.
func (p Protocol) Exchanges() bool { return p.Established() && p.State == "up" }
