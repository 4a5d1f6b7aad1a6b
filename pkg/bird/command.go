package bird

import (
	"slices"
	"strings"
)

// Options are those of a daemon's command line that matter to who starts it.
type Options struct {
	// Config is the file that it is told to read, "" without one.
	Config string
	// Restart tells that it is to preserve the routes that the kernel has (-R).
	Restart bool
}

// withValue are the options that are followed by a value (BIRD 1.6 to 3.x,
// sysdep/unix/main.c).
const withValue = "cDPgsu"

// ParseOptions reads the arguments of a daemon, without its name, as getopt(3) does. What it
// does not know it leaves to BIRD.
func ParseOptions(args []string) Options {
	var o Options
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		letters, ok := strings.CutPrefix(args[i], "-")
		if !ok || strings.HasPrefix(letters, "-") {
			continue
		}
		at := strings.IndexAny(letters, withValue)
		if at < 0 {
			at = len(letters)
		}
		o.Restart = o.Restart || strings.Contains(letters[:at], "R")
		if at == len(letters) {
			continue
		}
		value := letters[at+1:]
		if value == "" && i+1 < len(args) {
			i++
			value = args[i]
		}
		if letters[at] == 'c' {
			o.Config = value
		}
	}
	return o
}

// WithRestart returns a command, its name first, that has BIRD preserve the routes that the
// kernel has.
func WithRestart(command []string) []string { return slices.Insert(slices.Clone(command), 1, "-R") }

// Families tells for which address families a daemon of this version works. Before BIRD 2
// there is a program for each, and that for IPv6 is called bird6.
func (v Version) Families(program string) (ipv4, ipv6 bool) {
	six := strings.HasSuffix(program, "6")
	return v.Major >= 2 || !six, v.Major >= 2 || six
}
