// Package lab runs rendered configurations in real BIRD daemons, each node in a network
// namespace of its own.
package lab

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/test/fromtext"
	"github.com/birdconfd/birdconfd/test/lab/netns"
	"github.com/birdconfd/birdconfd/test/shared"
)

//go:embed cluster.yaml
var clusterYAML string

//go:embed tor.conf
var torConf []byte

// patience is how long anything may take that should happen within seconds.
const patience = 60 * time.Second

// TestDeadPeerHoldsTheStartNoLongerThanAsked starts a node as after a crash, with its peers
// dead: BIRD must hold its routes back for gracefulRestartWait and not for its own 240 s.
func TestDeadPeerHoldsTheStartNoLongerThanAsked(t *testing.T) {
	l := newLab(t)
	l.host("alpha", "192.0.2.11/24", "2001:db8::11/64")
	l.render("alpha", fromtext.Set(t))
	for _, d := range []struct {
		daemon, binary string
		peers          int
	}{{"bird", birdtest.Bird(t), 2}, {"bird6", birdtest.Bird6(t), 1}} {
		l.daemon("alpha", d.daemon, d.binary, d.daemon+".cfg", "-R")
		l.until("alpha", d.daemon, "show status", func(reply string) bool {
			r := recovery(reply)
			return r.InProgress && r.Waiting == d.peers && r.LeftKnown && r.Left <= 10*time.Second
		})
	}
	for _, daemon := range []string{"bird", "bird6"} {
		l.until("alpha", daemon, "show status", func(reply string) bool {
			return reply != "" && !recovery(reply).InProgress
		})
	}
}

// recovery reads a reply to "show status".
func recovery(reply string) bird.Recovery {
	lines := strings.Split(reply, "\n")
	for i, line := range lines {
		lines[i] = code.ReplaceAllString(line, "")
	}
	return bird.ParseRecovery(lines)
}

// code is what stands before the first line of each part of a reply.
var code = regexp.MustCompile(`^\d{4}[- ]`)

// exchanging counts the sessions in a reply that carry routes.
func exchanging(reply string) int {
	n := 0
	for line := range strings.Lines(reply) {
		// The first row has a code before it, the others a blank.
		if p, ok := bird.ParseProtocol(strings.TrimPrefix(line, "1002-")); ok && p.Exchanges() {
			n++
		}
	}
	return n
}

// lab is a network, and the daemons that run in its hosts.
type lab struct {
	t       *testing.T
	network *netns.Network
	root    string
	// cluster is what nodes are rendered from.
	cluster string
	logs    map[string]*os.File
}

func newLab(t *testing.T) *lab {
	t.Helper()
	shared.NeedRoot(t, "network namespaces")
	if _, err := exec.LookPath("ip"); err != nil {
		shared.Skip(t, "network namespaces need iproute2")
	}
	network, err := netns.New(fmt.Sprintf("bcd%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	})
	return &lab{t: t, network: network, root: t.TempDir(), cluster: clusterYAML, logs: map[string]*os.File{}}
}

// dir is a host's directory of files.
func (l *lab) dir(host string) string { return filepath.Join(l.root, host) }

func (l *lab) ip(host string, args ...string) string {
	l.t.Helper()
	out, err := l.network.IP(host, args...)
	if err != nil {
		l.t.Fatal(err)
	}
	return out
}

// host makes a namespace with an interface on the switch.
func (l *lab) host(host string, addresses ...string) {
	l.t.Helper()
	if err := errors.Join(os.MkdirAll(l.dir(host), 0o700), l.network.Host(host, "", addresses...)); err != nil {
		l.t.Fatal(err)
	}
}

// daemon starts a BIRD in a host, in the foreground, and ends it with the test.
func (l *lab) daemon(host, name, binary, config string, flags ...string) {
	l.t.Helper()
	log, err := os.Create(filepath.Join(l.dir(host), name+".log"))
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	args := append([]string{"netns", "exec", l.network.Namespace(host), binary, "-d",
		"-s", l.socket(host, name), "-c", filepath.Join(l.dir(host), config)}, flags...)
	cmd := exec.CommandContext(ctx, "ip", args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.logs[host+" "+name] = log
	l.t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
		_ = log.Close()
	})
}

// noErrors looks through what the daemons logged.
func (l *lab) noErrors() {
	l.t.Helper()
	for name, f := range l.logs {
		data, err := os.ReadFile(f.Name())
		if err != nil {
			l.t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			// Sessions that are not up yet, and the peer's refusal while both ends connect,
			// are no errors of the configuration.
			if bad.MatchString(line) && !strings.Contains(line, "<RMT>") {
				l.t.Errorf("%s: %s", name, line)
			}
		}
	}
}

var bad = regexp.MustCompile(`<(ERR|FATAL|BUG|WARN)>|[Rr]untime|[Ff]ilters?,? .*error`)
