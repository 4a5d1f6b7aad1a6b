package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/daemon"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/recovery"
)

// reporting is where a birdconfd says this.
func reporting(t *testing.T, r daemon.Report) string {
	t.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return answering(t, http.StatusOK, string(body))
}

// answering is where this is answered to /status, and nothing to anything else.
func answering(t *testing.T, code int, body string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// reportTime is when goodReport is printed.
var reportTime = time.Date(2026, 12, 1, 8, 1, 14, 0, time.UTC)

func printed(r daemon.Report) string {
	var b bytes.Buffer
	printReport(&b, &r, reportTime)
	return b.String()
}

// goodReport is that of a daemon that is ready.
func goodReport() daemon.Report {
	now := reportTime
	left := 84.4
	return daemon.Report{
		Readiness: daemon.Readiness{Ready: true, Reasons: []string{}},
		Status: daemon.Status{Node: "worker-1", Version: "v1.0.0", Started: time.Date(2026, 12, 1, 7, 58, 12, 0, time.UTC),
			Source: datastore.Status{Kind: "file", Connected: true, Synced: true, SyncedAt: now.Add(-2 * time.Second)}},
		Problems: []calico.Problem{},
		Targets: []daemon.TargetReport{{
			TargetStatus: daemon.TargetStatus{Name: "bird", Family: "IPv4", Socket: "/run/bird.ctl", Desired: "5a0d3bd1c0f2e44a", Applied: "5a0d3bd1c0f2e44a",
				AppliedAt: now.Add(-3 * time.Minute), BIRD: daemon.BIRDStatus{Watched: true, Up: true},
				GracefulRestart: &daemon.GracefulRestart{Condition: recovery.Recovering, Without: []string{"Mesh_192_0_2_3"},
					Skipped:   []recovery.Skipped{{Name: "Mesh_192_0_2_3", Node: "worker-3", Why: "its node worker-3 was not ready when BIRD started"}},
					NextStart: []daemon.NextStart{{Statement: "graceful restart wait", Running: "120", Configured: "10"}}},
				Last: &daemon.Attempt{At: now.Add(-3 * time.Minute), Outcome: apply.Applied, Words: "Reading configuration from /etc/bird/bird.cfg; Reconfigured", Confirmed: true}},
			Answer: daemon.Answer{
				Running:  &daemon.Running{Version: "1.6.8", RouterID: "192.0.2.1", Booted: "2026-12-01 07:58:10"},
				Recovery: &daemon.Recovery{InProgress: true, Waiting: 1, SecondsLeft: &left, HeldBy: []string{"Mesh_192_0_2_2"}},
				Sessions: []daemon.Session{
					{Name: "Global_10_0_0_1", Address: netip.MustParseAddr("10.0.0.1"), ASNumber: 4200000001, State: "start", BGPState: "Active",
						Since: "07:58:11", Info: "Active Socket: No route to host", Origin: "BGPPeer/rack-1 via nodeSelector"},
					{Name: "Mesh_192_0_2_2", Address: netip.MustParseAddr("192.0.2.2"), ASNumber: 64512, State: "up", BGPState: "Established",
						Since: "07:58:14", Info: "Established", Origin: "node-to-node mesh", Node: "worker-2"},
					{Name: "Mesh_192_0_2_3", Address: netip.MustParseAddr("192.0.2.3"), ASNumber: 64512, Origin: "node-to-node mesh",
						Wrong: "not in BIRD's running configuration"},
				},
			},
		}},
	}
}

func TestStatusText(t *testing.T) {
	want := `birdconfd on node worker-1: ready (v1.0.0, since 2026-12-01 07:58:12 UTC)
source: file, connected, newest data certain 2s ago

bird: BIRD 1.6.8, up since 2026-12-01 07:58:10, router ID 192.0.2.1
  graceful restart: routes are held back since then, waiting for Mesh_192_0_2_2 (node worker-2), 84 s left at most
  it does not wait for Mesh_192_0_2_3 (node worker-3): its node worker-3 was not ready when BIRD started
  without graceful restart until BIRD has recovered and they are down: Mesh_192_0_2_3
  graceful restart wait: 10 is configured, which BIRD uses only after its next start; it runs with 120
  configuration: 5a0d3bd1c0f2e44a applied 3m0s ago
  last attempt 3m0s ago: applied; BIRD said: Reading configuration from /etc/bird/bird.cfg; Reconfigured
  NAME             ADDRESS    AS          STATE        SINCE     ORIGIN                           WHAT IS WRONG
  Global_10_0_0_1  10.0.0.1   4200000001  Active       07:58:11  BGPPeer/rack-1 via nodeSelector  Socket: No route to host
  Mesh_192_0_2_2   192.0.2.2  64512       Established  07:58:14  node-to-node mesh
  Mesh_192_0_2_3   192.0.2.3  64512       -            -         node-to-node mesh                not in BIRD's running configuration
`
	if diff := cmp.Diff(want, printed(goodReport())); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(readFile(t, "../../docs/status.md"), want) {
		t.Error("docs/status.md shows something else")
	}
	birdconfd(t, "status", "--url", reporting(t, goodReport())).want(t, exitFine)
}

func TestStatusSaysWhatIsNotWell(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*daemon.Report, *daemon.TargetReport)
		want   []string
	}{
		{"not ready", func(r *daemon.Report, _ *daemon.TargetReport) {
			r.Ready, r.Reasons, r.Notes = false, []string{"bird: BIRD has not been running for 7s"}, []string{"source: lost"}
		}, []string{"birdconfd on node worker-1: not ready", "\n  bird: BIRD has not been running for 7s\n", "\n  note: source: lost\n"}},
		{"BIRD does not answer", func(_ *daemon.Report, t *daemon.TargetReport) {
			t.Answer = daemon.Answer{Error: "BIRD at /run/bird.ctl did not answer within 3s"}
		}, []string{"\nbird: BIRD at /run/bird.ctl did not answer within 3s\n"}},
		{"refused", func(r *daemon.Report, t *daemon.TargetReport) {
			r.Ready, t.Desired, t.PendingSince, t.Failures = false, "b1b2", reportTime.Add(-12*time.Second), 2
			t.Last = &daemon.Attempt{At: reportTime, Outcome: apply.RolledBack, Error: "reload: syntax error", Words: "bird.cfg:3:1 syntax error"}
		}, []string{
			"  configuration: b1b2 desired (pending for 12s), 5a0d3bd1c0f2e44a applied 3m0s ago\n",
			"  last attempt 0s ago: rolled back: reload: syntax error; BIRD said: bird.cfg:3:1 syntax error\n  failed 2 times in a row\n",
		}},
		{"held", func(r *daemon.Report, t *daemon.TargetReport) {
			r.Ready, t.Held = false, &daemon.Held{Until: time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC), Reason: "9 of 10 sessions would go"}
		}, []string{"  held back until 2026-12-01 08:00:00 UTC: 9 of 10 sessions would go\n"}},
		{"withheld", func(r *daemon.Report, t *daemon.TargetReport) { r.Ready, t.Withheld = false, true },
			[]string{"  configuration: nothing to apply, because of a problem; 5a0d3bd1c0f2e44a applied 3m0s ago\n"}},
		{"problems", func(r *daemon.Report, _ *daemon.TargetReport) {
			r.Ready = false
			r.Problems = []calico.Problem{{Severity: calico.Error, Rule: "address", Resource: "BGPPeer/x", Message: "it is none", Hint: "mend it"}}
		}, []string{"\nproblems:\n  error: BGPPeer/x: it is none [address]\n      hint: mend it\n"}},
		{"the source is lost", func(r *daemon.Report, _ *daemon.TargetReport) {
			r.Ready, r.Source.Connected, r.Source.LastError = false, false, "EOF"
		}, []string{"source: file, connection lost, newest data certain 2s ago: EOF\n"}},
		{"a list of the source is lost", func(r *daemon.Report, _ *daemon.TargetReport) {
			r.Ready, r.Source.Kind, r.Source.Connected, r.Source.LastError, r.Source.Revision = false, "kubernetes", false, "Nodes: EOF", "4711"
			r.Source.Parts = []datastore.PartStatus{
				{Name: "BGPPeers", Connected: true, Synced: true, Objects: 3},
				{Name: "Nodes", Synced: true, Objects: 5000, SyncedAt: reportTime.Add(-90 * time.Second), LastError: "EOF"},
				{Name: "Services", LastError: "forbidden"},
				{Name: "IPPools", Connected: true, Synced: true, Objects: 1},
			}
		}, []string{"source: kubernetes, connection lost, newest data certain 2s ago, revision 4711: Nodes: EOF\n" +
			"  watching: BGPPeers 3, IPPools 1\n  Nodes: lost, 5000 in use, certain 1m30s ago: EOF\n  Services: not read yet: forbidden\n"}},
		{"BIRD is down, and somebody will not be waited for", func(_ *daemon.Report, t *daemon.TargetReport) {
			t.Answer, t.BIRD.Up = daemon.Answer{Error: "BIRD at /run/bird.ctl: no daemon listens there"}, false
		}, []string{"  the recovery from the next start will not wait for Mesh_192_0_2_3 (node worker-3): its node"}},
		{"BIRD has recovered", func(r *daemon.Report, t *daemon.TargetReport) { r.Ready, t.Recovery.InProgress = false, false },
			[]string{"  the recovery from the last start did not wait for Mesh_192_0_2_3 (node worker-3): its node"}},
		{"part of it waits for the recovery", func(r *daemon.Report, t *daemon.TargetReport) {
			r.Ready = false
			t.GracefulRestart.Deferred = []string{"Mesh_192_0_2_2"}
		}, []string{"  changed or removed only when BIRD has recovered: Mesh_192_0_2_2\n"}},
		{"all of it waits for the recovery", func(r *daemon.Report, t *daemon.TargetReport) {
			r.Ready = false
			t.GracefulRestart.Deferred, t.GracefulRestart.DeferredAll = []string{"Mesh_192_0_2_2"}, true
		}, []string{"  the newest configuration waits until BIRD has recovered from its start, which waits for Mesh_192_0_2_2\n"}},
		{"many are skipped", func(r *daemon.Report, t *daemon.TargetReport) {
			r.Ready = false
			t.GracefulRestart.Skipped = make([]recovery.Skipped, 25)
		}, []string{"    and 5 more\n"}},
		{"nothing is applied yet", func(r *daemon.Report, t *daemon.TargetReport) {
			r.Ready, t.TargetStatus = false, daemon.TargetStatus{Name: "bird", Desired: "b1b2", Socket: "/run/bird.ctl"}
		}, []string{"  configuration: b1b2 desired, nothing applied\n"}},
		{"nothing has happened yet", func(r *daemon.Report, _ *daemon.TargetReport) { *r = daemon.Report{} },
			[]string{"birdconfd on node -: not ready", "source: not known yet\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report := goodReport()
			tt.change(&report, &report.Targets[0])
			birdconfd(t, "status", "--url", reporting(t, report)).want(t, exitProblems)
			text := printed(report)
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in:\n%s", want, text)
				}
			}
		})
	}
}

