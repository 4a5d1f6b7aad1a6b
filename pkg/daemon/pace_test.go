package daemon

import (
	"testing"
	"time"
)

// storm plays changes at the given times and returns when they are acted on, on a clock of
// its own.
func storm(changes []time.Duration) []time.Duration {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := pace{settle: 200 * time.Millisecond, longest: time.Second}
	var acted []time.Duration
	act := func(until time.Time) {
		for {
			due, ok := p.due()
			if !ok || due.After(until) {
				return
			}
			acted = append(acted, due.Sub(start))
			p.act(due)
		}
	}
	for _, c := range changes {
		now := start.Add(c)
		act(now.Add(-1)) // what is due at this very moment sees the change
		p.change(now)
		act(now)
	}
	act(start.Add(time.Hour))
	return acted
}

// every lists a change at each step until the end.
func every(step, end time.Duration) []time.Duration {
	var out []time.Duration
	for at := time.Duration(0); at < end; at += step {
		out = append(out, at)
	}
	return out
}

func TestFirstChangeInAQuietTimeIsAppliedAtOnce(t *testing.T) {
	if got := storm([]time.Duration{0, 5 * time.Second}); len(got) != 2 || got[0] != 0 || got[1] != 5*time.Second {
		t.Errorf("acted at %v", got)
	}
}

// R4: the last change of a storm is not lost, and does not wait longer than it takes to settle.
func TestR4LastChangeOfAStorm(t *testing.T) {
	got := storm([]time.Duration{0, 10 * time.Millisecond, 20 * time.Millisecond})
	if len(got) != 2 || got[0] != 0 || got[1] != 220*time.Millisecond {
		t.Errorf("acted at %v", got)
	}
}

// R9: storms of any pace are applied a bounded number of times.
func TestR9Storms(t *testing.T) {
	for _, tt := range []struct {
		name      string
		step, end time.Duration
		most      int
	}{
		{"500 changes in 2 s", 4 * time.Millisecond, 2 * time.Second, 3},
		{"a change every 100 ms for 60 s", 100 * time.Millisecond, time.Minute, 61},
		{"a change every 190 ms for 60 s", 190 * time.Millisecond, time.Minute, 61},
		{"a change every 250 ms for 10 s, each alone", 250 * time.Millisecond, 10 * time.Second, 40},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changes := every(tt.step, tt.end)
			got := storm(changes)
			if len(got) > tt.most {
				t.Errorf("acted %d times, want at most %d", len(got), tt.most)
			}
			last := changes[len(changes)-1]
			if end := got[len(got)-1]; end < last || end > last+200*time.Millisecond {
				t.Errorf("last change at %s, last acted on at %s", last, end)
			}
		})
	}
}
