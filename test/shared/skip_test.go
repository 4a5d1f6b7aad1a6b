package shared

import (
	"fmt"
	"testing"
)

// probe notes what becomes of a test first: unlike the real ones its methods return.
type probe struct {
	testing.TB
	outcome string
}

func (p *probe) Helper()           {}
func (p *probe) Fatal(args ...any) { p.note("failed: ", args...) }
func (p *probe) Skip(args ...any)  { p.note("skipped: ", args...) }

func (p *probe) note(what string, args ...any) {
	if p.outcome == "" {
		p.outcome = what + fmt.Sprint(args...)
	}
}

func TestNothingIsSkippedInCI(t *testing.T) {
	for ci, want := range map[string]string{
		"true": "failed: in CI nothing is skipped: needs a thing",
		"":     "skipped: needs a thing",
	} {
		t.Setenv("CI", ci)
		p := &probe{TB: t}
		if Skip(p, "needs a %s", "thing"); p.outcome != want {
			t.Errorf("CI=%q: %q, want %q", ci, p.outcome, want)
		}
	}
}
