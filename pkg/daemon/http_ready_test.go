package daemon

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/apply"
)

func TestReadiness(t *testing.T) {
	now := time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	ago := func(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }
	for _, tt := range []struct {
		name    string
		change  func(*Status, *TargetStatus)
		reasons []string
		notes   []string
	}{
		{"all is applied", func(*Status, *TargetStatus) {}, nil, nil},
		{"the source is not read yet", func(s *Status, t *TargetStatus) {
			s.Source.Kind, s.Source.Synced, s.Source.Connected, s.Source.LastError = "etcd", false, false, "connection refused"
			t.Desired, t.Applied, t.AppliedAt = "", "", time.Time{}
		}, []string{
			"source: etcd has not been read completely yet: connection refused",
			"bird: nothing has been rendered yet; nothing was applied before",
		}, nil},
		{"a part of the source that the rest can do without is lost", func(s *Status, _ *TargetStatus) {
			s.Source.Kind, s.Source.LastError = "kubernetes", "Services: forbidden"
		}, nil, []string{"source: a part of kubernetes cannot be read now: Services: forbidden"}},
		{"the source is not read yet, but files of an earlier run are there", func(s *Status, t *TargetStatus) {
			s.Source.Kind, s.Source.Synced, s.Source.Connected = "etcd", false, false
			t.Desired, t.AppliedAt = "", ago(3600)
		}, []string{
			"source: etcd has not been read completely yet",
			"bird: nothing has been rendered yet; what was applied at 2026-12-01T07:00:00Z stays",
		}, []string{"bird: serving what was applied at 2026-12-01T07:00:00Z"}},
		{"the connection to the source is lost: stays ready", func(s *Status, _ *TargetStatus) {
			s.Source.Kind, s.Source.Connected, s.Source.SyncedAt, s.Source.LastError = "kubernetes", false, ago(60), "EOF"
		}, nil, []string{"source: kubernetes cannot be read now, at least in part; what was read before, certain at 2026-12-01T07:59:00Z, stays in use: EOF"}},
		{"the configuration never loaded", func(s *Status, _ *TargetStatus) {
			s.Config = ConfigStatus{Loads: 1, Failures: 1}
		}, []string{"config: conf.d and the templates have never loaded; the problems say why"}, nil},
		{"the configuration does not load any more: stays ready", func(s *Status, _ *TargetStatus) {
			s.Config.OK, s.Config.LoadedAt = false, ago(60)
		}, nil, []string{"config: conf.d and the templates do not load any more; those of 2026-12-01T07:59:00Z stay in use, and the problems say why"}},
		{"BIRD refused the newest", func(_ *Status, t *TargetStatus) {
			t.Desired, t.PendingSince, t.RetryAt = "bb22", ago(12), now.Add(3*time.Second)
			t.Last = &Attempt{At: ago(2), Outcome: apply.RolledBack, Error: "reload: BIRD refused it: bird.cfg:3:1\nsyntax error"}
		}, []string{"bird: the newest configuration has not been applied for 12s: reload: BIRD refused it: bird.cfg:3:1 syntax error; the next attempt is in 3s"}, nil},
		{"the newest is being tried", func(_ *Status, t *TargetStatus) {
			t.Desired, t.Applied, t.PendingSince = "bb22", "", ago(0)
		}, []string{"bird: the newest configuration has not been applied for 0s: it is being tried for the first time"}, nil},
		{"applied, but not confirmed since BIRD came back", func(_ *Status, t *TargetStatus) {
			t.PendingSince, t.Last = ago(1), &Attempt{Outcome: apply.Placed, Error: "reload: no daemon listens there"}
		}, []string{"bird: the newest configuration has not been applied for 1s: reload: no daemon listens there"}, nil},
		{"held back", func(_ *Status, t *TargetStatus) {
			t.Desired, t.PendingSince = "bb22", ago(5)
			t.Held = &Held{Since: ago(5), Until: now.Add(55 * time.Second), Lost: 9, Before: 10, Reason: "9 of 10 sessions would go"}
		}, []string{"bird: the newest configuration has been held back for 5s, until 2026-12-01T08:00:55Z if it stays the same: 9 of 10 sessions would go"}, nil},
		{"withheld", func(_ *Status, t *TargetStatus) {
			t.Withheld, t.AppliedAt = true, ago(60)
		}, []string{"bird: there is nothing to apply, because of a problem; what was applied at 2026-12-01T07:59:00Z stays"}, nil},
		{"BIRD is down", func(_ *Status, t *TargetStatus) {
			t.Socket, t.BIRD = "/run/bird.ctl", BIRDStatus{Watched: true, Since: ago(7)}
		}, []string{"bird: BIRD has not been running for 7s: nothing answers at /run/bird.ctl"}, nil},
		{"BIRD is up", func(_ *Status, t *TargetStatus) { t.BIRD = BIRDStatus{Watched: true, Up: true} }, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := goodStatus()
			tt.change(s, &s.Targets[0])
			want := Readiness{Ready: len(tt.reasons) == 0, Reasons: append([]string{}, tt.reasons...), Notes: tt.notes}
			if diff := cmp.Diff(want, readiness(s, now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEachTargetHasItsReasons(t *testing.T) {
	s := goodStatus()
	second := s.Targets[0]
	second.Name, second.Desired = "bird6", ""
	s.Targets = append(s.Targets, second)
	r := readiness(s, time.Now())
	if r.Ready || len(r.Reasons) != 1 || r.Reasons[0] != "bird6: nothing has been rendered yet; what was applied at 2026-11-30T12:00:00Z stays" {
		t.Errorf("%+v", r)
	}
}

func TestReadyzHasALineForEachReason(t *testing.T) {
	noLeaks(t)
	s := goodStatus()
	s.Source.Synced = false
	s.Targets[0].Desired = ""
	p := serveSite(t, NewServer(always(s), well, nil)).get("/readyz")
	want := `source: file has not been read completely yet
bird: nothing has been rendered yet; what was applied at 2026-11-30T12:00:00Z stays
bird: serving what was applied at 2026-11-30T12:00:00Z
`
	if p.code != 503 || p.body != want {
		t.Errorf("code %d:\n%s", p.code, cmp.Diff(want, p.body))
	}
}

func TestReadyzStaysReadyWithoutItsSourceAndSaysSo(t *testing.T) {
	noLeaks(t)
	s := goodStatus()
	s.Source.Connected = false
	serveSite(t, NewServer(always(s), well, nil)).get("/readyz").want(t, 200, "ready\nsource: file cannot be read now, at least in part")
}
