package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// Report is what /status gives, as JSON: the Status, whether that is as it should be, and
// what each BIRD daemon says of itself at that moment.
type Report struct {
	Readiness
	Status
	// Problems and Targets take the place of those of the Status.
	Problems Problems       `json:"problems"`
	Targets  []TargetReport `json:"targets"`
}

// TargetReport is how a target is doing, and what its BIRD says. A target without a socket
// cannot be asked, and has an empty Answer.
type TargetReport struct {
	TargetStatus
	Answer
}

// Problems can be read from JSON as well as written to it.
type Problems []calico.Problem

// UnmarshalJSON implements json.Unmarshaler.
func (p *Problems) UnmarshalJSON(data []byte) error {
	var list []struct {
		calico.Problem
		Severity string `json:"severity"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*p = make(Problems, len(list))
	for i, item := range list {
		severity, ok := severities[item.Severity]
		if !ok {
			return fmt.Errorf("problem %d: %q is no severity", i, item.Severity)
		}
		item.Problem.Severity = severity
		(*p)[i] = item.Problem
	}
	return nil
}

var severities = map[string]calico.Severity{"info": calico.Info, "warning": calico.Warning, "error": calico.Error}

// newReport reports on a status, nil for one that is not there yet.
func newReport(ctx context.Context, s *Status, ask asker) Report {
	r := Report{Readiness: readiness(s, time.Now()), Problems: Problems{}, Targets: []TargetReport{}}
	if s == nil {
		return r
	}
	r.Status = *s
	r.Problems = append(r.Problems, s.Problems...)
	answers := askAll(ctx, s.Targets, ask)
	for i, t := range s.Targets {
		r.Targets = append(r.Targets, TargetReport{t, answers[i].explain(t.view)})
	}
	return r
}
