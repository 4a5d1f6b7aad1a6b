package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/recovery"
)

// node is a real BIRD with a session that is up, one to nobody, one that is disabled, and
// one to a workload that is not there.
type node struct {
	t          *testing.T
	bird, peer *birdtest.Daemon
	dir        string // of BIRD's files, as far as birdconfd knows
}

func startNode(t *testing.T, version int, flags ...string) *node {
	t.Helper()
	a, b := birdtest.NewSpeaker(t, version, "127.0.0.1"), birdtest.NewSpeaker(t, version, "127.0.0.2")
	nobody := func(address string) birdtest.Speaker { return birdtest.Speaker{Address: address, Port: 1} }
	n := &node{t: t, dir: t.TempDir()}
	// Only one side connects, or two connections could get into each other's way.
	n.peer = b.Start(t, b.Session("Mesh_127_0_0_1", a, "graceful restart;", "passive;"))
	n.bird = a.Start(t, a.Session("Mesh_127_0_0_2", b, "graceful restart;")+
		a.Session("Mesh_127_0_0_7", nobody("127.0.0.7"), "graceful restart;", "passive;")+
		a.Session("Mesh_127_0_0_8", nobody("127.0.0.8"), "disabled;")+
		a.Session("Local_Workload_127_0_0_9", nobody("127.0.0.9"), "graceful restart off;", "passive;"), flags...)
	return n
}

// know keeps what is known of the peers, from some time ago.
func (n *node) know(age time.Duration, peers ...recovery.KnownPeer) {
	n.t.Helper()
	if err := recovery.WritePeers(apply.StatePath(n.dir, "", "bird"), recovery.Peers{AsOf: time.Now().Add(-age), Peers: peers}); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) ready(args ...string) result {
	n.t.Helper()
	return birdconfd(n.t, append([]string{"ready", "--output", n.dir, "--socket", "bird=" + n.bird.Socket}, args...)...)
}

// until asks until the standard error has a text.
func (n *node) until(text string, args ...string) result {
	n.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(30 * time.Second); ; {
		r := n.ready(args...)
		if strings.Contains(r.stdout+r.stderr, text) {
			return r
		}
		select {
		case <-tick.C:
		case <-limit:
			n.t.Fatalf("it never says %q, but %+v", text, r)
		}
	}
}

func node2(notReady bool) recovery.KnownPeer {
	return recovery.KnownPeer{Name: "Mesh_127_0_0_2", Node: "worker-2", NotReady: notReady}
}

func node7(notReady bool) recovery.KnownPeer {
	return recovery.KnownPeer{Name: "Mesh_127_0_0_7", Node: "worker-7", NotReady: notReady}
}

func TestReady(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			n := startNode(t, version)
			const good = "ready: bird has 1 of 3 BGP sessions up, 2 down that do not count\n"

			n.know(0, node2(false), node7(true))
			if r := n.until(good); r != (result{exitFine, good, ""}) {
				t.Errorf("a node that is NotReady: %+v", r)
			}

			n.know(0, node2(false), node7(false))
			want := "bird: Mesh_127_0_0_7: Passive; it counts: node worker-7 is not known to be NotReady\n" +
				"bird: Mesh_127_0_0_8: down; it does not count: it is disabled in BIRD\n"
			if r := n.ready(); r != (result{exitProblems, "", want}) {
				t.Errorf("a node that is ready: %+v", r)
			}
			// BIRD 1.6 tells its time in seconds.
			r := n.until("ready: bird has 1 of 3 BGP sessions up, 1 down that do not count, 1 down that BIRD has run too long to wait for\n", "--settled", "1ms")
			r.want(t, exitFine)
			n.ready("--settled", "1h").want(t, exitProblems)

			n.know(time.Hour, node7(true))
			n.ready().want(t, exitProblems, "it counts: that node worker-7 is NotReady was certain 1h0m0s ago, which is too long")
			n.ready("--readiness-max-age", "2h").want(t, exitFine)

			path := filepath.Join(apply.StatePath(n.dir, "", "bird"), "peers.json")
			writeFile(t, path, `{"asOf":"2026-12-01T12:0`)
			n.ready().want(t, exitProblems, "note: bird: every session counts: read the peers: "+path+" is damaged", "bird: Mesh_127_0_0_7: Passive; it counts: nothing is known about the peer")
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			n.ready().want(t, exitProblems, "note: bird: every session counts: no peers are known yet")
			birdconfd(t, "ready", "--bird", n.bird.Socket).want(t, exitProblems, "note: every session counts, as nothing is known about nodes")

			// Everybody is gone, and known to be.
			n.know(0, node2(true), node7(true))
			n.peer.Kill()
			n.until("bird: BIRD reaches nobody: none of its BGP sessions is up, of 3\n").want(t, exitProblems,
				"it does not count: node worker-2 is NotReady\n", "it does not count: node worker-7 is NotReady\n")

			n.bird.Kill()
			n.ready().want(t, exitProblems, "bird: bird at "+n.bird.Socket+": no daemon listens there")
		})
	}
}

