package bird

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

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
}

var (
	recoveryWaiting = regexp.MustCompile(`^Waiting for (\d+) (?:protocols?|channels?) to recover$`)
	recoveryTimer   = regexp.MustCompile(`^Wait timer is (\d+(?:\.\d+)?)/\d+(?:\.\d+)?$`)
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
			r.Left, r.LeftKnown = left, err == nil
		}
	}
	return r
}

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
	return Protocol{f[0], f[1], f[2], f[3], f[4], strings.Join(f[5:], " ")}, true
}

// Exchanges reports whether a BGP session carries routes in both directions: it is
// established, and no recovery holds back what it exports.
func (p Protocol) Exchanges() bool {
	return p.Proto == "BGP" && p.State == "up" && strings.HasPrefix(p.Info, "Established")
}
