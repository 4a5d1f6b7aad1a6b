// Package open makes a source of what settings say: the datastore itself, and beside etcd
// the Kubernetes API for Services and passwords, which never are in etcd.
//
// It connects to nothing: that is done when the source runs, and shows in its status.
package open

import (
	"fmt"
	"log/slog"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/datastore/etcd"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
	"github.com/birdconfd/birdconfd/pkg/datastore/kube"
	"github.com/birdconfd/birdconfd/pkg/datastore/settings"
)

// Options say what to open, and for whom.
type Options struct {
	Settings *settings.Settings
	// Node is the name of the node in the datastore.
	Node string
	// SecretNamespace is where Secrets with passwords are.
	SecretNamespace string
	// Wants tells from what is known whether Services matter, and which Secrets do.
	Wants func(*calico.Cluster) (services bool, secrets []string)
	// Workloads reads the workloads of this node; nil when there are none.
	Workloads datastore.Source
	// Version is that of this program, for the server's log.
	Version string
	Logger  *slog.Logger
}

// Source makes the source. The error says which of the settings makes no sense.
func Source(o Options) (datastore.Source, error) {
	store := live.NewStore(o.Settings.Type, o.Logger)
	s := &live.Source{Store: store, Workloads: o.Workloads, Needs: func(c *calico.Cluster) live.Needs {
		services, secrets := o.Wants(c)
		return live.Needs{Services: services, Secrets: secrets}
	}}
	if o.Settings.Type == settings.TypeEtcd {
		s.Feeds = append(s.Feeds, etcd.NewFeed(store, etcd.Options{Connection: connection(&o.Settings.Etcd), Node: o.Node,
			UsePodCIDR: o.Settings.UsePodCIDR, Logger: o.Logger}))
		if !o.Settings.Kubernetes.Available {
			s.Feeds = append(s.Feeds, &nowhere{store: store, parts: map[string]*live.Part{}})
			return s, nil
		}
	}
	feed, err := kubernetes(o, store)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	s.Feeds = append(s.Feeds, feed)
	return s, nil
}

// connection is how etcd is reached.
func connection(e *settings.Etcd) etcd.Connection {
	return etcd.Connection{Endpoints: e.Endpoints, DiscoverySRV: e.DiscoverySRV, Username: e.Username, Password: e.Password.Reveal(),
		CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile, CA: e.CA.Reveal(), Cert: e.Cert.Reveal(), Key: e.Key.Reveal(),
		MinVersion: e.TLSMinVersion, CipherSuites: e.CipherSuites}
}

// kubernetes makes the feed of Services and Secrets, and of Calico's resources and nodes too
// where those are in Kubernetes.
func kubernetes(o Options, store *live.Store) (live.Feed, error) {
	k := &o.Settings.Kubernetes
	config, err := kube.RESTConfig(kube.Access{Kubeconfig: k.Kubeconfig, KubeconfigInline: k.KubeconfigInline.Reveal(),
		APIEndpoint: k.APIEndpoint, CertFile: k.CertFile, KeyFile: k.KeyFile, CAFile: k.CAFile, Context: k.Context,
		Token: k.Token.Reveal(), InsecureSkipTLSVerify: k.InsecureSkipTLSVerify, QPS: k.QPS, Burst: k.Burst, InCluster: k.InCluster,
		UserAgent: "birdconfd/" + o.Version})
	if err != nil {
		return nil, err
	}
	return kube.NewFeed(store, kube.Options{Config: config, Node: o.Node, Calico: o.Settings.Type == settings.TypeKubernetes,
		Group: o.Settings.APIGroup, UsePodCIDR: o.Settings.UsePodCIDR, SecretNamespace: o.SecretNamespace, Logger: o.Logger})
}
