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

// TestSessionsAndRoutes runs two nodes and a switch until all sessions are up, and looks
// at what each of them then has.
func TestSessionsAndRoutes(t *testing.T) {
	l := newLab(t)
	v4, v6 := birdtest.Bird(t), birdtest.Bird6(t)
	for i, node := range []string{"alpha", "bravo"} {
		l.host(node, fmt.Sprintf("192.0.2.%d/24", 11+i), fmt.Sprintf("2001:db8::%d/64", 11+i))
		renderNode(t, l, node)
		l.daemon(node, "bird", v4, "bird.cfg")
		l.daemon(node, "bird6", v6, "bird6.cfg")
	}
	l.host("tor", "192.0.2.1/24", "2001:db8::1/64")
	if err := os.WriteFile(filepath.Join(l.dir("tor"), "bird.cfg"), torConf, 0o600); err != nil {
		t.Fatal(err)
	}
	l.daemon("tor", "bird", v4, "bird.cfg")

	for _, d := range []struct {
		host, daemon string
		sessions     int
	}{{"alpha", "bird", 2}, {"alpha", "bird6", 1}, {"bravo", "bird", 1}, {"bravo", "bird6", 1}, {"tor", "bird", 1}} {
		l.until(d.host, d.daemon, "show protocols", func(reply string) bool {
			return exchanging(reply) == d.sessions
		})
	}

	has := func(text string) func(string) bool {
		return func(reply string) bool { return strings.Contains(reply, text) }
	}
	// Blocks and service ranges travel in the mesh, with their communities.
	l.until("alpha", "bird", "show route protocol Mesh_192_0_2_12 all", has("198.51.100.32/28"))
	l.until("alpha", "bird", "show route 198.51.100.32/28 all protocol Mesh_192_0_2_12", has("BGP.community: (64512,100)"))
	l.until("alpha", "bird6", "show route protocol Mesh_2001_db8__12", has("2001:db8:100::40/122"))
	// The switch gets the node's own, its service range and, through the filter, the
	// single address with its community and the AS numbers prepended to our own.
	l.until("tor", "bird", "show route protocol alpha", has("198.51.100.16/28"))
	l.until("tor", "bird", "show route protocol alpha", has("203.0.113.0/28"))
	l.until("tor", "bird", "show route 203.0.113.77/32 all", has("BGP.as_path: 64512 64513 64512"))
	l.until("tor", "bird", "show route 203.0.113.77/32 all", has("(64512,7)"))
	// The import filter takes the default route and nothing else.
	l.until("alpha", "bird", "show route protocol Node_192_0_2_1", has("0.0.0.0/0"))
	if reply := l.ask("alpha", "bird", "show route protocol Node_192_0_2_1"); strings.Contains(reply, "10.0.0.0/8") {
		t.Errorf("the import filter lets 10.0.0.0/8 in:\n%s", reply)
	}
	// The kernel has the other node's block but no blackhole for service addresses.
	l.untilTrue("the other node's block in the kernel", func() bool {
		return strings.Contains(l.ip("alpha", "route", "show"), "198.51.100.32/28 via 192.0.2.12")
	})
	if routes := l.ip("alpha", "route", "show"); strings.Contains(routes, "203.0.113.") {
		t.Errorf("service addresses are in the kernel:\n%s", routes)
	}
	l.noErrors()
}

// TestDeadPeerHoldsTheStartNoLongerThanAsked starts a node as after a crash, with its peers
// dead: BIRD must hold its routes back for gracefulRestartWait and not for its own 240 s.
func TestDeadPeerHoldsTheStartNoLongerThanAsked(t *testing.T) {
	l := newLab(t)
	l.host("alpha", "192.0.2.11/24", "2001:db8::11/64")
	renderNode(t, l, "alpha")
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

func renderNode(t *testing.T, l *lab, node string) {
	t.Helper()
	r := fromtext.Input{Name: "cluster.yaml", Text: clusterYAML}.Decode().Render(t, node)
	for _, p := range r.Problems {
		t.Errorf("problem: %v", p)
	}
	for name, text := range r.Files {
		if err := os.WriteFile(filepath.Join(l.dir(node), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// lab is a network, and the daemons that run in its hosts.
type lab struct {
	t       *testing.T
	network *netns.Network
	root    string
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
	return &lab{t: t, network: network, root: t.TempDir(), logs: map[string]*os.File{}}
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
