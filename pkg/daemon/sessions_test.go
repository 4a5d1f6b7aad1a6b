package daemon

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// shortDir is a directory with a name that is short enough for sockets in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// freePort returns a TCP port that nobody listened on a moment ago.
func freePort(t *testing.T, address string) int {
	t.Helper()
	l, err := net.Listen("tcp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// startHere runs a BIRD that can have a session, and returns the path of its control socket.
func startHere(t *testing.T, config string) string {
	t.Helper()
	return birdtest.StartHere(t, birdtest.Bird(t), config).Socket
}

// protocolConfig takes a name, a local address, a peer's address, port and AS number, and
// more statements.
const protocolConfig = `
protocol bgp %s {
	local %s as 64512;
	neighbor %s port %d as %d;
	multihop;
	connect delay time 1;
	%s
}
`

const peerPassword = `password "canary-5ecret";`

func birdConfig(address string, port int) string {
	return fmt.Sprintf("router id %[1]s;\nlisten bgp address %[1]s port %[2]d;\nprotocol device { }\n", address, port)
}

// birdPair starts two BIRDs that have a session with one another, and the first another one,
// Node_127_0_0_3, to where nobody is. It returns the first one's socket.
func birdPair(t *testing.T) string {
	t.Helper()
	port1, port2 := freePort(t, "127.0.0.1"), freePort(t, "127.0.0.2")
	startHere(t, birdConfig("127.0.0.2", port2)+
		fmt.Sprintf(protocolConfig, "Mesh_127_0_0_1", "127.0.0.2", "127.0.0.1", port1, 64512, peerPassword))
	return startHere(t, birdConfig("127.0.0.1", port1)+
		fmt.Sprintf(protocolConfig, "Mesh_127_0_0_2", "127.0.0.1", "127.0.0.2", port2, 64512, peerPassword)+
		fmt.Sprintf(protocolConfig, "Node_127_0_0_3", "127.0.0.1", "127.0.0.3", 1, 64513, ""))
}

// lonely starts a BIRD that has a session to where nobody is, Mesh_127_0_0_2.
func lonely(t *testing.T) *birdtest.Daemon {
	t.Helper()
	return birdtest.Start(t, birdtest.Bird(t), birdConfig("127.0.0.1", freePort(t, "127.0.0.1"))+
		fmt.Sprintf(protocolConfig, "Mesh_127_0_0_2", "127.0.0.1", "127.0.0.2", 1, 64512, peerPassword))
}

// askUntil asks until the answer is as it should be.
func askUntil(t *testing.T, socket string, good func(Answer) bool) Answer {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(30 * time.Second); ; {
		a := Ask(t.Context(), socket)
		if good(a) {
			return a
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("it is still %+v", a)
		}
	}
}

func oneEstablished(a Answer) bool {
	for _, s := range a.Sessions {
		if s.BGPState == "Established" && s.State == "up" { // no longer feeding
			return true
		}
	}
	return false
}

func TestAskRealBird(t *testing.T) {
	noLeaks(t)
	a := askUntil(t, birdPair(t), func(a Answer) bool {
		return oneEstablished(a) && strings.Contains(fmt.Sprint(a.Sessions), "refused")
	})
	if a.Running == nil || !strings.HasPrefix(a.Running.Version, "1.6.") || a.Running.RouterID != "127.0.0.1" || a.Running.Booted == "" {
		t.Errorf("running is %+v", a.Running)
	}
	if a.Recovery == nil || a.Recovery.InProgress {
		t.Errorf("recovery is %+v", a.Recovery)
	}
	want := []Session{
		{Name: "Mesh_127_0_0_2", State: "up", Info: "Established", BGPState: "Established"},
		{Name: "Node_127_0_0_3", State: "start"},
	}
	if diff := cmp.Diff(want[0], a.Sessions[0], ignoreSince, addresses); diff != "" {
		t.Error(diff)
	}
	got := a.Sessions[1]
	if got.Name != want[1].Name || got.State != want[1].State || got.Since == "" || !strings.Contains(got.Info, "Socket: Connection refused") {
		t.Errorf("%+v", got)
	}
}

var (
	ignoreSince = cmpopts.IgnoreFields(Session{}, "Since")
	addresses   = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
)

// peersView has a peer that BIRD has and, in the View of the other family, one that it has not.
func peersView() bgp.Views {
	return bgp.Views{IPv4: &bgp.View{Peers: []bgp.Peer{
		{Name: "Mesh_127_0_0_2", Address: netip.MustParseAddr("127.0.0.2"), ASNumber: 64512, NodeName: "worker-2",
			Why: "the node-to-node mesh", Password: bgp.NewSecret("canary-5ecret")},
	}}, IPv6: &bgp.View{Peers: []bgp.Peer{
		{Name: "Mesh_127_0_0_4", Address: netip.MustParseAddr("127.0.0.4"), ASNumber: 64512, Why: "the node-to-node mesh"},
	}}}
}

func TestStatusJoinsSessionsAndResources(t *testing.T) {
	noLeaks(t)
	socket := birdPair(t)
	askUntil(t, socket, oneEstablished)
	s := goodStatus()
	s.Targets[0].Socket, s.Targets[0].views = socket, peersView()
	r := serveSite(t, NewServer(always(s), well, nil)).get("/status").report(t)
	if len(r.Targets) != 1 || len(r.Targets[0].Sessions) != 3 {
		t.Fatalf("%+v", r)
	}
	want := []Session{
		{Name: "Mesh_127_0_0_2", State: "up", Info: "Established", BGPState: "Established",
			Address: netip.MustParseAddr("127.0.0.2"), ASNumber: 64512, Origin: "the node-to-node mesh", Node: "worker-2"},
		{Name: "Mesh_127_0_0_4", Address: netip.MustParseAddr("127.0.0.4"), ASNumber: 64512, Origin: "the node-to-node mesh", Wrong: notInBIRD},
		{Name: "Node_127_0_0_3", Wrong: notInResources},
	}
	r.Targets[0].Sessions[2].State, r.Targets[0].Sessions[2].BGPState, r.Targets[0].Sessions[2].Info = "", "", ""
	if diff := cmp.Diff(want, r.Targets[0].Sessions, ignoreSince, addresses); diff != "" {
		t.Error(diff)
	}
}

func TestNoPageShowsAPassword(t *testing.T) {
	noLeaks(t)
	d := lonely(t)
	s := goodStatus()
	s.Targets[0].Socket, s.Targets[0].views = d.Socket, peersView()
	server := serveSite(t, NewServer(always(s), well, nil))
	for _, path := range []string{"/", "/healthz", "/readyz", "/status", "/metrics"} {
		if p := server.get(path); strings.Contains(p.body, "canary") {
			t.Errorf("%s shows a password:\n%s", path, p.body)
		}
	}
}

func TestStatusSaysThatABirdDoesNotAnswer(t *testing.T) {
	noLeaks(t)
	d := lonely(t)
	s := goodStatus()
	gone, none := s.Targets[0], s.Targets[0]
	s.Targets[0].Socket = d.Socket
	gone.Name, gone.Socket = "gone", filepath.Join(d.Dir, "nothing.ctl")
	none.Name = "no socket"
	s.Targets = append(s.Targets, gone, none)
	r := serveSite(t, NewServer(always(s), well, nil)).get("/status").report(t)
	if r.Targets[0].Error != "" || r.Targets[0].Running == nil {
		t.Errorf("the one that answers: %+v", r.Targets[0].Answer)
	}
	if e := r.Targets[1].Error; !strings.Contains(e, gone.Socket) || !strings.Contains(e, bird.ErrNotRunning.Error()) {
		t.Errorf("the one that is gone: %q", e)
	}
	if a := r.Targets[2].Answer; a.Error != "" || a.Running != nil {
		t.Errorf("the one without a socket: %+v", a)
	}
}

func TestASilentBirdHoldsNobodyLongerThanTheLimit(t *testing.T) {
	noLeaks(t)
	s := goodStatus()
	s.Targets[0].Socket = silentSocket(t)
	second := s.Targets[0]
	second.Name, second.Socket = "bird6", silentSocket(t)
	s.Targets = append(s.Targets, second)
	server := serveSite(t, NewServer(always(s), well, nil))

	started := time.Now()
	server.get("/metrics").want(t, 200, `birdconfd_bird_answering{target="bird"} 0`, `birdconfd_bird_answering{target="bird6"} 0`)
	if took := time.Since(started); took > metricsLimit+time.Second {
		t.Errorf("/metrics took %s", took)
	}
	started = time.Now()
	r := server.get("/status").report(t)
	if took := time.Since(started); took > statusLimit+time.Second {
		t.Errorf("/status took %s", took)
	}
	for _, target := range r.Targets {
		if !strings.Contains(target.Error, "did not answer within") {
			t.Errorf("%s: %q", target.Name, target.Error)
		}
	}
	started = time.Now()
	server.get("/readyz").want(t, 200)
	if took := time.Since(started); took > time.Second {
		t.Errorf("/readyz took %s, but has nothing to ask", took)
	}
}
