package daemon

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/recovery"
)

// fullStatus has a value for each metric, at the time that synctest begins with.
func fullStatus() *Status {
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	s := goodStatus()
	s.Source.SyncedAt, s.Source.Reads, s.Source.Reconnects = at.Add(-3*time.Second), 4, 2
	s.Source.Revision = "4711"
	s.Source.Parts = []datastore.PartStatus{{Name: "BGPPeers", Connected: true, Synced: true, Objects: 12}, {Name: "Secret tor"}}
	s.Config = ConfigStatus{OK: true, LoadedAt: at, Loads: 5, Failures: 1}
	s.Problems = []calico.Problem{{Severity: calico.Error}, {Severity: calico.Warning}, {Severity: calico.Warning}}
	t := &s.Targets[0]
	t.Socket, t.BIRD = "/run/bird.ctl", BIRDStatus{Watched: true, Up: true, Starts: 3}
	t.Desired, t.PendingSince, t.Failures = "bb22", at.Add(-12*time.Second), 2
	t.Held = &Held{}
	t.Last = &Attempt{At: at.Add(-1500 * time.Millisecond), Duration: 250 * time.Millisecond, Outcome: apply.RolledBack, Error: "refused"}
	t.Outcomes = map[apply.Outcome]uint64{apply.Applied: 7, apply.RolledBack: 2}
	t.GracefulRestart = &GracefulRestart{Without: []string{"a"}, Deferred: []string{"b", "c"},
		Released: map[recovery.Reason]uint64{recovery.NodeNotReady: 3}}
	t.Reloads = map[string]uint64{"ok": 7, "refused": 2, "new result": 1}
	return s
}

// recovering answers with two sessions and a recovery.
func recovering(context.Context, string) Answer {
	left := 84.5
	return Answer{Running: &Running{}, Recovery: &Recovery{InProgress: true, Waiting: 1, SecondsLeft: &left},
		Sessions: []Session{{BGPState: "Established"}, {BGPState: "Established"}, {BGPState: "Active"}, {}}}
}

