package bird

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// restarting starts a daemon with -R: its peer "live" is there, "gone" and "nogr" are not,
// and "shut" is disabled.
func restarting(t *testing.T, version int) (here, peer *birdtest.Daemon) {
	t.Helper()
	a, b := birdtest.NewSpeaker(t, version, "127.0.0.1"), birdtest.NewSpeaker(t, version, "127.0.0.2")
	// Only one side connects, or two connections could get into each other's way.
	peer = b.Start(t, b.Session("back", a, "graceful restart;", "passive;"))
	nobody := func(address string) birdtest.Speaker { return birdtest.Speaker{Address: address, Port: 1} }
	here = a.Start(t, a.Session("live", b, "graceful restart;")+
		a.Session("gone", nobody("127.0.0.7"), "graceful restart;", "passive;")+
		a.Session("'no-gr.1'", nobody("127.0.0.8"), "graceful restart off;")+
		a.Session("shut", nobody("127.0.0.9"), "graceful restart;", "disabled;"), "-R")
	return here, peer
}

// detail asks for one protocol until it is as it should be.
func detail(t *testing.T, conn *Conn, name string, good func(Detail) bool) Detail {
	t.Helper()
	var details []Detail
	until(t, name, func() bool {
		var err error
		if details, err = conn.Details(t.Context(), name); err != nil || len(details) != 1 {
			t.Fatalf("%s: %+v, %v", name, details, err)
		}
		return good(details[0])
	})
	return details[0]
}

func TestDetailsInARecovery(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			here, peer := restarting(t, version)
			conn := dial(t, client(here))
			detail(t, conn, "live", func(d Detail) bool { return d.Established() && !d.HoldsRecovery })
			detail(t, conn, "no-gr.1", func(d Detail) bool { return d.LastError != "" })
			got := map[string]Detail{}
			details, err := conn.Details(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range details {
				if d.Exchanges() {
					t.Errorf("%s exchanges routes while BIRD recovers", d.Name)
				}
				if d.Name == "no-gr.1" && !strings.Contains(d.Info, d.LastError) {
					t.Errorf("the last error is %q, in the row it is %q", d.LastError, d.Info)
				}
				name := d.Name
				d.Protocol, d.LastError = Protocol{}, ""
				if name == "no-gr.1" {
					d.BGPState = "" // depends on the moment
				}
				got[name] = d
			}
			want := map[string]Detail{
				"device1": {},
				"live":    {BGPState: "Established", NeighborAddress: "127.0.0.2", AwaitsRecovery: true},
				"gone":    {BGPState: "Passive", NeighborAddress: "127.0.0.7", HoldsRecovery: true},
				"no-gr.1": {NeighborAddress: "127.0.0.8"},
				"shut":    {BGPState: "Down", NeighborAddress: "127.0.0.9"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}

			// A peer keeps the routes of a daemon that is gone and comes back, until that has
			// sent its own again, which it does not before the end of its recovery.
			here.Kill()
			back := dial(t, client(peer))
			detail(t, back, "back", func(d Detail) bool { return d.RestartingPeer && !d.Established() })
			here.Restart()
			detail(t, back, "back", func(d Detail) bool { return d.RestartingPeer && d.Established() })
		})
	}
}

func TestDetailsOfNames(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			here, _ := restarting(t, version)
			conn := dial(t, client(here))
			details, err := conn.Details(t.Context(), "shut", "nobody_of_this_name", "as", "9x", strings.Repeat("x", 64), "no-gr.1")
			names := []string{}
			for _, d := range details {
				names = append(names, d.Name)
			}
			if err != nil || !slices.Equal(names, []string{"shut", "no-gr.1"}) {
				t.Errorf("%v, %v", names, err)
			}
		})
	}
}

