package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/test/backend"
)

// rendering renders from a server.
func rendering(t *testing.T, env map[string]string, args ...string) result {
	t.Helper()
	return call{args: append([]string{"render", "--node=edge-1", "--check=off"}, args...), env: env}.run(t)
}

// files is what is rendered from the same resources in a file.
func files(t *testing.T) string {
	t.Helper()
	return birdconfd(t, "render", "--node=edge-1", "--check=off", edge).stdout
}

func TestRenderFromEtcd(t *testing.T) {
	e := backend.StartEtcd(t, backend.EtcdOptions{})
	c := e.Client(t)
	e.Load(t, c, readFile(t, edge))
	env := map[string]string{"ETCD_ENDPOINTS": e.Endpoints()[0], "DATASTORE_TYPE": "etcdv3", "HOME": "/nonexistent"}

	// Passwords are Secrets, and nothing says where those are.
	r := rendering(t, env)
	r.want(t, 1, "Secret", "cannot be read, as nothing says how to reach the Kubernetes API", "held back")

	// E6: service ranges need no Kubernetes, single addresses do.
	e.Clear(t, c)
	const nodes = `apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: edge-1}
spec: {bgp: {ipv4Address: 192.0.2.1/24}}
---
apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {name: default}
spec: {asNumber: 64500, serviceClusterIPs: [{cidr: 233.252.0.0/24}]}
`
	e.Load(t, c, nodes)
	r = rendering(t, env, "--datastore=etcd")
	r.want(t, 0, "only whole ranges are announced, no addresses of single Services, as nothing says how to reach the Kubernetes API")
	if !strings.Contains(r.stdout, "route 233.252.0.0/24 blackhole") {
		t.Errorf("the range is not announced:\n%s", r.stdout)
	}

	// A resource that is wrong, and a server that is not there.
	e.Put(t, c, "/calico/resources/v3/projectcalico.org/bgppeers/bad", "{")
	rendering(t, env).want(t, 1, "/calico/resources/v3/projectcalico.org/bgppeers/bad: error: the value is not one object in JSON")
	e.Kill(0)
	r = rendering(t, env, "--timeout=2s")
	r.want(t, 2, "etcd could not be read completely within 2s: ", "connection refused")
	if r.stdout != "" {
		t.Errorf("something is rendered from nothing:\n%s", r.stdout)
	}
}

func TestRenderFromKubernetes(t *testing.T) {
	k := backend.StartKube(t)
	k.InstallCRDs(t, backend.GroupV3, backend.CalicoPlurals...)
	env := map[string]string{"KUBECONFIG": k.Kubeconfig(t, k.AdminToken)}
	k.PatchCRD(t, backend.GroupV3, "bgpconfigurations")
	k.Load(t, backend.GroupV3, readFile(t, edge))
	r := rendering(t, env, "--datastore=kubernetes")
	r.want(t, 0)
	if want := files(t); r.stdout != want {
		t.Errorf("from the server:\n%s\nfrom a file:\n%s", r.stdout, want)
	}
	config := writeFile(t, filepath.Join(t.TempDir(), "calico.yaml"), fmt.Sprintf(
		"apiVersion: projectcalico.org/v3\nkind: CalicoAPIConfig\nmetadata: {}\nspec:\n  datastoreType: kubernetes\n  kubeconfig: %s\n", env["KUBECONFIG"]))
	if byFile := rendering(t, nil, "--calico-config="+config); byFile.code != 0 || byFile.stdout != r.stdout {
		t.Errorf("with a file: %+v", byFile)
	}
	call{args: []string{"render", "--node=edge-9", "--datastore=kubernetes"}, env: env}.run(t).want(t, 1, "there is no such node in the input")
	k.Apply(t, "apiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata: {name: bad}\nspec: {peerIP: nonsense, asNumber: 1}\n")
	rendering(t, env, "--datastore=kubernetes").want(t, 1, "BGPPeer/bad spec.peerIP")
	nobody := map[string]string{"KUBECONFIG": k.Kubeconfig(t, "not-a-token")}
	r = rendering(t, nobody, "--datastore=kubernetes", "--timeout=3s")
	r.want(t, 2, "kubernetes could not be read completely within 3s", "does not accept the credentials")
	if strings.Contains(r.stderr, "not-a-token") {
		t.Error("it tells the token")
	}
}

// What a password is, is told by no run.
func TestServerSettingsStaySecret(t *testing.T) {
	file := writeFile(t, filepath.Join(t.TempDir(), "calico.yaml"), "apiVersion: projectcalico.org/v3\nkind: CalicoAPIConfig\nmetadata: {}\nspec:\n"+
		"  datastoreType: etcdv3\n  etcdEndpoints: http://127.0.0.1:1\n  etcdUsername: u\n  etcdPassword: "+canary+"\n")
	rendering(t, nil, "--calico-config="+file, "--timeout=1s").want(t, 2, "etcd could not be read completely within 1s")
	rendering(t, map[string]string{"ETCD_ENDPOINTS": "http://u:" + canary + "@127.0.0.1:1"}, "--datastore=etcd").want(t, 2, "ETCD_ENDPOINTS: entry 1 has a user in it")
}
