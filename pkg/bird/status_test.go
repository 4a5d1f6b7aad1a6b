package bird

import (
	"testing"
	"time"
)

func TestParseRecovery(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		want  Recovery
	}{
		{"1.6", []string{"Graceful restart recovery in progress", "  Waiting for 1 protocols to recover", "  Wait timer is 2/5"},
			Recovery{true, 1, 2 * time.Second, true}},
		{"2.0", []string{"BIRD 2.0.12", "Router ID is 192.0.2.4", "Graceful restart recovery in progress", "  Waiting for 1 channels to recover", "  Wait timer is 15.277/20", "Daemon is up and running"},
			Recovery{true, 1, 15277 * time.Millisecond, true}},
		{"1.6 with a timer that has overflowed", []string{"Graceful restart recovery in progress", "  Waiting for 2 protocols to recover", "  Wait timer is -5/-1"},
			Recovery{InProgress: true, Waiting: 2}},
		{"none", []string{"BIRD 1.6.8", "Router ID is 192.0.2.4", "Current server time is 2026-11-30 21:38:06", "Daemon is up and running"}, Recovery{}},
		{"a timer that is no number of seconds", []string{"Graceful restart recovery in progress", "  Wait timer is 99999999999999999999/1"}, Recovery{InProgress: true}},
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
