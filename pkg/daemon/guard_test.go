package daemon

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
)

// named makes N names, from one number on.
func named(from, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("Mesh_%03d", from+i))
	}
	return out
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name          string
		threshold     int
		before, after []string
		collapsed     bool
	}{
		{"nothing before", 50, nil, nil, false},
		{"the first sessions", 50, nil, named(0, 100), false},
		{"all gone", 50, named(0, 100), nil, true},
		{"the only one gone", 50, named(0, 1), nil, true},
		{"all gone, whatever the threshold", 100, named(0, 3), nil, true},
		{"half gone", 50, named(0, 100), named(0, 50), false},
		{"more than half gone", 50, named(0, 100), named(0, 49), true},
		{"one of two gone", 50, named(0, 2), named(0, 1), false},
		{"two of three gone", 50, named(0, 3), named(0, 1), true},
		{"most gone, few new", 50, named(0, 100), slices.Concat(named(0, 10), named(200, 20)), true},
		{"all replaced by as many others", 50, named(0, 2), named(10, 2), false},
		{"more than one in ten gone", 10, named(0, 100), named(0, 89), true},
		{"one in ten gone", 10, named(0, 100), named(0, 90), false},
		{"a threshold of 0 lets nothing go", 0, named(0, 100), named(0, 99), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (Guard{Threshold: tt.threshold, Hold: time.Second}).judge(tt.before, tt.after); got.collapsed != tt.collapsed {
				t.Errorf("got %+v", got)
			}
			if got := (Guard{Threshold: tt.threshold}).judge(tt.before, tt.after); got.collapsed {
				t.Error("held back although it is turned off")
			}
		})
	}
}

// sessionJob is a set with such sessions.
func sessionJob(names []string) *job {
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "protocol bgp %s from bgp_template {\n}\n", n)
	}
	return &job{files: []apply.File{{Name: "bird.cfg", Data: []byte(b.String())}}}
}

func TestHoldUntilStable(t *testing.T) {
	g := Guard{Threshold: 50, Hold: time.Minute}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var tg target
	for _, step := range []struct {
		at    time.Duration
		names []string
		held  bool
		left  time.Duration
	}{
		{0, named(0, 10), false, 0},
		{1 * time.Second, nil, true, time.Minute},
		{30 * time.Second, nil, true, 31 * time.Second},           // the same answer: the time runs on
		{40 * time.Second, named(0, 2), true, time.Minute},        // another: it starts anew
		{50 * time.Second, named(0, 9), false, 0},                 // recovered
		{60 * time.Second, named(0, 1), true, time.Minute},        // again
		{120 * time.Second, named(0, 1), false, 0},                // believed
		{121 * time.Second, named(0, 1), false, 0},                // and from now on the measure
		{122 * time.Second, nil, true, time.Minute},               // the last one
		{122*time.Second + time.Minute, nil, false, 0},            // a real delete of the last session is possible
		{122*time.Second + 2*time.Minute, named(0, 3), false, 0},  // and so is a new start
		{122*time.Second + 3*time.Minute, named(0, 30), false, 0}, // growing is never held back
	} {
		now := start.Add(step.at)
		if held := tg.hold(g, sessionJob(step.names), now); held != step.held {
			t.Errorf("at %s: held %v, want %v", step.at, held, step.held)
		}
		if !step.held {
			tg.sessions = step.names // now it is in place
		}
		if (tg.held != nil) != step.held {
			t.Fatalf("at %s: %+v", step.at, tg.held)
		}
		if tg.held != nil && tg.held.Until.Sub(now) != step.left {
			t.Errorf("at %s: %s left, want %s", step.at, tg.held.Until.Sub(now), step.left)
		}
	}
}

func TestHeldSaysWhatWouldBeLost(t *testing.T) {
	tg := target{sessions: named(0, 12)}
	tg.hold(Guard{Threshold: 50, Hold: time.Minute}, sessionJob(named(0, 3)), time.Now())
	if want := "the new configuration takes away 9 of 12 BGP sessions, so it is held back until it has stayed so for 1m0s"; tg.held.Reason != want {
		t.Errorf("got %q, want %q", tg.held.Reason, want)
	}
}

func TestMailboxKeepsTheNewest(t *testing.T) {
	m := newMailbox[*job]()
	if _, ok := m.take(); ok {
		t.Error("there is something in a new mailbox")
	}
	m.put(&job{causes: []string{"a"}}, mergeJobs)
	m.put(&job{causes: []string{"b"}, files: []apply.File{{Name: "x"}}}, mergeJobs)
	<-m.C
	j, ok := m.take()
	if !ok || strings.Join(j.causes, " ") != "a b" || len(j.files) != 1 {
		t.Errorf("got %+v", j)
	}
	if _, ok := m.take(); ok || len(m.C) != 0 {
		t.Error("it can be taken twice")
	}
}

func TestBackoffGrowsAndHasALimit(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: firstRetry, 2: 2 * firstRetry, 3: 4 * firstRetry, 7: longestRetry, 1000: longestRetry} {
		if got := backoff(failures); got < want*79/100 || got > want*121/100 {
			t.Errorf("after %d failures %s, want about %s", failures, got, want)
		}
	}
}

func TestCausesAreNotTooMany(t *testing.T) {
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprint(i))
	}
	if got := mergeCauses(many, []string{"1", "x"}); len(got) != 2*maxCauses+1 || got[2*maxCauses] != "and others" {
		t.Errorf("got %q", got)
	}
}

// Losing a part again and again, as when files vanish one by one, is a collapse too.
func TestCollapseInSteps(t *testing.T) {
	g := Guard{Threshold: 50, Hold: time.Minute}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tg := target{sessions: named(0, 100)}
	for _, step := range []struct {
		at   time.Duration
		left int
		held bool
	}{
		{0, 60, false},
		{time.Second, 51, false},
		{2 * time.Second, 40, true},
		{3 * time.Second, 30, true},
		{63 * time.Second, 30, false}, // believed
		{64 * time.Second, 29, false},
		{65 * time.Second, 10, true},
		{66 * time.Second, 26, false},
		{10 * time.Minute, 15, false}, // slowly it is all right
		{20 * time.Minute, 8, false},
	} {
		now := start.Add(step.at)
		names := named(0, step.left)
		if held := tg.hold(g, sessionJob(names), now); held != step.held {
			t.Errorf("at %s: held %v, want %v", step.at, held, step.held)
		}
		if !step.held {
			tg.placed(g, names, now)
		}
	}
}

// A collapse that was let through and then never came about leaves the guard as it was.
func TestGuardAfterACollapseThatNeverCameAbout(t *testing.T) {
	g := Guard{Threshold: 50, Hold: time.Minute}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tg := target{sessions: named(0, 10)}
	tg.hold(g, sessionJob(nil), now)
	now = now.Add(time.Minute)
	for range 2 {
		if tg.hold(g, sessionJob(nil), now) {
			t.Error("it is not let through")
		}
	}
	tg.hold(g, sessionJob(named(0, 10)), now) // it was refused, or a mistake after all
	tg.placed(g, named(0, 10), now)
	if !tg.hold(g, sessionJob(nil), now.Add(24*time.Hour)) {
		t.Error("the guard is off")
	}
}
