package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/render"
	"github.com/birdconfd/birdconfd/test/fromtext"
)

// node is what runs on a node: BIRD 1.6, one daemon for each family, or BIRD 2.
type node struct {
	bird2 bool
}

// daemons are the names of those that have the node's IPv4 and IPv6 routes.
func (n node) daemons() (v4, v6 string) {
	if n.bird2 {
		return "bird", "bird"
	}
	return "bird", "bird6"
}

func (n node) start(l *lab, host string) {
	l.t.Helper()
	if n.bird2 {
		l.render(host, fromtext.Bird2Set(l.t))
		l.daemon(host, "bird", birdtest.Bird2(l.t), "bird.cfg")
		return
	}
	l.render(host, fromtext.Set(l.t))
	l.daemon(host, "bird", birdtest.Bird(l.t), "bird.cfg")
	l.daemon(host, "bird6", birdtest.Bird6(l.t), "bird6.cfg")
}

// sessions waits until a node has that many in each family.
func (n node) sessions(l *lab, host string, ipv4, ipv6 int) {
	l.t.Helper()
	v4, v6 := n.daemons()
	if v4 == v6 {
		l.until(host, v4, "show protocols", func(reply string) bool { return exchanging(reply) == ipv4+ipv6 })
		return
	}
	l.until(host, v4, "show protocols", func(reply string) bool { return exchanging(reply) == ipv4 })
	l.until(host, v6, "show protocols", func(reply string) bool { return exchanging(reply) == ipv6 })
}

// TestSessionsAndRoutes runs two nodes and a switch until all sessions are up, and looks
// at what each of them then has.
func TestSessionsAndRoutes(t *testing.T) {
	for _, tt := range []struct {
		name         string
		alpha, bravo node
	}{
		{"bird 1.6", node{}, node{}},
		{"bird 2 and bird 1.6", node{bird2: true}, node{}},
		{"bird 1.6 and bird 2", node{}, node{bird2: true}},
		{"bird 2", node{bird2: true}, node{bird2: true}},
	} {
		t.Run(tt.name, func(t *testing.T) { sessionsAndRoutes(t, tt.alpha, tt.bravo) })
	}
}

func sessionsAndRoutes(t *testing.T, alpha, bravo node) {
	l := newLab(t)
	l.host("alpha", "192.0.2.11/24", "2001:db8::11/64")
	alpha.start(l, "alpha")
	l.host("bravo", "192.0.2.12/24", "2001:db8::12/64")
	bravo.start(l, "bravo")
	l.host("tor", "192.0.2.1/24", "2001:db8::1/64")
	if err := os.WriteFile(filepath.Join(l.dir("tor"), "bird.cfg"), torConf, 0o600); err != nil {
		t.Fatal(err)
	}
	l.daemon("tor", "bird", birdtest.Bird(t), "bird.cfg")

	alpha.sessions(l, "alpha", 2, 1)
	bravo.sessions(l, "bravo", 1, 1)
	l.until("tor", "bird", "show protocols", func(reply string) bool { return exchanging(reply) == 1 })

	has := func(text string) func(string) bool {
		return func(reply string) bool { return strings.Contains(reply, text) }
	}
	// Blocks and service ranges travel in the mesh, with their communities.
	a4, a6 := alpha.daemons()
	l.until("alpha", a4, "show route 198.51.100.32/28 all protocol Mesh_192_0_2_12", has("BGP.community: (64512,100)"))
	l.until("alpha", a4, "show route protocol Mesh_192_0_2_12", has("203.0.113.0/28"))
	l.until("alpha", a6, "show route protocol Mesh_2001_db8__12", has("2001:db8:100::40/122"))
	b4, b6 := bravo.daemons()
	l.until("bravo", b4, "show route 198.51.100.16/28 all protocol Mesh_192_0_2_11", has("BGP.community: (64512,100)"))
	l.until("bravo", b4, "show route protocol Mesh_192_0_2_11", has("203.0.113.0/28"))
	l.until("bravo", b6, "show route protocol Mesh_2001_db8__11", has("2001:db8:100::/122"))
	// The switch gets the node's own, its service range and, through the filter, the
	// single address with its community and the AS numbers, which BIRD 1.6 prepends to our
	// own, and BIRD 2 to the path before our own gets there.
	l.until("tor", "bird", "show route protocol alpha", has("198.51.100.16/28"))
	l.until("tor", "bird", "show route protocol alpha", has("203.0.113.0/28"))
	path := "BGP.as_path: 64512 64513 64512"
	if alpha.bird2 {
		path = "BGP.as_path: 64512 64512 64513"
	}
	l.until("tor", "bird", "show route 203.0.113.77/32 all", has(path))
	l.until("tor", "bird", "show route 203.0.113.77/32 all", has("(64512,7)"))
	// The import filter takes the default route and nothing else.
	l.until("alpha", a4, "show route protocol Node_192_0_2_1", has("0.0.0.0/0"))
	if reply := l.ask("alpha", a4, "show route protocol Node_192_0_2_1"); strings.Contains(reply, "10.0.0.0/8") {
		t.Errorf("the import filter lets 10.0.0.0/8 in:\n%s", reply)
	}
	l.kernel("alpha", "192.0.2.12", "198.51.100.32/28", "2001:db8::12", "2001:db8:100::40/122")
	l.kernel("bravo", "192.0.2.11", "198.51.100.16/28", "2001:db8::11", "2001:db8:100::/122")
	l.noErrors()
}

