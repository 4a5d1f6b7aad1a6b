package datastore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/datastore/file"
	"github.com/birdconfd/birdconfd/pkg/render"
	"github.com/birdconfd/birdconfd/test/backend"
	"github.com/birdconfd/birdconfd/test/fromtext"
	"github.com/birdconfd/birdconfd/test/shared"
)

// step is one state of a cluster, and the node that it is rendered for.
type step struct {
	name, text, status string
	node               string
	env                map[string]string
}

// steps are all steps of all conformance scenarios.
func steps(t *testing.T) []step {
	t.Helper()
	dir := shared.Dir(t, "conformance")
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "scenario.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in %s: %v", dir, err)
	}
	read := func(path string) []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var all []step
	for _, f := range files {
		var s struct {
			Name           string
			Node           string
			Env            map[string]string
			Steps          []string
			EndpointStatus string `yaml:"endpoint_status"`
		}
		if err := yaml.Unmarshal(read(f), &s); err != nil {
			t.Fatal(err)
		}
		for _, name := range s.Steps {
			d := filepath.Join(filepath.Dir(f), name)
			one := step{name: s.Name + "/" + name, node: s.Node, env: s.Env, text: string(read(filepath.Join(d, "input.yaml")))}
			if s.EndpointStatus != "" {
				one.status = filepath.Join(d, s.EndpointStatus)
			}
			all = append(all, one)
		}
	}
	return all
}

func (s step) options() bgp.Options {
	return bgp.Options{RouterID: s.env["CALICO_ROUTER_ID"], AdvertiseClusterIPs: s.env["CALICO_ADVERTISE_CLUSTER_IPS"],
		KubernetesNode: s.env["CALICO_K8S_NODE_REF"], SecretNamespace: "kube-system"}
}

// fromFiles reads a step from its file.
func (s step) fromFiles(t *testing.T) *fromtext.Cluster {
	t.Helper()
	in := fromtext.Input{Name: "input.yaml", Text: s.text, Options: s.options()}
	if s.status != "" {
		in.Workloads, _ = file.LoadEndpointStatus(s.status)
	}
	return in.Decode()
}

// same compares what comes from a server with what comes from files: byte by byte, and in the
// first snapshot that there is.
func (s step) same(t *testing.T, o reach) {
	t.Helper()
	o.node, o.compute, o.status = s.node, s.options(), s.status
	got := o.first(t)
	want, from := s.fromFiles(t), (&fromtext.Cluster{Cluster: got.Cluster}).With(s.options())
	compare := func(templates string, set *render.Set) {
		if diff := cmp.Diff(want.RenderWith(t, set, s.node).Files, from.RenderWith(t, set, s.node).Files); diff != "" {
			t.Errorf("%s: files differ (-from files +from the server):\n%s\nproblems: %v", templates, diff, got.Problems)
		}
	}
	compare("bird1", fromtext.Set(t))
	for _, release := range fromtext.Releases {
		compare("templates for Calico "+release, fromtext.ConfdSet(t, release))
	}
}

// Every scenario gives the same files through etcd as from files. Services and Secrets come
// from the Kubernetes API beside it.
func TestScenariosThroughEtcd(t *testing.T) {
	e, k := backend.StartEtcd(t, backend.EtcdOptions{}), backend.SharedKube(t)
	c := e.Client(t)
	k.Both(t)
	for _, s := range steps(t) {
		t.Run(s.name, func(t *testing.T) {
			e.Clear(t, c)
			k.ClearObjects(t, backend.GroupV1)
			if others := e.Load(t, c, s.text); others != "" {
				k.Load(t, backend.GroupV1, others)
			}
			s.same(t, reach{etcd: e.Endpoints(), kubeconfig: k.Kubeconfig(t, k.AdminToken)})
		})
	}
}

// And through Kubernetes, with Calico's resources in either group.
func TestScenariosThroughKubernetes(t *testing.T) {
	k := backend.SharedKube(t)
	for _, group := range backend.Groups {
		k.Both(t)
		for _, s := range steps(t) {
			t.Run(group+"/"+s.name, func(t *testing.T) {
				k.ClearObjects(t, group)
				k.Load(t, group, s.text)
				s.same(t, reach{group: group, kubeconfig: k.Kubeconfig(t, k.AdminToken)})
			})
		}
	}
}
