package daemon

import (
	"context"
	"time"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// Report is what /status gives, as JSON: the Status, whether that is as it should be, and
// what each BIRD daemon says of itself at that moment.
type Report struct {
	Readiness
	Status
	// Problems and Targets take the place of those of the Status.
	Problems []calico.Problem `json:"problems"`
	Targets  []TargetReport   `json:"targets"`
}

// TargetReport is how a target is doing, and what its BIRD says. A target without a socket
// cannot be asked, and has an empty Answer.
type TargetReport struct {
	TargetStatus
	Answer
}

// newReport reports on a status, nil for one that is not there yet.
func newReport(ctx context.Context, s *Status, ask asker) Report {
	r := Report{Readiness: readiness(s, time.Now()), Problems: []calico.Problem{}, Targets: []TargetReport{}}
	if s == nil {
		return r
	}
	r.Status = *s
	r.Problems = append(r.Problems, s.Problems...)
	answers := askAll(ctx, s.Targets, ask)
	for i, t := range s.Targets {
		answer := answers[i]
		if t.Socket != "" {
			answer = answer.explain(t.views)
		}
		r.Targets = append(r.Targets, TargetReport{t, answer})
	}
	return r
}
