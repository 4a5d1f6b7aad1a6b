package recovery

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

func TestMain(m *testing.M) {
	// Most tests wait for BIRD most of the time. What the command line says goes first.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// rows makes sessions of rows of "show protocols".
func rows(rows ...string) []bird.Detail {
	var out []bird.Detail
	for _, row := range rows {
		p, ok := bird.ParseProtocol(row)
		if !ok {
			panic(row)
		}
		out = append(out, bird.Detail{Protocol: p})
	}
	return out
}

const (
	upRow       = "Mesh_192_0_2_9 BGP master up 11:00:00 Established"
	deadRow     = "Mesh_192_0_2_2 BGP master start 11:00:00 Connect Socket: No route to host"
	torRow      = "Global_10_0_0_1 BGP master start 11:00:00 Active"
	disabledRow = "Mesh_192_0_2_3 BGP master down 11:00:00"
	workloadRow = "Local_Workload_198_51_100_7 BGP master start 11:00:00 Passive"
	workloadUp  = "Local_Workload_198_51_100_8 BGP master up 11:00:00 Established"
)

func TestJudge(t *testing.T) {
	ready := func(p *Peers) { p.Peers[0].NotReady = false }
	recovering := bird.Status{Recovery: bird.Recovery{InProgress: true, Waiting: 1, Left: 84600 * time.Millisecond, LeftKnown: true}}
	since := func(d time.Duration) bird.Status { return bird.Status{ServerTime: noon, LastReboot: noon.Add(-d)} }
	held := rows(upRow, deadRow)
	held[0].AwaitsRecovery, held[1].HoldsRecovery = true, true
	late := rows(upRow)
	late[0].HoldsRecovery = true
	after := rows(upRow, "Mesh_192_0_2_8 BGP master wait 11:00:00 Established")
	after[1].AwaitsRecovery = true
	const dead = "Mesh_192_0_2_2 (192.0.2.2): Connect Socket: No route to host; "

	for _, tt := range []struct {
		rule  string
		seen  Seen
		known func(*Peers)
		now   time.Duration // after noon
		rules Rules
		ready bool
		says  string
	}{
		{rule: "all are up", seen: Seen{Sessions: rows(upRow)}, ready: true},
		{rule: "there is no session at all, nor a peer", known: func(p *Peers) { *p = Peers{} }, ready: true},
		{rule: "there is no session, but there are peers",
			says: "BIRD has no BGP sessions, and the resources have 2: it runs another configuration"},
		{rule: "which was long ago", now: DefaultMaxAge + time.Second, ready: true},
		{rule: "only workloads have sessions", seen: Seen{Sessions: rows(workloadRow)}, known: func(p *Peers) { *p = Peers{} }, ready: true},
		{rule: "a workload's session does not count", seen: Seen{Sessions: rows(upRow, workloadRow)}, ready: true},
		{rule: "a node that is NotReady does not count", seen: Seen{Sessions: rows(upRow, deadRow)}, ready: true,
			says: dead + "it does not count: node worker-2 is NotReady"},
		{rule: "a node that is ready counts", seen: Seen{Sessions: rows(upRow, deadRow)}, known: ready,
			says: dead + "it counts: node worker-2 is not known to be NotReady"},
		{rule: "knowledge is good to its last second", seen: Seen{Sessions: rows(upRow, deadRow)}, now: DefaultMaxAge, ready: true,
			says: dead + "it does not count: node worker-2 is NotReady"},
		{rule: "knowledge that is too old", seen: Seen{Sessions: rows(upRow, deadRow)}, now: DefaultMaxAge + time.Second,
			says: dead + "it counts: that node worker-2 is NotReady was certain 10m1s ago, which is too long"},
		{rule: "its limit can be set", seen: Seen{Sessions: rows(upRow, deadRow)}, now: time.Minute, rules: Rules{MaxAge: 30 * time.Second},
			says: dead + "it counts: that node worker-2 is NotReady was certain 1m0s ago, which is too long"},
		{rule: "knowledge of a clock that was wrong", seen: Seen{Sessions: rows(upRow, deadRow)}, now: -time.Hour,
			says: dead + "it counts: that node worker-2 is NotReady was certain -1h0m0s ago, which is too long"},
		{rule: "a peer that is no node counts", seen: Seen{Sessions: rows(upRow, torRow)},
			says: "Global_10_0_0_1 (10.0.0.1): Active; it counts: the peer is no node of the cluster"},
		{rule: "a peer of which nothing is known counts", seen: Seen{Sessions: rows(upRow, torRow)}, known: func(p *Peers) { *p = Peers{} },
			says: "Global_10_0_0_1: Active; it counts: nothing is known about the peer"},
		{rule: "one that BIRD has put down itself counts", seen: Seen{Sessions: rows(upRow, disabledRow+" Error: No listening socket")},
			says: "Mesh_192_0_2_3: Error: No listening socket; it counts: nothing is known about the peer"},
		{rule: "a disabled session does not count", seen: Seen{Sessions: rows(upRow, disabledRow)}, ready: true,
			says: "Mesh_192_0_2_3: down; it does not count: it is disabled in BIRD"},
		{rule: "nobody is reached, although nobody counts", seen: Seen{Sessions: rows(deadRow, disabledRow, workloadUp)},
			says: "BIRD reaches nobody: none of its BGP sessions is up, of 2\n" + dead + "it does not count: node worker-2 is NotReady\n" +
				"Mesh_192_0_2_3: down; it does not count: it is disabled in BIRD"},
		{rule: "those that count come first", seen: Seen{Sessions: rows(deadRow, disabledRow, torRow, upRow)},
			says: "Global_10_0_0_1 (10.0.0.1): Active; it counts: the peer is no node of the cluster\n" + dead + "it does not count: node worker-2 is NotReady\n" +
				"Mesh_192_0_2_3: down; it does not count: it is disabled in BIRD"},

		{rule: "a recovery", seen: Seen{Status: recovering, Sessions: held},
			says: "BIRD has started and holds routes back (graceful restart): it waits for 1, 1m25s longer at most\n" +
				"Mesh_192_0_2_2 (192.0.2.2): Connect Socket: No route to host; the recovery waits for it; it does not count: node worker-2 is NotReady"},
		{rule: "a recovery whose end is not known", seen: Seen{Status: bird.Status{Recovery: bird.Recovery{InProgress: true, Waiting: 2}}, Sessions: rows(upRow)},
			says: "BIRD has started and holds routes back (graceful restart): it waits for 2"},
		{rule: "a peer that has not sent all", seen: Seen{Status: recovering, Sessions: append(rows(torRow), late...)}, known: func(p *Peers) { *p = Peers{} },
			says: "BIRD has started and holds routes back (graceful restart): it waits for 1, 1m25s longer at most\nBIRD reaches nobody: none of its BGP sessions is up, of 2\n" +
				"Global_10_0_0_1: Active; it counts: nothing is known about the peer\n" +
				"Mesh_192_0_2_9: Established, but the peer has not sent all its routes; the recovery waits for it; it counts: nothing is known about the peer"},
		{rule: "a session that announces nothing", seen: Seen{Sessions: after},
			says: "Mesh_192_0_2_8: Established, but nothing is announced yet; it counts: nothing is known about the peer"},
		{rule: "the end of BIRD", seen: Seen{Status: bird.Status{ShuttingDown: true}, Sessions: rows(upRow)}, says: "BIRD is shutting down"},
		{rule: "no answer", seen: Seen{Err: errors.New("bird at /x: no daemon listens there")}, says: "bird at /x: no daemon listens there"},

		{rule: "settled: one that counts is enough", seen: Seen{Status: since(time.Minute), Sessions: rows(upRow, torRow)}, rules: Rules{Settled: time.Minute}, ready: true,
			says: "Global_10_0_0_1 (10.0.0.1): Active; it counts: the peer is no node of the cluster"},
		{rule: "settled: not yet", seen: Seen{Status: since(59 * time.Second), Sessions: rows(upRow, torRow)}, rules: Rules{Settled: time.Minute},
			says: "Global_10_0_0_1 (10.0.0.1): Active; it counts: the peer is no node of the cluster"},
		{rule: "settled: nobody knows since when BIRD runs", seen: Seen{Sessions: rows(upRow, torRow)}, rules: Rules{Settled: time.Minute},
			says: "Global_10_0_0_1 (10.0.0.1): Active; it counts: the peer is no node of the cluster"},
		{rule: "settled: none that counts is up", seen: Seen{Status: since(time.Hour), Sessions: rows("Mesh_192_0_2_2 BGP master up 11:00:00 Established", torRow)}, rules: Rules{Settled: time.Minute},
			says: "Global_10_0_0_1 (10.0.0.1): Active; it counts: the peer is no node of the cluster"},
		{rule: "settled: a recovery is one all the same", seen: Seen{Status: func() bird.Status { s := since(time.Hour); s.Recovery.InProgress = true; return s }(), Sessions: rows(upRow)}, rules: Rules{Settled: time.Minute},
			says: "BIRD has started and holds routes back (graceful restart): it waits for 0"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			known := knownPeers()
			if tt.known != nil {
				tt.known(&known)
			}
			v := Judge(tt.seen, known, noon.Add(tt.now), tt.rules)
			lines := v.Reasons
			for _, m := range v.Missing {
				lines = append(lines, m.String())
			}
			if diff := cmp.Diff(tt.says, strings.Join(lines, "\n")); v.Ready != tt.ready || diff != "" {
				t.Errorf("ready: %v, want %v (-want +got):\n%s", v.Ready, tt.ready, diff)
			}
		})
	}
}

// The verdict is linear in the number of sessions, as there may be thousands.
func BenchmarkJudge(b *testing.B) {
	var seen Seen
	var known Peers
	for i := range 5000 {
		name := fmt.Sprintf("Mesh_10_0_%d_%d", i>>8, i&0xff)
		seen.Sessions = append(seen.Sessions, rows(name+" BGP master start 11:00:00 Connect")...)
		known.Peers = append(known.Peers, KnownPeer{Name: name, Node: name, NotReady: true, Address: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})})
	}
	known.AsOf = noon
	for b.Loop() {
		if v := Judge(seen, known, noon, Rules{}); len(v.Missing) != 5000 {
			b.Fatal(len(v.Missing))
		}
	}
}
