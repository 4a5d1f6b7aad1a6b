package open

import (
	"context"
	"errors"
	"fmt"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
)

// nowhere stands for the Kubernetes API where there is none beside etcd: it only says what is
// missing for want of it.
type nowhere struct {
	store *live.Store
	parts map[string]*live.Part
}

var errNowhere = errors.New("nothing says how to reach the Kubernetes API")

const howToReach = "set KUBECONFIG, or run birdconfd in a pod"

// Run implements live.Feed. There is nothing to do.
func (n *nowhere) Run(ctx context.Context) { <-ctx.Done() }

// Need implements live.Feed.
func (n *nowhere) Need(needs live.Needs) bool {
	wanted := map[string]calico.Problem{}
	if needs.Services {
		wanted["Services"] = calico.Problem{Severity: calico.Warning, Rule: calico.RuleServiceAddress, Hint: howToReach,
			Message: "only whole ranges are announced, no addresses of single Services, as nothing says how to reach the Kubernetes API"}
	}
	for _, name := range needs.Secrets {
		wanted["Secret "+name] = calico.Problem{Severity: calico.Error, Rule: calico.RulePassword, Hint: howToReach,
			Message: fmt.Sprintf("Secret %s cannot be read, as nothing says how to reach the Kubernetes API", name)}
	}
	changed := false
	for name, p := range n.parts {
		if _, still := wanted[name]; !still {
			p.Drop()
			delete(n.parts, name)
			changed = true
		}
	}
	for name, problem := range wanted {
		if n.parts[name] == nil {
			n.parts[name] = n.store.Part(live.PartOptions{Name: name, Optional: true})
			n.parts[name].Lost(errNowhere, problem)
			changed = true
		}
	}
	return changed
}
