// Package launch tests "birdconfd launch" with real BIRD daemons, each test in a network
// namespace of its own.
package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// -R is for a daemon that has routes of its own family to preserve.
func TestRestartByTheKernelsRoutes(t *testing.T) {
	v4, v6 := []string{"-4", "192.0.2.0/24"}, []string{"-6", "2001:db8::/64"}
	for _, tt := range []struct {
		rule   string
		binary func(testing.TB) string
		routes [][]string
		flags  []string
		want   bool
		says   string
	}{
		{"bird 1.6 without routes", birdtest.Bird, nil, nil, false, "without -R: the kernel holds no IPv4 routes of BIRD, so there is nothing to preserve"},
		{"bird 1.6 with IPv4 routes", birdtest.Bird, [][]string{v4}, nil, true, "with -R: the kernel holds IPv4 routes of BIRD"},
		{"bird 1.6 with IPv6 routes", birdtest.Bird, [][]string{v6}, nil, false, "without -R: the kernel holds no IPv4 routes"},
		{"bird6 1.6 with IPv6 routes", birdtest.Bird6, [][]string{v6}, nil, true, "with -R: the kernel holds IPv6 routes of BIRD"},
		{"bird6 1.6 with IPv4 routes", birdtest.Bird6, [][]string{v4}, nil, false, "without -R: the kernel holds no IPv6 routes"},
		{"bird 2 without routes", birdtest.Bird2, nil, nil, false, "without -R: the kernel holds no IPv4 or IPv6 routes of BIRD"},
		{"bird 2 with IPv4 routes", birdtest.Bird2, [][]string{v4}, nil, true, "with -R: the kernel holds IPv4 routes of BIRD"},
		{"bird 2 with IPv6 routes", birdtest.Bird2, [][]string{v6}, nil, true, "with -R: the kernel holds IPv6 routes of BIRD"},
		{"another family by flag", birdtest.Bird, [][]string{v6}, []string{"--family=both"}, true, "with -R: the kernel holds IPv6 routes of BIRD"},
		{"one family by flag", birdtest.Bird2, [][]string{v6}, []string{"--family=ipv4"}, false, "without -R: the kernel holds no IPv4 routes of BIRD"},
		{"always", birdtest.Bird, nil, []string{"--restart=always"}, true, "with -R, by --restart"},
		{"never", birdtest.Bird, [][]string{v4}, []string{"--restart=never"}, false, "without -R, by --restart"},
		{"in the command already", birdtest.Bird, nil, []string{"--restart=never", "--", "-R"}, true, "with -R, which the command has already"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			n := newNode(t, tt.binary(t))
			for _, r := range tt.routes {
				n.ip(r[0], "route", "add", r[1], "dev", "lo", "proto", "bird")
			}
			n.vouch(1)
			l := n.launch(tt.flags...)
			n.untilRuns(1)
			l.said(tt.says)
			if got := l.args("-R"); got != 0 && !tt.want || got != 1 && tt.want {
				t.Errorf("-R is there %d times", got)
			}
			if r := n.status().Recovery; r.InProgress != tt.want || tt.want && r.Waiting == 0 {
				t.Errorf("recovery %+v", r)
			}
			l.signal(syscall.SIGTERM)
			l.exits(0) // it is BIRD's end
			if _, err := os.Stat(n.socket); !os.IsNotExist(err) {
				t.Errorf("BIRD has not removed its socket: %v", err)
			}
		})
	}
}

// Half a set, as a killed birdconfd leaves it, is not started with, not even after --wait. One
// that comes up and makes sure of it lets BIRD start.
func TestWaitsForAWholeSet(t *testing.T) {
	n := newNode(t, birdtest.Bird(t))
	n.vouch(1)
	n.half(1, 2)
	l := n.launch("--wait=300ms")
	l.exits(1)
	l.said("there is no complete set of " + n.config)
	n.nobodyRuns()

	l = n.launch()
	l.untilSays("files are being replaced, are missing or were changed")
	n.nobodyRuns()
	n.end()
	l.untilSays("no birdconfd takes care of it now")
	n.vouch(2)
	n.untilRuns(2)
	l.kept(n.binary)
}