// A BIRD that waits for a peer is not ready, although that does not count and all others
// are up.
func TestNotReadyInARecovery(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			n := startNode(t, version, "-R")
			n.know(0, node2(false), node7(true))
			r := n.until("it waits for 1, ")
			r.want(t, exitProblems, "bird: BIRD has started and holds routes back (graceful restart): it waits for 1, 3m5",
				"bird: Mesh_127_0_0_7: Passive; the recovery waits for it; it does not count: node worker-7 is NotReady\n")
			if strings.Contains(r.stderr, "Mesh_127_0_0_2") || strings.Contains(r.stderr, "Local_Workload") {
				t.Errorf("a session is named that nobody misses:\n%s", r.stderr)
			}
		})
	}
}

func TestReadyWithoutSessions(t *testing.T) {
	for _, binary := range []string{birdtest.Bird(t), birdtest.Bird6(t), birdtest.Bird2(t)} {
		d := birdtest.Start(t, binary, "router id 192.0.2.1;\nprotocol device { }\n")
		r := birdconfd(t, "ready", "--bird", d.Socket, "--bird6", d.Socket)
		if r.want(t, exitFine); r.stdout != "ready: bird has no BGP sessions; bird6 has no BGP sessions\n" {
			t.Errorf("%+v", r)
		}
	}
}

// A BIRD that does not run on says nothing. The others' answers are shown all the same.
func TestReadyDoesNotWaitForASilentBird(t *testing.T) {
	n := startNode(t, 1)
	other := birdtest.Start(t, birdtest.Bird(t), "router id 192.0.2.1;\nprotocol device { }\n")
	if err := syscall.Kill(other.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	n.know(0, node7(true))
	started := time.Now()
	n.ready("--socket", "other="+other.Socket, "--timeout", "300ms").want(t, exitProblems, "other: bird at "+other.Socket, "within 300ms",
		"bird: Mesh_127_0_0_8: down")
	if took := time.Since(started); took < 300*time.Millisecond || took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	if err := syscall.Kill(other.Pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	birdconfd(t, "ready", "--bird", other.Socket).want(t, exitFine)
}

// What answers is no BIRD, or stops in the middle.
func TestReadyOfSomethingElse(t *testing.T) {
	for rule, tt := range map[string]struct{ says, want string }{
		"another program": {"220 mail.example.com ESMTP\n", "bird: bird at %s: a new session: this is not BIRD"},
		"no reply":        {"0001 BIRD 1.6.8 ready.\n\x00\x1b[2Jhello\n", "bird: bird at %s: `show status`: this is not BIRD"},
		"half a reply":    {"0001 BIRD 1.6.8 ready.\n1000-BIRD 1.6.8\n1011-Rou", "bird: bird at %s closed the connection instead of answering `show status`"},
		"another answer":  {"0001 BIRD 1.6.8 ready.\n8007 Access denied\n", "bird: bird at %s: `show status`: unexpected answer: 8007 Access denied"},
	} {
		t.Run(rule, func(t *testing.T) {
			socket := birdtest.Listen(t, func(c net.Conn) {
				defer c.Close()
				_, _ = c.Write([]byte(tt.says))
				_, _ = c.Read(make([]byte, 100)) // or the end would overtake what was said
			}, nil)
			r := birdconfd(t, "ready", "--bird", socket)
			r.want(t, exitProblems, fmt.Sprintf(tt.want, socket))
			if strings.Contains(r.stderr, "\x1b") {
				t.Errorf("a terminal would obey %q", r.stderr)
			}
		})
	}
}

func TestReadyAsJSON(t *testing.T) {
	n := startNode(t, 1)
	n.know(0, node2(false), node7(false))
	n.until("ready: bird has 1 of 3", "--settled", "1ms")
	r := n.ready("--format", "json", "--socket", "gone="+filepath.Join(n.dir, "gone"))
	r.want(t, exitProblems)
	var got readyReport
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || r.stderr != "" {
		t.Fatalf("%v: %+v", err, r)
	}
	if got.Ready || len(got.Targets) != 2 || len(got.Notes) != 0 {
		t.Fatalf("%+v", got)
	}
	bird, gone := got.Targets[0], got.Targets[1]
	if bird.Ready || bird.Sessions != 3 || bird.Up != 1 || len(bird.Missing) != 2 || bird.Missing[0].Node != "worker-7" || !bird.Missing[0].Counts {
		t.Errorf("%+v", bird)
	}
	if gone.Ready || len(gone.Reasons) != 1 || gone.Missing == nil || gone.Name != "gone" {
		t.Errorf("%+v", gone)
	}
}
