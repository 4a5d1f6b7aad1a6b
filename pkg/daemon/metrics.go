package daemon

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/recovery"
)

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// metrics are all of the daemon's own. None has a label with a value for each peer or each
// configuration. docs/status.md explains them.
var metrics = []struct {
	name   string
	kind   prometheus.ValueType
	help   string
	labels []string
}{
	{"build_info", gauge, "Always 1; the labels tell which birdconfd this is.", []string{"version", "goversion"}},

	{"source_connected", gauge, "Whether the source of resources can be read and watched now.", nil},
	{"source_synced", gauge, "Whether the source has been read completely at least once.", nil},
	{"source_sync_age_seconds", gauge, "Time since it was last certain that the resources in use are the newest.", nil},
	{"source_reads_total", counter, "How often the source was read completely.", nil},
	{"source_reconnects_total", counter, "Connections to the source that were made anew.", nil},
	{"source_revision", gauge, "The newest revision of the data that is known, in the server's count.", nil},
	{"source_part_connected", gauge, "Whether one of the source's lists can be read and watched now.", []string{"part"}},
	{"source_part_synced", gauge, "Whether one of the source's lists has been read at least once.", []string{"part"}},
	{"source_part_objects", gauge, "Objects of one of the source's lists that are in use.", []string{"part"}},

	{"config_last_load_successful", gauge, "Whether what was loaded last of conf.d and templates is in use.", nil},
	{"config_last_load_timestamp_seconds", gauge, "When what is in use of conf.d and templates was loaded.", nil},
	{"config_loads_total", counter, "How often conf.d and templates were loaded, with or without success.", nil},
	{"config_load_failures_total", counter, "How often conf.d and templates did not load.", nil},

	{"renders_total", counter, "How often the files of all targets were rendered.", nil},
	{"problems", gauge, "Problems of resources, templates and targets there are now.", []string{"severity"}},

	{"target_info", gauge, "Always 1; the labels tell what the target is.", []string{"target", "family", "directory", "socket"}},
	{"target_applied", gauge, "Whether BIRD took the newest configuration.", []string{"target"}},
	{"target_pending_seconds", gauge, "Time for which the newest configuration has not been applied; 0 when it is.", []string{"target"}},
	{"target_held", gauge, "Whether the newest configuration is held back, since it would take most sessions away.", []string{"target"}},
	{"target_withheld", gauge, "Whether there is nothing to apply, because of a problem.", []string{"target"}},
	{"target_failures", gauge, "Attempts to apply that failed since the last that did not.", []string{"target"}},
	{"target_last_apply_success", gauge, "Whether the last attempt to apply succeeded.", []string{"target"}},
	{"target_last_apply_timestamp_seconds", gauge, "When the last attempt to apply was made.", []string{"target"}},
	{"target_last_apply_duration_seconds", gauge, "How long the last attempt to apply took.", []string{"target"}},
	{"target_applies_total", counter, "Attempts to apply, by what became of them.", []string{"target", "outcome"}},
	{"target_reloads_total", counter, "Reloads, by their result.", []string{"target", "result"}},

	{"target_deferred", gauge, "Sessions whose change waits until BIRD has recovered from its start.", []string{"target"}},
	{"recovery_releases_total", counter, "Peers that a recovery was made to wait for no longer, by the reason.", []string{"target", "reason"}},

	{"bird_up", gauge, "Whether BIRD runs.", []string{"target"}},
	{"bird_starts_total", counter, "How often BIRD was seen to come up.", []string{"target"}},
	{"bird_answering", gauge, "Whether BIRD answered when it was asked for its sessions.", []string{"target"}},
	{"bird_sessions", gauge, "BGP sessions that BIRD has, by their state.", []string{"target", "state"}},
	{"bird_sessions_without_graceful_restart", gauge, "BGP sessions that have graceful restart turned off.", []string{"target"}},
	{"bird_graceful_restart_in_progress", gauge, "Whether BIRD holds routes back after a start.", []string{"target"}},
	{"bird_graceful_restart_seconds_left", gauge, "Time after which BIRD holds routes back no longer; 0 when it does not.", []string{"target"}},
}

// Values of labels that are there from the beginning, so that the first of each counts.
var (
	outcomes      = []apply.Outcome{apply.Unchanged, apply.Applied, apply.Placed, apply.RolledBack, apply.Rejected}
	releases      = []recovery.Reason{recovery.NodeNotReady, recovery.WaitLowered, recovery.Unreachable}
	reloadResults = []string{"ok", "unconfirmed", "refused", "unreachable", "unknown"}
)

// otherState counts sessions of which BIRD says nothing that is known.
const otherState = "Other"

// registry holds the metrics of the daemon and of its process.
func registry(status func() *Status, ask asker) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newCollector(status, ask))
	return r
}

// collector makes metrics of the newest Status, and of what BIRD says.
type collector struct {
	status func() *Status
	ask    asker
	descs  map[string]*prometheus.Desc
	kinds  map[string]prometheus.ValueType
}