// Files of an earlier run wait for a birdconfd that knows, but not for ever.
func TestOldSet(t *testing.T) {
	n := newNode(t, birdtest.Bird(t))
	n.vouch(1)
	n.end()
	l := n.launch("--wait=300ms")
	n.untilRuns(1)
	l.said("for a current set of " + n.config + ": no birdconfd takes care of it now")
	l.said("warning: going on with an OLD set of " + n.config)
	l.kept(n.binary)
}

// The directory has never seen a birdconfd; then one comes.
func TestNothingThere(t *testing.T) {
	n := newNode(t, birdtest.Bird(t))
	n.write("bird.cfg", "protocol device { }\n") // somebody's own is no set of ours
	l := n.launch("--wait=300ms")
	l.exits(1)
	l.said("there is no complete set of " + n.config + " after 300ms: no birdconfd has put it in place so far, by the records in " + filepath.Join(n.dir, ".birdconfd"))
	l = n.launch("--wait=0s")
	l.exits(1)
	n.nobodyRuns()

	l = n.launch()
	l.untilSays("no birdconfd has put it in place")
	n.vouch(1)
	n.untilRuns(1)
	l.kept(n.binary)
}

func TestEndsWhileItWaits(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		n := newNode(t, birdtest.Bird(t))
		l := n.launch()
		l.untilSays("waiting, for 1m0s in all")
		l.signal(s)
		l.exits(0)
		l.said("ended before BIRD was started")
		n.nobodyRuns()
	}
}

// A state directory elsewhere, and a file named from the current directory.
func TestOtherPlaces(t *testing.T) {
	n := newNode(t, birdtest.Bird2(t))
	n.state = t.TempDir()
	n.vouch(1)
	n.workIn, n.config = n.dir, "bird.cfg"
	n.launch("--wait=0s", "--state-dir="+n.state)
	n.untilRuns(1)
}

// What cannot be started ends at once.
func TestNoProgram(t *testing.T) {
	n := newNode(t, birdtest.Bird(t))
	n.vouch(1)
	n.binary = filepath.Join(n.dir, "absent")
	l := n.launch()
	l.exits(2)
	l.said(`find program: exec: "` + n.binary + `"`)
	if err := os.WriteFile(n.binary, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	l = n.launch()
	l.exits(2)
	l.said("start " + n.binary + ": exec format error")
}

// BIRD finds the same limits, signals, files and environment as if it had been started
// directly.
func TestLeavesNoTraces(t *testing.T) {
	n := newNode(t, birdtest.Bird(t))
	n.vouch(1)
	n.binary = filepath.Join(n.dir, "show")
	// The last command takes the shell's place, which blocks signals while it starts others.
	text := "#!/bin/sh\nulimit -n\nls /proc/$$/fd\nenv\necho \"$0 $*\"\nexec grep -E '^Sig(Blk|Ign)' /proc/self/status\n"
	if err := os.WriteFile(n.binary, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	started := func(command ...string) *launched {
		// Go programs raise the limit for themselves.
		cmd := exec.Command("sh", "-c", `ulimit -Sn 1000; exec "$@"`, "sh", "ip", "netns", "exec", n.namespace)
		cmd.Args = append(append(cmd.Args, command...), n.binary, "-d", "-c", n.config)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "MARK=kept"}
		l := n.start(cmd)
		l.exits(0)
		return l
	}
	direct := started()
	l := started(built(t), "launch", "--restart=never", "--")
	want := "birdconfd: starting " + n.binary + " without -R, by --restart\n" + direct.log.String()
	if diff := cmp.Diff(want, l.log.String()); diff != "" || !strings.HasPrefix(direct.log.String(), "1000\n") {
		t.Errorf("(-direct +launched):\n%s", diff)
	}
}