func TestStatusIsFineWithoutASocketToAsk(t *testing.T) {
	report := goodReport()
	report.Targets[0].Socket, report.Targets[0].Answer = "", daemon.Answer{}
	r := birdconfd(t, "status", "--url", reporting(t, report))
	r.want(t, exitFine)
	if !strings.Contains(r.stdout, "bird: has no control socket, so that BIRD cannot be asked\n") {
		t.Error(r.stdout)
	}
}

func TestStatusSteersNoTerminal(t *testing.T) {
	report := goodReport()
	report.Node, report.Reasons = "a\x1b[31m", []string{"one\ntwo\r"}
	s := &report.Targets[0].Sessions[0]
	s.Name, s.Origin, s.Info = "a\tb", "x\ny", "Active\x07"
	r := birdconfd(t, "status", "--url", reporting(t, report))
	if strings.ContainsAny(r.stdout, "\x1b\x07\t\r") || !strings.Contains(r.stdout, "a?b") || !strings.Contains(r.stdout, "x?y") {
		t.Errorf("%q", r.stdout)
	}
}

func TestStatusJSONIsTheReport(t *testing.T) {
	want := goodReport()
	want.Problems = []calico.Problem{{Severity: calico.Warning, Rule: "address", Message: "x"}}
	want.Started = want.Started.Round(0)
	r := birdconfd(t, "status", "--format", "json", "--url", reporting(t, want))
	r.want(t, exitFine)
	var got daemon.Report
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	a, b := encode(t, want), encode(t, got)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
}

