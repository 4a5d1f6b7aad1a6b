package bird

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

func TestParseRecovery(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		want  Recovery
	}{
		{"1.6", []string{"Graceful restart recovery in progress", "  Waiting for 1 protocols to recover", "  Wait timer is 2/5"},
			Recovery{true, 1, 2 * time.Second, true, 5 * time.Second}},
		{"2.0", []string{"BIRD 2.0.12", "Router ID is 192.0.2.4", "Graceful restart recovery in progress", "  Waiting for 1 channels to recover", "  Wait timer is 15.277/20", "Daemon is up and running"},
			Recovery{true, 1, 15277 * time.Millisecond, true, 20 * time.Second}},
		{"1.6 with a timer that has overflowed", []string{"Graceful restart recovery in progress", "  Waiting for 2 protocols to recover", "  Wait timer is -5/-1"},
			Recovery{InProgress: true, Waiting: 2}},
		{"none", []string{"BIRD 1.6.8", "Router ID is 192.0.2.4", "Current server time is 2026-11-30 21:38:06", "Daemon is up and running"}, Recovery{}},
		{"a timer that is no number of seconds", []string{"Graceful restart recovery in progress", "  Wait timer is 99999999999999999999/1"}, Recovery{InProgress: true}},
		{"a wait that is no number of seconds", []string{"Graceful restart recovery in progress", "  Wait timer is 1/99999999999999999999"}, Recovery{InProgress: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ParseRecovery(tt.lines); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestProtocolExchanges(t *testing.T) {
	for _, tt := range []struct {
		row       string
		exchanges bool
	}{
		{"Mesh_192_0_2_1 BGP      master   up     20:51:17    Established   ", true},
		{"Mesh_192_0_2_1 BGP        ---        up     20:51:17.123  Established   ", true},
		{"Mesh_192_0_2_1 BGP      master   wait   20:51:17    Established   ", false}, // exports nothing yet
		{"Mesh_192_0_2_2 BGP      master   start  20:51:15    Connect       Socket: No route to host", false},
		{"kernel1  Kernel   master   up     20:51:15  ", false},
	} {
		p, ok := ParseProtocol(tt.row)
		if !ok || p.Exchanges() != tt.exchanges {
			t.Errorf("%q: %+v, %v", tt.row, p, p.Exchanges())
		}
	}
	if p, _ := ParseProtocol("n BGP t start 20:51:15 Connect  Socket: No route to host"); p.Info != "Connect Socket: No route to host" {
		t.Errorf("info is %q", p.Info)
	}
	if _, ok := ParseProtocol("name     proto    table"); ok {
		t.Error("half a row is taken for one")
	}
}

func TestStatus(t *testing.T) {
	for _, kind := range daemonKinds {
		for _, tt := range []struct {
			rule, timeformat string
			dated            bool
		}{
			{"default times", "", true},
			{"iso long", "timeformat base iso long;", true},
			{"the default of old", `timeformat base "%d-%m-%Y %T";`, true},
			{"times without dates", "timeformat base iso short;", false},
		} {
			t.Run(kind.name+"/"+tt.rule, func(t *testing.T) {
				before := time.Now()
				d := birdtest.Start(t, kind.binary(t), tt.timeformat+"\n"+base)
				conn := dial(t, client(d))
				s, err := conn.Status(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if s.Version != conn.Version() || s.RouterID != "10.0.0.1" || s.State != "Daemon is up and running" ||
					s.Reconfiguring || s.ShuttingDown || s.Recovery != (Recovery{}) || s.Booted == "" || s.Configured == "" {
					t.Errorf("%+v", s)
				}
				for name, at := range map[string]time.Time{"server time": s.ServerTime, "reboot": s.LastReboot, "reconfiguration": s.LastReconfiguration} {
					if !tt.dated && !at.IsZero() {
						t.Errorf("%s is %v, which cannot be known", name, at)
					}
					if tt.dated && at.Sub(before).Abs() > time.Minute {
						t.Errorf("%s is %v, long before or after %v", name, at, before)
					}
				}
				configure(t, conn, ConfigureOptions{}, 3)
			})
		}
	}
}

func TestStatusStates(t *testing.T) {
	for state, want := range map[string]Status{
		"Daemon is up and running":    {},
		"Reconfiguration in progress": {Reconfiguring: true},
		"Shutdown in progress":        {ShuttingDown: true},
	} {
		c := fake(t, script(greeting, "1000-BIRD v0.3.3+birdv1.6.8\n0024-Graceful restart recovery in progress\n   Waiting for 1 channels to recover\n   Wait timer is 84.860/100\n0013 "+state+"\n"))
		s, err := dial(t, c).Status(t.Context())
		want.Version, want.State, want.Recovery = Version{1, 6, 8}, state, Recovery{true, 1, 84860 * time.Millisecond, true, 100 * time.Second}
		if err != nil || s != want {
			t.Errorf("got %+v, %v; want %+v", s, err, want)
		}
	}
	c := fake(t, script(greeting, "8007 Access denied\n"))
	_, err := dial(t, c).Status(t.Context())
	if want := "bird at " + c.Socket + ": `show status`: unexpected answer: 8007 Access denied"; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestSameLoad(t *testing.T) {
	read := func(booted, configured string) Status {
		return Status{Booted: booted, LastReboot: parseTime(booted), Configured: configured, LastReconfiguration: parseTime(configured)}
	}
	a := read("2026-11-30 21:00:00", "2026-11-30 22:00:00")
	for _, tt := range []struct {
		rule string
		b    Status
		want bool
	}{
		{"the same texts", a, true},
		{"BIRD 1.6's times jump by a second", read("2026-11-30 21:00:01", "2026-11-30 21:59:59"), true},
		{"a later start", read("2026-11-30 21:00:02", "2026-11-30 22:00:00"), false},
		{"a later configuration", read("2026-11-30 21:00:00", "2026-11-30 22:00:02"), false},
		{"times that cannot be read", read("21:00:00", "22:00:00"), false},
	} {
		if got := a.SameLoad(tt.b); got != tt.want {
			t.Errorf("%s: %v", tt.rule, got)
		}
	}
	if b := read("21:00:00", "22:00:00"); !b.SameLoad(b) {
		t.Error("the same texts without dates are not the same")
	}
}

func TestProtocols(t *testing.T) {
	for _, kind := range daemonKinds {
		for _, timeformat := range []string{"", "timeformat protocol iso long;\n"} {
			t.Run(kind.name+"/"+timeformat, func(t *testing.T) {
				conn := dial(t, client(birdtest.Start(t, kind.binary(t), timeformat+kind.statics("a_name_longer_than_its_column", 1))))
				protocols, err := conn.Protocols(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for i := range protocols {
					protocols[i].Since, protocols[i].Table = "", ""
				}
				want := []Protocol{
					{Name: "device1", Proto: "Device", State: "up"},
					{Name: "a_name_longer_than_its_column", Proto: "Static", State: "up"},
				}
				if diff := cmp.Diff(want, protocols); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}
