package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
)

// The answer to what a CRD has is large, so it is asked for at most every pruningPause, and
// after a change, which all nodes see at once, at any time within pruningSpread.
const (
	pruningPause  = 10 * time.Minute
	pruningSpread = time.Minute
)

// checkPruning has it looked up soon whether the server drops our fields.
func (f *Feed) checkPruning() {
	select {
	case f.prune <- struct{}{}:
	default:
	}
}

// watchPruning finds out whether the server drops our fields from BGPConfigurations: when they
// have been read, and after each change of one.
func (f *Feed) watchPruning(ctx context.Context, gv groupVersion) {
	configurations := f.calico[0]
	var asked time.Time
	var has bool // as of then
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.prune:
		}
		switch first := asked.IsZero(); {
		case configurations.keeps():
			configurations.part.Note() // as one can see
			continue
		case first || time.Since(asked) > pruningPause:
			if !first && !live.Sleep(ctx, live.Jitter(pruningSpread/2, 1)) {
				return
			}
			now, err := f.clients.hasWait(ctx, gv)
			if err != nil {
				continue // it is asked again after the next change
			}
			asked, has = time.Now(), now
		}
		if has {
			configurations.part.Note()
		} else {
			configurations.part.Note(pruned(gv, configurations.lacking()))
		}
	}
}

// ourField is the field of ours that stands for both.
const ourField = "gracefulRestartWait"

// pruned tells that our fields are dropped: an Info, but a Warning if they were asked for.
func pruned(gv groupVersion, lacking []string) calico.Problem {
	p := calico.Problem{Severity: calico.Info, Rule: calico.RulePruned, Resource: "BGPConfiguration/default",
		Field:   "spec." + ourField,
		Message: fmt.Sprintf("the API server drops this field and gracefulRestartWaitFor from every BGPConfiguration, since bgpconfigurations.%s does not have them", gv.Group),
		Hint: fmt.Sprintf("kubectl patch crd bgpconfigurations.%s --type json --patch-file etc/crd/bgpconfigurations-%s.json, or use the annotations birdconfd/graceful-restart-wait and birdconfd/graceful-restart-wait-for",
			gv.Group, gv.Version)}
	if len(lacking) > 0 {
		p.Severity, p.Resource = calico.Warning, "BGPConfiguration/"+lacking[0]
		p.Message += "; it was asked for in " + strings.Join(lacking, ", ")
	}
	return p
}

// hasWait tells whether the schema of BGPConfigurations has our field.
func (c *clients) hasWait(ctx context.Context, gv groupVersion) (bool, error) {
	var answer struct {
		Components struct {
			Schemas map[string]struct {
				Kinds      json.RawMessage `json:"x-kubernetes-group-version-kind"`
				Properties struct {
					Spec struct {
						Properties map[string]json.RawMessage
						Preserve   bool `json:"x-kubernetes-preserve-unknown-fields"`
					}
				}
			}
		}
	}
	if err := c.get(ctx, "/openapi/v3/apis/"+gv.String(), &answer); err != nil {
		return false, err
	}
	for _, s := range answer.Components.Schemas {
		if strings.Contains(string(s.Kinds), `"BGPConfiguration"`) {
			_, has := s.Properties.Spec.Properties[ourField]
			return has || s.Properties.Spec.Preserve, nil
		}
	}
	return false, fmt.Errorf("the schema of %s has no BGPConfiguration", gv)
}