func TestMetrics(t *testing.T) {
	const want = `
# HELP birdconfd_bird_answering Whether BIRD answered when it was asked for its sessions.
# TYPE birdconfd_bird_answering gauge
birdconfd_bird_answering{target="bird"} 1
# HELP birdconfd_bird_graceful_restart_in_progress Whether BIRD holds routes back after a start.
# TYPE birdconfd_bird_graceful_restart_in_progress gauge
birdconfd_bird_graceful_restart_in_progress{target="bird"} 1
# HELP birdconfd_bird_graceful_restart_seconds_left Time after which BIRD holds routes back no longer; 0 when it does not.
# TYPE birdconfd_bird_graceful_restart_seconds_left gauge
birdconfd_bird_graceful_restart_seconds_left{target="bird"} 84.5
# HELP birdconfd_bird_sessions BGP sessions that BIRD has, by their state.
# TYPE birdconfd_bird_sessions gauge
birdconfd_bird_sessions{state="Active",target="bird"} 1
birdconfd_bird_sessions{state="Close",target="bird"} 0
birdconfd_bird_sessions{state="Connect",target="bird"} 0
birdconfd_bird_sessions{state="Down",target="bird"} 0
birdconfd_bird_sessions{state="Established",target="bird"} 2
birdconfd_bird_sessions{state="Idle",target="bird"} 0
birdconfd_bird_sessions{state="OpenConfirm",target="bird"} 0
birdconfd_bird_sessions{state="OpenSent",target="bird"} 0
birdconfd_bird_sessions{state="Other",target="bird"} 1
birdconfd_bird_sessions{state="Passive",target="bird"} 0
# HELP birdconfd_bird_starts_total How often BIRD was seen to come up.
# TYPE birdconfd_bird_starts_total counter
birdconfd_bird_starts_total{target="bird"} 3
# HELP birdconfd_problems Problems of resources, templates and targets there are now.
# TYPE birdconfd_problems gauge
birdconfd_problems{severity="error"} 1
birdconfd_problems{severity="info"} 0
birdconfd_problems{severity="warning"} 2
# HELP birdconfd_recovery_releases_total Peers that a recovery was made to wait for no longer, by the reason.
# TYPE birdconfd_recovery_releases_total counter
birdconfd_recovery_releases_total{reason="node-not-ready",target="bird"} 3
birdconfd_recovery_releases_total{reason="unreachable",target="bird"} 0
birdconfd_recovery_releases_total{reason="wait-lowered",target="bird"} 0
# HELP birdconfd_source_part_connected Whether one of the source's lists can be read and watched now.
# TYPE birdconfd_source_part_connected gauge
birdconfd_source_part_connected{part="BGPPeers"} 1
birdconfd_source_part_connected{part="Secret tor"} 0
# HELP birdconfd_source_part_objects Objects of one of the source's lists that are in use.
# TYPE birdconfd_source_part_objects gauge
birdconfd_source_part_objects{part="BGPPeers"} 12
birdconfd_source_part_objects{part="Secret tor"} 0
# HELP birdconfd_source_sync_age_seconds Time since it was last certain that the resources in use are the newest.
# TYPE birdconfd_source_sync_age_seconds gauge
birdconfd_source_sync_age_seconds 3
# HELP birdconfd_target_applied Whether BIRD took the newest configuration.
# TYPE birdconfd_target_applied gauge
birdconfd_target_applied{target="bird"} 0
# HELP birdconfd_target_applies_total Attempts to apply, by what became of them.
# TYPE birdconfd_target_applies_total counter
birdconfd_target_applies_total{outcome="applied",target="bird"} 7
birdconfd_target_applies_total{outcome="placed",target="bird"} 0
birdconfd_target_applies_total{outcome="rejected",target="bird"} 0
birdconfd_target_applies_total{outcome="rolled back",target="bird"} 2
birdconfd_target_applies_total{outcome="unchanged",target="bird"} 0
# HELP birdconfd_target_deferred Sessions whose change waits until BIRD has recovered from its start.
# TYPE birdconfd_target_deferred gauge
birdconfd_target_deferred{target="bird"} 2
# HELP birdconfd_target_held Whether the newest configuration is held back, since it would take most sessions away.
# TYPE birdconfd_target_held gauge
birdconfd_target_held{target="bird"} 1
# HELP birdconfd_target_last_apply_duration_seconds How long the last attempt to apply took.
# TYPE birdconfd_target_last_apply_duration_seconds gauge
birdconfd_target_last_apply_duration_seconds{target="bird"} 0.25
# HELP birdconfd_target_last_apply_success Whether the last attempt to apply succeeded.
# TYPE birdconfd_target_last_apply_success gauge
birdconfd_target_last_apply_success{target="bird"} 0
# HELP birdconfd_target_last_apply_timestamp_seconds When the last attempt to apply was made.
# TYPE birdconfd_target_last_apply_timestamp_seconds gauge
birdconfd_target_last_apply_timestamp_seconds{target="bird"} 9.466847985e+08
# HELP birdconfd_target_pending_seconds Time for which the newest configuration has not been applied; 0 when it is.
# TYPE birdconfd_target_pending_seconds gauge
birdconfd_target_pending_seconds{target="bird"} 12
# HELP birdconfd_target_reloads_total Reloads, by their result.
# TYPE birdconfd_target_reloads_total counter
birdconfd_target_reloads_total{result="new result",target="bird"} 1
birdconfd_target_reloads_total{result="ok",target="bird"} 7
birdconfd_target_reloads_total{result="refused",target="bird"} 2
birdconfd_target_reloads_total{result="unconfirmed",target="bird"} 0
birdconfd_target_reloads_total{result="unknown",target="bird"} 0
birdconfd_target_reloads_total{result="unreachable",target="bird"} 0
`
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(want, -1) {
		names = append(names, m[1])
	}
	synctest.Test(t, func(t *testing.T) { // for its clock
		c := newCollector(always(fullStatus()), recovering)
		if err := testutil.CollectAndCompare(c, strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
	})
}

func TestMetricsFollowTheConventions(t *testing.T) {
	problems, err := testutil.CollectAndLint(newCollector(always(fullStatus()), recovering))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestAppliedIsOneWhenBirdTookTheNewest(t *testing.T) {
	s := fullStatus()
	s.Targets[0].Applied, s.Targets[0].Held, s.Targets[0].PendingSince = "bb22", nil, time.Time{}
	want := `
# HELP birdconfd_target_applied Whether BIRD took the newest configuration.
# TYPE birdconfd_target_applied gauge
birdconfd_target_applied{target="bird"} 1
# HELP birdconfd_target_pending_seconds Time for which the newest configuration has not been applied; 0 when it is.
# TYPE birdconfd_target_pending_seconds gauge
birdconfd_target_pending_seconds{target="bird"} 0
`
	c := newCollector(always(s), recovering)
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), "birdconfd_target_applied", "birdconfd_target_pending_seconds"); err != nil {
		t.Error(err)
	}
}