func newCollector(status func() *Status, ask asker) *collector {
	c := &collector{status, ask, map[string]*prometheus.Desc{}, map[string]prometheus.ValueType{}}
	for _, m := range metrics {
		c.descs[m.name] = prometheus.NewDesc("birdconfd_"+m.name, m.help, m.labels, nil)
		c.kinds[m.name] = m.kind
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// sample sends one value.
type sample func(name string, value float64, labels ...string)

// Collect implements prometheus.Collector. Before there is a Status there are no metrics.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := c.status()
	if s == nil {
		return
	}
	send := func(name string, value float64, labels ...string) {
		for i := range labels {
			labels[i] = strings.ToValidUTF8(labels[i], "\uFFFD")
		}
		ch <- prometheus.MustNewConstMetric(c.descs[name], c.kinds[name], value, labels...)
	}
	now := time.Now()
	collectDaemon(s, now, send)
	answers := askAll(context.Background(), s.Targets, c.ask)
	for i := range s.Targets {
		t := &s.Targets[i]
		collectTarget(t, now, send)
		if t.Socket != "" {
			collectAnswer(t.Name, answers[i], send)
		}
	}
}

func collectDaemon(s *Status, now time.Time, send sample) {
	send("build_info", 1, s.Version, runtime.Version())

	send("source_connected", truth(s.Source.Connected))
	send("source_synced", truth(s.Source.Synced))
	if !s.Source.SyncedAt.IsZero() {
		send("source_sync_age_seconds", age(s.Source.SyncedAt, now))
	}
	send("source_reads_total", float64(s.Source.Reads))
	send("source_reconnects_total", float64(s.Source.Reconnects))
	if n, err := strconv.ParseFloat(s.Source.Revision, 64); err == nil {
		send("source_revision", n)
	}
	for _, p := range s.Source.Parts {
		send("source_part_connected", truth(p.Connected), p.Name)
		send("source_part_synced", truth(p.Synced), p.Name)
		send("source_part_objects", float64(p.Objects), p.Name)
	}

	send("config_last_load_successful", truth(s.Config.OK))
	if !s.Config.LoadedAt.IsZero() {
		send("config_last_load_timestamp_seconds", stamp(s.Config.LoadedAt))
	}
	send("config_loads_total", float64(s.Config.Loads))
	send("config_load_failures_total", float64(s.Config.Failures))

	send("renders_total", float64(s.Renders))
	counts := map[calico.Severity]int{}
	for _, p := range s.Problems {
		counts[p.Severity]++
	}
	for _, severity := range []calico.Severity{calico.Info, calico.Warning, calico.Error} {
		send("problems", float64(counts[severity]), severity.String())
	}
}

func collectTarget(t *TargetStatus, now time.Time, send sample) {
	send("target_info", 1, t.Name, t.Family, t.Directory, t.Socket)
	send("target_applied", truth(t.Desired != "" && t.Desired == t.Applied), t.Name)
	send("target_pending_seconds", age(t.PendingSince, now), t.Name)
	send("target_held", truth(t.Held != nil), t.Name)
	send("target_withheld", truth(t.Withheld), t.Name)
	send("target_failures", float64(t.Failures), t.Name)
	if t.Last != nil {
		send("target_last_apply_success", truth(t.Last.Error == ""), t.Name)
		send("target_last_apply_timestamp_seconds", stamp(t.Last.At), t.Name)
		send("target_last_apply_duration_seconds", t.Last.Duration.Seconds(), t.Name)
	}
	for _, outcome := range known(outcomes, t.Outcomes) {
		send("target_applies_total", float64(t.Outcomes[outcome]), t.Name, string(outcome))
	}
	for _, result := range known(reloadResults, t.Reloads) {
		send("target_reloads_total", float64(t.Reloads[result]), t.Name, result)
	}
	if g := t.GracefulRestart; g != nil {
		send("target_deferred", float64(len(g.Deferred)), t.Name)
		send("bird_sessions_without_graceful_restart", float64(len(g.Without)), t.Name)
		for _, reason := range known(releases, g.Released) {
			send("recovery_releases_total", float64(g.Released[reason]), t.Name, string(reason))
		}
	}
	if t.BIRD.Watched {
		send("bird_up", truth(t.BIRD.Up), t.Name)
		send("bird_starts_total", float64(t.BIRD.Starts), t.Name)
	}
}

func collectAnswer(target string, a Answer, send sample) {
	send("bird_answering", truth(a.Error == ""), target)
	if a.Error != "" {
		return
	}
	counts := map[string]int{}
	for _, s := range a.Sessions {
		if s.BGPState == "" {
			s.BGPState = otherState
		}
		counts[s.BGPState]++
	}
	for _, state := range append(slices.Clone(bgpStates), otherState) {
		send("bird_sessions", float64(counts[state]), target, state)
	}
	if a.Recovery == nil {
		return
	}
	send("bird_graceful_restart_in_progress", truth(a.Recovery.InProgress), target)
	switch {
	case !a.Recovery.InProgress:
		send("bird_graceful_restart_seconds_left", 0, target)
	case a.Recovery.SecondsLeft != nil:
		send("bird_graceful_restart_seconds_left", *a.Recovery.SecondsLeft, target)
	}
}

// known returns the keys of a map, those of the list first and in any case.
func known[K ~string](list []K, counts map[K]uint64) []K {
	out := slices.Clone(list)
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		if !slices.Contains(list, k) {
			out = append(out, k)
		}
	}
	return out
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func stamp(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// age is how long ago something was, 0 for what was not.
func age(t time.Time, now time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, now.Sub(t).Seconds())
}