func encode(t *testing.T, r daemon.Report) string {
	t.Helper()
	out, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// nobody is an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func TestStatusWithoutABirdconfd(t *testing.T) {
	for _, tt := range []struct{ name, url, want string }{
		{"nobody listens", nobody(t), "connection refused; with --socket BIRD itself can be asked"},
		{"something else answers", answering(t, 404, "?"), `is no birdconfd: it says "404 Not Found" to /status`},
		{"no JSON", answering(t, 200, "<html>"), "is no birdconfd: read its status: invalid character"},
		{"endless", answering(t, 200, strings.Repeat(" ", statusSize+1)), "is no birdconfd: its status is larger than 32 MiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := birdconfd(t, "status", "--url", tt.url)
			r.want(t, exitUsage, tt.want)
			if r.stdout != "" || strings.Contains(r.stderr, "--help") {
				t.Errorf("standard output: %s; standard error: %s", r.stdout, r.stderr)
			}
		})
	}
}

func TestStatusDoesNotWaitForASilentBirdconfd(t *testing.T) {
	t.Parallel() // it takes as long as the limit
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(s.Close)
	birdconfd(t, "status", "--url", s.URL).want(t, exitUsage, "no birdconfd answers at "+s.URL+": no answer within 5s; with --socket")
}

