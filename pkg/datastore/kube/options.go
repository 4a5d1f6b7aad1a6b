package kube

import (
	"cmp"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"
)

// Options are those of a Feed.
type Options struct {
	// Config says how the API server is reached.
	Config *rest.Config
	// Node is the name of the node whose block affinities are read.
	Node string
	// Calico tells that Calico's resources and Nodes are read, and not only Services and Secrets.
	Calico bool
	// Group is where Calico's resources are: "v1" for crd.projectcalico.org/v1, "v3" for
	// projectcalico.org/v3, "" for the one that the server has.
	Group string
	// UsePodCIDR tells that blocks come from the nodes, so that affinities are not read.
	UsePodCIDR bool
	// SecretNamespace is where Secrets with passwords are.
	SecretNamespace string
	// HoldEmpty is how long a list is not believed to be empty that was not; 30 s when zero.
	HoldEmpty time.Duration
	// Settle is how long the deletion of one of Calico's resources waits until it is clear that
	// it was meant, give or take a half, since all nodes ask the server then; 3 s when zero.
	Settle time.Duration
	// Retry is how long to wait at first before something is tried again; 1 s when zero.
	Retry time.Duration
	// Heartbeat is how often a watch that is open is noted to be; 10 s when zero. Connections
	// are tried out by client-go, so that one which is not is found out within 45 s.
	Heartbeat time.Duration
	Logger    *slog.Logger
}

func (o Options) complete() Options {
	o.HoldEmpty = cmp.Or(o.HoldEmpty, 30*time.Second)
	o.Settle = cmp.Or(o.Settle, 3*time.Second)
	o.Retry = cmp.Or(o.Retry, time.Second)
	o.Heartbeat = cmp.Or(o.Heartbeat, 10*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
