// Package datastore tests birdconfd with real etcd and Kubernetes API servers, the whole way
// from what is in them to the files of one node.
package datastore

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/datastore/file"
	"github.com/birdconfd/birdconfd/pkg/datastore/open"
	"github.com/birdconfd/birdconfd/pkg/datastore/settings"
	"github.com/birdconfd/birdconfd/test/backend"
)

const deadline = 100 * time.Second

func TestMain(m *testing.M) { os.Exit(backend.Main(m)) }

// reach says which servers a source reads, and for whom.
type reach struct {
	etcd       []string // endpoints; Kubernetes when there are none
	kubeconfig string   // "" for none
	group      string   // of Calico's resources
	node       string
	compute    bgp.Options
	status     string // directory of endpoint status
}

// source makes the source as the commands do.
func (r reach) source(t testing.TB) datastore.Source {
	t.Helper()
	s := &settings.Settings{Type: settings.TypeKubernetes, Etcd: settings.Etcd{Endpoints: r.etcd}, UsePodCIDR: r.compute.UsePodCIDR}
	if len(r.etcd) > 0 {
		s.Type = settings.TypeEtcd
	}
	if r.kubeconfig != "" {
		s.Kubernetes = settings.Kubernetes{Available: true, Kubeconfig: []string{r.kubeconfig}, QPS: -1}
	}
	_, s.APIGroup, _ = strings.Cut(r.group, "/")
	o := open.Options{Settings: s, Node: r.node, SecretNamespace: r.compute.SecretNamespace, Version: "test",
		Wants: func(c *calico.Cluster) (bool, []string) {
			w := bgp.WantsOf(c, r.node, r.compute)
			return w.Services, w.Secrets
		}}
	if r.status != "" {
		workloads, err := file.New(file.Options{EndpointStatus: r.status, Quiet: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		o.Workloads = workloads
	}
	source, err := open.Source(o)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// first is the first snapshot that a source hands over.
func (r reach) first(t testing.TB) datastore.Snapshot {
	t.Helper()
	source := r.source(t)
	enough := errors.New("that was it")
	ctx, cancel := context.WithCancelCause(context.Background())
	timer := time.AfterFunc(deadline, func() { cancel(errors.New("nothing was delivered")) })
	defer timer.Stop()
	var first *datastore.Snapshot
	err := source.Run(ctx, func(s datastore.Snapshot) {
		if first == nil {
			first = &s
		}
		cancel(enough)
	})
	if !errors.Is(err, enough) || first == nil {
		t.Fatalf("%v; status %+v", err, source.Status())
	}
	return *first
}
