package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/datastore/file"
	"github.com/birdconfd/birdconfd/pkg/datastore/open"
	"github.com/birdconfd/birdconfd/pkg/datastore/settings"
)

// datastoreFile is the value of --datastore for files; the others are those of settings.
const datastoreFile = "file"

// sourceFlags adds the flags that say where resources are read from.
func (o *commonOptions) sourceFlags(cmd *cobra.Command) {
	choose(cmd, &o.datastore, "datastore", "what resources are read from (default: file, or without PATHs what Calico's settings say)",
		datastoreFile, settings.TypeEtcd, settings.TypeKubernetes)
	cmd.Flags().StringVar(&o.calicoConfig, "calico-config", "", "Calico's configuration file, with how to reach etcd or Kubernetes (default: Calico's variables)")
	_ = cmd.MarkFlagFilename("calico-config", "yaml", "yml", "json", "cfg") // fails only for a flag that is not there
}

// fromServer tells whether resources are read from a server: when that is asked for, or when
// there are no paths, and variables say how to reach one. Paths are what stands on the command
// line.
func (o *commonOptions) fromServer(env environment, paths []string) (bool, error) {
	asked := o.calicoConfig != ""
	for _, name := range []string{"DATASTORE_TYPE", "ETCD_ENDPOINTS", "ETCD_DISCOVERY_SRV", "KUBECONFIG", "K8S_API_ENDPOINT"} {
		asked = asked || env.calicoVariable(name) != ""
	}
	switch {
	case o.datastore == datastoreFile || o.datastore == "" && len(paths) > 0:
		if o.calicoConfig != "" {
			return false, errors.New("--calico-config says how to reach a server, and PATHs are files: choose one of the two")
		}
		return false, nil
	case len(paths) > 0:
		return false, fmt.Errorf("PATHs are read with --datastore file, not with --datastore %s", o.datastore)
	}
	return o.datastore != "" || asked, nil
}

// server is how to read from a server.
type server struct {
	settings  *settings.Settings
	namespace string // of Secrets
}

// readServer reads how to reach the server.
func (o *commonOptions) readServer(env environment) (*server, error) {
	s, err := settings.Read(settings.Input{Datastore: o.datastore, ConfigFile: o.calicoConfig, Lookup: env.lookup})
	if err != nil {
		return nil, err
	}
	return &server{settings: s, namespace: settings.SecretNamespace(env.lookup, nil)}, nil
}

// adjust makes the calculation look where the server's settings say.
func (s *server) adjust(c *bgp.Options) {
	c.UsePodCIDR, c.SecretNamespace = s.settings.UsePodCIDR, s.namespace
}

// source makes the source. The options of the calculation are those that it is used with.
func (s *server) source(o *commonOptions, env environment, compute bgp.Options, poll time.Duration, logger *slog.Logger) (datastore.Source, error) {
	dir, must := o.endpointStatusDir(env)
	quiet := dir == ""
	if quiet {
		dir = calicoEndpointStatus
	}
	workloads, err := file.New(file.Options{EndpointStatus: dir, EndpointStatusMust: must, EndpointStatusQuiet: quiet, Poll: poll, Logger: logger})
	if err != nil {
		return nil, err
	}
	return open.Source(open.Options{Settings: s.settings, Node: o.node, SecretNamespace: s.namespace, Workloads: workloads,
		Wants: func(c *calico.Cluster) (bool, []string) {
			w := bgp.WantsOf(c, o.node, compute)
			return w.Services, w.Secrets
		}, Version: version(), Logger: logger})
}

// once reads everything one time. It is false when that is not possible, which the Problems
// then say.
func once(ctx context.Context, source datastore.Source, timeout time.Duration) (datastore.Snapshot, bool) {
	ctx, stop := context.WithTimeout(ctx, timeout)
	first := make(chan datastore.Snapshot, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = source.Run(ctx, func(s datastore.Snapshot) { // it ends with the context only
			select {
			case first <- s:
			default:
			}
		})
	}()
	defer func() { stop(); <-ended }()
	select {
	case s := <-first:
		return s, true
	case <-ctx.Done():
	}
	status := source.Status()
	p := problemOf(calico.Error, calico.RuleUnreadable, fmt.Sprintf("%s could not be read completely within %s", status.Kind, timeout), "")
	if status.LastError != "" {
		p.Message += ": " + status.LastError
	}
	return datastore.Snapshot{Problems: []calico.Problem{p}}, false
}