func TestStatusUsage(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no URL", []string{"--url", "127.0.0.1:9097"}, "--url: \"127.0.0.1:9097\" is not like http://127.0.0.1:9097 (see birdconfd status --help)"},
		{"another scheme", []string{"--url", "ftp://x"}, "is not like http://"},
		{"no path", []string{"--socket", "bird="}, `--socket: "bird=" names no path`},
		{"a form that is not known", []string{"--format", "xml"}, "it is one of text, json"},
		{"an argument", []string{"x"}, "birdconfd status --help"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			birdconfd(t, append([]string{"status"}, tt.args...)...).want(t, exitUsage, tt.want)
		})
	}
}

func TestStatusURLFromTheEnvironment(t *testing.T) {
	url := reporting(t, goodReport())
	r := call{args: []string{"status"}, env: map[string]string{"BIRDCONFD_URL": url + "/"}}.run(t)
	r.want(t, exitFine)
}

func TestSocketNames(t *testing.T) {
	for _, tt := range []struct{ in, name, path string }{
		{"bird6=/run/x.ctl", "bird6", "/run/x.ctl"},
		{"/run/bird/bird.ctl", "bird", "/run/bird/bird.ctl"},
		{"/run/a=b/bird6.ctl", "bird6", "/run/a=b/bird6.ctl"},
		{"=/run/bird.ctl", "bird", "/run/bird.ctl"},
		{"x=/run/a=b", "x", "/run/a=b"},
	} {
		got, err := parseSocket(tt.in)
		if err != nil || got.Name != tt.name || got.Socket != tt.path {
			t.Errorf("%q: %+v, %v", tt.in, got, err)
		}
	}
}

func TestStatusAsksBirdItself(t *testing.T) {
	d := birdtest.Start(t, birdtest.Bird(t), `router id 192.0.2.1;
listen bgp address 127.0.0.1 port 1;
protocol device { }
protocol bgp Mesh_192_0_2_2 {
	local 127.0.0.1 as 64512;
	neighbor 127.0.0.2 port 1 as 64512;
	multihop;
	passive;
	password "canary-5ecret";
}
`)
	r := birdconfd(t, "status", "--socket", "bird="+d.Socket)
	r.want(t, exitFine)
	for _, want := range []string{"bird: BIRD 1.6.", ", router ID 192.0.2.1\n", "  Mesh_192_0_2_2  -        -   "} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is not in:\n%s", want, r.stdout)
		}
	}

	gone := filepath.Join(d.Dir, "bird6.ctl")
	r = birdconfd(t, "status", "--format", "json", "--socket", d.Socket+","+gone)
	r.want(t, exitProblems)
	var got socketReport
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Targets) != 2 || got.Targets[0].Running == nil || got.Targets[1].Name != "bird6" ||
		!strings.Contains(got.Targets[1].Error, "no daemon listens there") {
		t.Errorf("%s", r.stdout)
	}
}

func TestStatusDoesNotWaitForASilentBird(t *testing.T) {
	t.Parallel() // it takes as long as the limit
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "bird.ctl")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	r := birdconfd(t, "status", "--socket", path)
	r.want(t, exitProblems)
	if want := "bird: BIRD at " + path + " did not answer within 5s\n"; r.stdout != want {
		t.Errorf("%q, want %q", r.stdout, want)
	}
}

// BIRDCONFD_SOCKET is for run, and would make status ask somebody else.
func TestStatusIgnoresTheSocketOfRun(t *testing.T) {
	r := call{args: []string{"status", "--url", reporting(t, goodReport())}, env: map[string]string{"BIRDCONFD_SOCKET": "bird=/nowhere"}}.run(t)
	r.want(t, exitFine)
	if !strings.Contains(r.stdout, "birdconfd on node worker-1: ready") {
		t.Errorf("it says:\n%s", r.stdout)
	}
}