// TestBird2ListensWhereAsked has a node with BIRD 2 listen on another port, and on its own
// addresses only, also where one comes later. It waits there for the other node, whose BIRD 1.6
// does the same.
func TestBird2ListensWhereAsked(t *testing.T) {
	l := newLab(t)
	l.cluster = strings.Replace(clusterYAML, "  gracefulRestartWait: 10s\n", "  gracefulRestartWait: 10s\n  listenPort: 1790\n  bindMode: NodeIP\n", 1)
	alpha, bravo := node{bird2: true}, node{}
	l.host("alpha", "2001:db8::11/64", "192.0.2.111/24")
	alpha.start(l, "alpha")
	l.until("alpha", "bird", "show status", func(reply string) bool { return reply != "" })
	l.ip("alpha", "address", "add", "192.0.2.11/24", "dev", "eth0") // later than BIRD, as from DHCP
	l.host("bravo", "192.0.2.12/24", "2001:db8::12/64")
	bravo.start(l, "bravo")
	bravo.sessions(l, "bravo", 1, 1)
	alpha.sessions(l, "alpha", 1, 1)
	sockets, err := exec.Command("ip", "netns", "exec", l.network.Namespace("alpha"), "ss", "-Hltn").Output()
	if err != nil {
		t.Fatal(err)
	}
	for address, listens := range map[string]bool{"192.0.2.11:1790": true, "[2001:db8::11]:1790": true, "192.0.2.111:1790": false, "192.0.2.11:179": false} {
		if got := strings.Contains(string(sockets), " "+address+" "); got != listens {
			t.Errorf("it listens on %s: %v", address, got)
		}
	}
}

// kernel waits until a host's kernel has the other node's blocks, and fails if it has
// blackholes for service addresses, or what it knew before BIRD told it.
func (l *lab) kernel(host, via4, block4, via6, block6 string) {
	l.t.Helper()
	for family, want := range map[string]string{
		"-4": fmt.Sprintf("%s via %s dev eth0 proto bird metric 1024", block4, via4),
		"-6": fmt.Sprintf("%s via %s dev eth0 proto bird metric 1024", block6, via6),
	} {
		var routes string
		l.untilTrue(host+" has the other node's block in the kernel: "+want, func() bool {
			routes = l.ip(host, family, "route", "show")
			return strings.Contains(routes, want)
		}, &routes)
		for line := range strings.Lines(routes) {
			if strings.Contains(line, "203.0.113.") || (strings.Contains(line, "proto bird") &&
				(strings.HasPrefix(line, "192.0.2.0/24") || strings.HasPrefix(line, "2001:db8::/64"))) {
				l.t.Errorf("%s has in the kernel: %s", host, line)
			}
		}
	}
}

// render writes a node's files into the directory of the host of that name.
func (l *lab) render(host string, set *render.Set) {
	l.t.Helper()
	r := fromtext.Input{Name: "cluster.yaml", Text: l.cluster}.Decode().RenderWith(l.t, set, host)
	for _, p := range r.Problems {
		l.t.Errorf("problem: %v", p)
	}
	for name, text := range r.Files {
		if err := os.WriteFile(filepath.Join(l.dir(host), name), []byte(text), 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
}