func TestRestart(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			here, _ := restarting(t, version)
			conn := dial(t, client(here))
			for name, want := range map[string]bool{"gone": true, "no-gr.1": true, "shut": false, "nobody_of_this_name": false, "as": false} {
				if got, err := conn.Restart(t.Context(), name); err != nil || got != want {
					t.Errorf("%s: %v, %v, want %v", name, got, err, want)
				}
			}
			if n := strings.Count(here.Log(), "Restarting protocol gone"); n != 1 {
				t.Errorf("it was restarted %d times", n)
			}
			// BIRD's words for more than one protocol are no names, nor is a second command.
			for _, name := range []string{"", "all", "ALL", "gone live", "'gone'", `"*"`, "gone\nrestart live", "gone'", "gone;", "-é", strings.Repeat("x", 65)} {
				if restarted, err := conn.Restart(t.Context(), name); err == nil || restarted {
					t.Errorf("%q: %v, no error", name, restarted)
				}
				if details, err := conn.Details(t.Context(), name); err == nil {
					t.Errorf("%q: %v, no error", name, details)
				}
			}
			if strings.Contains(here.Log(), "Restarting protocol live") {
				t.Error("a name has restarted another protocol")
			}
			if reply, err := conn.Ask(t.Context(), "restrict"); err != nil || reply.Code != 16 {
				t.Fatal(reply, err)
			}
			_, err := conn.Restart(t.Context(), "gone")
			if refusal, ok := errors.AsType[*RefusedError](err); !ok || refusal.Code != 8007 {
				t.Errorf("a restricted session restarts: %v", err)
			}
		})
	}
}

// The daemon goes away between two questions.
func TestDetailsOfADaemonThatEnds(t *testing.T) {
	d := birdtest.Start(t, birdtest.Bird(t), base)
	conn := dial(t, client(d))
	d.Kill()
	if details, err := conn.Details(t.Context()); err == nil || details != nil {
		t.Errorf("%v, %v", details, err)
	}
	if details, err := conn.Details(t.Context(), "device1"); err == nil || details != nil {
		t.Errorf("%v, %v", details, err)
	}
}

func TestParseDetails(t *testing.T) {
	text := func(lines ...string) (r Reply) {
		for _, l := range lines {
			code := codeProtocolDetails
			if l[0] != ' ' {
				code = codeProtocolRow
			}
			r.Lines = append(r.Lines, Line{code, l})
		}
		return r
	}
	const row = "p BGP master start 20:51:15 Connect"
	p, _ := ParseProtocol(row)
	for rule, tt := range map[string]struct {
		reply Reply
		want  []Detail
	}{
		"a description is not taken for a state": {text(row, "  Description:    BGP state: Established", "  Message:        GR recovery: pending"), []Detail{{Protocol: p}}},
		"any channel holds":                      {text(row, "  Channel ipv4", "    GR recovery:    pending", "  Channel ipv6", "    GR recovery:   "), []Detail{{Protocol: p, HoldsRecovery: true}}},
		"both at once":                           {text(row, "  GR recovery:    pending waiting"), []Detail{{Protocol: p, HoldsRecovery: true, AwaitsRecovery: true}}},
		"a link-local neighbor":                  {text(row, "  BGP state:          OpenSent", "    Neighbor address: fe80::1%eth0"), []Detail{{Protocol: p, BGPState: "OpenSent", NeighborAddress: "fe80::1%eth0"}}},
		"details of nothing":                     {text("  BGP state:          Established"), nil},
		"details of half a row":                  {text(row, "p BGP", "  BGP state:          Established"), []Detail{{Protocol: p}}},
	} {
		if diff := cmp.Diff(tt.want, parseDetails(tt.reply)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", rule, diff)
		}
	}
}

func TestComingUp(t *testing.T) {
	got := map[string]bool{}
	for _, state := range []string{"Idle", "Connect", "Active", "OpenSent", "OpenConfirm", "Established", "Close", "Passive", "Down", ""} {
		if (Protocol{Proto: "BGP", Info: state + " Socket: Connection refused"}).ComingUp() {
			got[state] = true
		}
	}
	if (Protocol{Proto: "OSPF", Info: "OpenSent"}).ComingUp() {
		got["of another protocol"] = true
	}
	if want := map[string]bool{"OpenSent": true, "OpenConfirm": true}; !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// BenchmarkDetails asks a real BIRD about 5,000 sessions.
func BenchmarkDetails(b *testing.B) {
	var config strings.Builder
	config.WriteString(base + "template bgp mesh { local as 64512; multihop; passive; }\n")
	for i := range 5000 {
		fmt.Fprintf(&config, "protocol bgp Mesh_10_0_%d_%d from mesh { neighbor 10.0.%[1]d.%[2]d as 64512; }\n", i>>8, i&0xff)
	}
	d := birdtest.Start(b, birdtest.Bird(b), config.String())
	conn, err := client(d).Dial(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Ask(b.Context(), "show protocols all")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if n := len(parseDetails(reply)); n != 5001 {
				b.Fatal(n)
			}
		}
	})
	b.Run("ask", func(b *testing.B) {
		for b.Loop() {
			if details, err := conn.Details(b.Context()); err != nil || len(details) != 5001 {
				b.Fatal(len(details), err)
			}
		}
	})
}