func TestABirdThatDoesNotAnswerHasNoSessions(t *testing.T) {
	c := newCollector(always(fullStatus()), func(context.Context, string) Answer { return Answer{Error: "silence"} })
	if n := testutil.CollectAndCount(c, "birdconfd_bird_sessions", "birdconfd_bird_graceful_restart_in_progress"); n != 0 {
		t.Errorf("%d metrics say what nobody knows", n)
	}
	if n := testutil.CollectAndCount(c, "birdconfd_bird_answering"); n != 1 {
		t.Error("nothing tells that it does not answer")
	}
}

func TestATargetThatCannotBeAskedHasNoBird(t *testing.T) {
	c := newCollector(always(goodStatus()), func(context.Context, string) Answer { t.Error("it is asked"); return Answer{} })
	if n := testutil.CollectAndCount(c, "birdconfd_bird_up", "birdconfd_bird_starts_total", "birdconfd_bird_answering"); n != 0 {
		t.Errorf("%d metrics say what nobody knows", n)
	}
}

func TestScrapingDoesNotHammerBird(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var questions atomic.Int32
		ask := remember(metricsAge, within(metricsLimit, share(t.Context(), statusLimit, func(context.Context, string) Answer {
			questions.Add(1)
			<-time.After(time.Second) // on the clock of the bubble
			return Answer{}
		})))
		c := newCollector(always(fullStatus()), ask)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { testutil.CollectAndCount(c) })
		}
		all.Wait()
		testutil.CollectAndCount(c)
		if n := questions.Load(); n != 1 {
			t.Errorf("BIRD was asked %d times", n)
		}
	})
}

// manual reads the table of metrics of docs/status.md: name to type and labels.
func manual(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "status.md"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(birdconfd_\\w+)` \\| (\\w+) \\|([^|]*)\\|").FindAllStringSubmatch(string(text), -1) {
		if _, twice := out[m[1]]; twice {
			t.Errorf("%s is there twice", m[1])
		}
		labels := strings.FieldsFunc(m[3], func(r rune) bool { return strings.ContainsRune("` ,", r) })
		slices.Sort(labels)
		out[m[1]] = m[2] + " " + strings.Join(labels, ",")
	}
	return out
}

func TestTheManualHasEveryMetric(t *testing.T) {
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(always(fullStatus()), recovering))
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		got[f.GetName()] = strings.ToLower(f.GetType().String()) + " " + strings.Join(labels, ",")
	}
	if len(got) != len(metrics) {
		t.Errorf("%d metrics are defined, but there are %d", len(metrics), len(got))
	}
	if diff := cmp.Diff(manual(t), got); diff != "" {
		t.Errorf("docs/status.md (-) and /metrics (+) differ:\n%s", diff)
	}
}
