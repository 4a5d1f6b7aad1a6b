package kube_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live/livetest"
	"github.com/birdconfd/birdconfd/pkg/datastore/kube"
	"github.com/birdconfd/birdconfd/test/backend"
	"github.com/birdconfd/birdconfd/test/shared"
)

func service(name string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: shop}
spec: {type: LoadBalancer, externalTrafficPolicy: Local, ports: [{port: 80}], externalIPs: [203.0.113.5]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.44}, {hostname: lb.example.net}]}}
`, name)
}

func slice(name, service, ready string) string {
	return fmt.Sprintf(`---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %s, namespace: shop, labels: {kubernetes.io/service-name: %s}}
addressType: IPv4
endpoints: [{addresses: [10.244.1.9], nodeName: alpha, conditions: {ready: %s}}, {addresses: [10.244.1.10], nodeName: alpha, conditions: {ready: %[3]s}}]
`, name, service, ready)
}

func secret(namespace, name, value string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\ndata: {key: %s}\n",
		name, namespace, base64.StdEncoding.EncodeToString([]byte(value)))
}

func TestServices(t *testing.T) {
	k := backend.SharedKube(t)
	k.Both(t)
	k.Apply(t, service("web")+slice("web-1", "web", "true"))
	w := watch(t, impatient(k.Admin()), live.Needs{})
	w.Is("no Services", func(s datastore.Snapshot) bool { return len(s.Cluster.Services) == 0 })
	if n := len(w.Source.Status().Parts); n != 6 {
		t.Errorf("%d parts without need", n)
	}
	w.Need(live.Needs{Services: true})
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.1")) // has it asked again
	w.Is("Services", func(s datastore.Snapshot) bool {
		return strings.Contains(names(s.Cluster.Services), "web") && names(s.Cluster.EndpointSlices) == "web-1"
	})
	s, _ := w.Last()
	web := s.Cluster.Services[len(s.Cluster.Services)-1]
	if web.Type != "LoadBalancer" || len(web.ClusterIPs) != 1 || len(web.IngressIPs) != 1 || len(web.ExternalIPs) != 1 || web.ExternalTrafficPolicy != "Local" {
		t.Errorf("%+v", web)
	}
	// How many pods there are on a node does not matter: once is enough.
	if e := s.Cluster.EndpointSlices[0].Endpoints; len(e) != 1 || e[0].NodeName != "alpha" || !e[0].Ready {
		t.Errorf("%+v", e)
	}
	k.Apply(t, slice("web-1", "web", "false"))
	w.Is("not ready", func(s datastore.Snapshot) bool { return len(s.Cluster.EndpointSlices[0].Endpoints) == 0 })
	k.Apply(t, slice("web-1", "other", "true"))
	w.Is("of another Service", func(s datastore.Snapshot) bool { return s.Cluster.EndpointSlices[0].ServiceName == "other" })
	k.Delete(t, "discovery.k8s.io/v1", "EndpointSlice", "shop", "web-1")
	w.Is("deleted", func(s datastore.Snapshot) bool { return len(s.Cluster.EndpointSlices) == 0 })
	k.Apply(t, slice("web-1", "web", "true"))
	w.Is("made again", func(s datastore.Snapshot) bool { return len(s.Cluster.EndpointSlices) == 1 })
	w.Need(live.Needs{})
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.2"))
	w.Is("no Services any more", func(s datastore.Snapshot) bool { return len(s.Cluster.Services)+len(s.Cluster.EndpointSlices) == 0 })
	if n := len(w.Source.Status().Parts); n != 6 {
		t.Errorf("%d parts without need", n)
	}
}

func TestSecrets(t *testing.T) {
	k := backend.SharedKube(t)
	k.Both(t)
	k.Apply(t, secret("kube-system", "tor", "hunter2")+secret("kube-system", "other", "x")+secret("default", "tor", "wrong"))
	w := watch(t, impatient(k.Admin()), live.Needs{Secrets: []string{"tor", "absent"}})
	w.Is("the Secret", func(s datastore.Snapshot) bool {
		return len(s.Cluster.Secrets) == 1 && string(s.Cluster.Secrets["kube-system/tor"].Data["key"]) == "hunter2"
	})
	k.Apply(t, secret("kube-system", "tor", "hunter3")+secret("kube-system", "absent", "now"))
	w.Is("both", func(s datastore.Snapshot) bool {
		return len(s.Cluster.Secrets) == 2 && string(s.Cluster.Secrets["kube-system/tor"].Data["key"]) == "hunter3"
	})
	k.Delete(t, "v1", "Secret", "kube-system", "tor")
	w.Is("deleted", func(s datastore.Snapshot) bool { return len(s.Cluster.Secrets) == 1 })
	w.Need(live.Needs{})
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.2"))
	w.Is("not needed any more", func(s datastore.Snapshot) bool { return len(s.Cluster.Secrets) == 0 })
	if said := w.Log.String() + fmt.Sprint(w.Source.Status()); strings.Contains(said, "hunter") {
		t.Error("a password is told")
	}
}

// The permissions that are shipped are all that is needed, and without them it is said what
// is missing.
func TestPermissions(t *testing.T) {
	k := backend.SharedKube(t)
	k.Both(t)
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(shared.Root(t), "etc", "rbac", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	k.Apply(t, read("birdconfd.yaml")+"\n---\n"+read("passwords.yaml"))
	t.Cleanup(func() {
		k.Delete(t, "rbac.authorization.k8s.io/v1", "ClusterRole", "", "birdconfd")
		k.Delete(t, "rbac.authorization.k8s.io/v1", "Role", "kube-system", "birdconfd-passwords")
	})
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.1")+node("alpha", "192.0.2.9/24", "True")+service("web")+slice("web-1", "web", "true")+
		secret("kube-system", "bgp-passwords", "hunter2")+secret("kube-system", "other", "x"))
	account := k.As(k.ServiceAccountToken(t, "kube-system", "birdconfd"))
	o := impatient(account)

	w := watch(t, o, live.Needs{Services: true, Secrets: []string{"bgp-passwords"}})
	w.Is("everything", func(s datastore.Snapshot) bool {
		return livetest.Peers(s) == "a=192.0.2.1" && len(s.Cluster.Nodes) == 1 && len(s.Cluster.EndpointSlices) == 1 && len(s.Cluster.Secrets) == 1 &&
			problem(s, calico.RulePruned) != ""
	})
	w.Found()
	k.AllMayNot(t, account, [][3]string{{"get", "secrets", "other"}, {"list", "secrets", ""}, {"list", "pods", ""}, {"delete", "nodes", "alpha"}, {"get", "secrets", "bgp-passwords"}})

	// Another Secret than those that are allowed.
	w = watch(t, o, live.Needs{Secrets: []string{"other"}})
	w.PeersAre("a=192.0.2.1 forbidden")
	s, _ := w.Last()
	if text := problem(s, calico.RuleForbidden); !strings.Contains(text, "Secret other in namespace kube-system") || !strings.Contains(text, "etc/rbac/passwords.yaml") {
		t.Error(text)
	}

	// Without the permission for Services the rest goes on.
	role := read("birdconfd.yaml")
	k.Apply(t, strings.ReplaceAll(role, "resources: [services]", "resources: [configmaps]"))
	w = watch(t, o, live.Needs{Services: true})
	w.PeersAre("a=192.0.2.1 forbidden")
	s, _ = w.Last()
	if text := problem(s, calico.RuleForbidden); !strings.Contains(text, "services; only whole ranges are announced") || !strings.Contains(text, "etc/rbac/birdconfd.yaml") {
		t.Error(text)
	}
	k.Apply(t, role)
	w.Is("Services", func(s datastore.Snapshot) bool {
		return len(s.Cluster.Services) > 0 && problem(s, calico.RuleForbidden) == ""
	})

	// Without that for peers there is nothing, and it is said why.
	k.Apply(t, strings.ReplaceAll(role, "bgppeers, ", ""))
	w = watch(t, o, live.Needs{})
	w.Until("it is said", func() bool { return strings.Contains(w.Source.Status().LastError, "BGPPeers: list bgppeers: ") })
	if e := w.Source.Status().LastError; !strings.Contains(e, "is forbidden") {
		t.Error(e)
	}
	if _, n := w.Last(); n != 0 {
		t.Errorf("%d snapshots without peers", n)
	}
}

// A token in a file is read again, so that it can be replaced.
func TestTokenRotation(t *testing.T) {
	t.Parallel()
	k := backend.StartKube(t)
	k.InstallCRDs(t, backend.GroupV1, backend.CalicoPlurals...)
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.1"))
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("not-a-token")
	c := k.As("")
	c.BearerTokenFile = file
	w := watch(t, impatient(c), live.Needs{})
	w.Lost()
	if s := w.Source.Status(); !strings.Contains(s.LastError, "Unauthorized") || strings.Contains(s.LastError, "not-a-token") {
		t.Error(s.LastError)
	}
	write(k.AdminToken)
	w.PeersAre("a=192.0.2.1")
	w.Found()
}

// A token in a kubeconfig is read again, too.
func TestTokenRotationInAKubeconfig(t *testing.T) {
	t.Parallel()
	k := backend.StartKube(t)
	k.InstallCRDs(t, backend.GroupV1, backend.CalicoPlurals...)
	k.Apply(t, peer(backend.GroupV1, "a", "192.0.2.1"))
	path := k.Kubeconfig(t, "not-a-token")
	c, err := kube.RESTConfig(kube.Access{Kubeconfig: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	w := watch(t, impatient(c), live.Needs{})
	w.Lost()
	if s := w.Source.Status(); !strings.Contains(s.LastError, "Unauthorized") || strings.Contains(s.LastError, "not-a-token") {
		t.Error(s.LastError)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), "not-a-token", k.AdminToken)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.PeersAre("a=192.0.2.1")
	w.Found()
}

func TestRESTConfig(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := `apiVersion: v1
kind: Config
current-context: one
clusters: [{name: one, cluster: {server: "https://192.0.2.1:6443"}}, {name: two, cluster: {server: "https://192.0.2.2:6443"}}]
users: [{name: one, user: {token: SECRET-1}}]
contexts: [{name: one, context: {cluster: one, user: one}}, {name: two, context: {cluster: two, user: one}}]
`
	file := write("good", good)
	other := write("other", strings.ReplaceAll(good, "192.0.2.1", "192.0.2.9"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, c := range map[string]struct {
		access kube.Access
		host   string // "" for an error
		fault  string
	}{
		"a file":                 {kube.Access{Kubeconfig: []string{file}}, "https://192.0.2.1:6443", ""},
		"two files":              {kube.Access{Kubeconfig: []string{other, file}}, "https://192.0.2.9:6443", ""},
		"a text":                 {kube.Access{KubeconfigInline: good}, "https://192.0.2.1:6443", ""},
		"another context":        {kube.Access{Kubeconfig: []string{file}, Context: "two"}, "https://192.0.2.2:6443", ""},
		"another endpoint":       {kube.Access{Kubeconfig: []string{file}, APIEndpoint: "https://192.0.2.3"}, "https://192.0.2.3", ""},
		"only an endpoint":       {kube.Access{APIEndpoint: "https://192.0.2.3", Token: "SECRET-2"}, "https://192.0.2.3", ""},
		"an unknown context":     {kube.Access{Kubeconfig: []string{file}, Context: "x"}, "", `context "x" does not exist`},
		"no YAML":                {kube.Access{Kubeconfig: []string{write("bad", "token: SECRET-3: x")}}, "", "not valid YAML"},
		"no YAML in the text":    {kube.Access{KubeconfigInline: "token: SECRET-4: x"}, "", "not valid YAML"},
		"nothing":                {kube.Access{}, "", "names no server"},
		"not in a pod":           {kube.Access{InCluster: true}, "", "what Kubernetes gives to a pod"},
		"a CA that is not there": {kube.Access{APIEndpoint: "https://192.0.2.3", CAFile: "/nonexistent.pem"}, "", "/nonexistent.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := kube.RESTConfig(c.access)
			switch {
			case err != nil && (c.fault == "" || !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "SECRET")):
				t.Errorf("error %v", err)
			case err == nil && (c.fault != "" || got.Host != c.host):
				t.Errorf("host %s", got.Host)
			}
		})
	}
}

// Settings override what a pod is given, too.
func TestOverridesInAPod(t *testing.T) {
	pod := func() *rest.Config {
		return &rest.Config{BearerToken: "pod", BearerTokenFile: "/pod", TLSClientConfig: rest.TLSClientConfig{CAFile: "/pod-ca"}}
	}
	for name, c := range map[string]struct {
		access kube.Access
		want   string
	}{
		"nothing":         {kube.Access{}, "pod /pod /pod-ca  false"},
		"a token":         {kube.Access{Token: "own"}, "own  /pod-ca  false"},
		"a certificate":   {kube.Access{CertFile: "/c", KeyFile: "/k"}, "  /pod-ca /c false"},
		"a CA":            {kube.Access{CAFile: "/ca"}, "pod /pod /ca  false"},
		"no verification": {kube.Access{InsecureSkipTLSVerify: true}, "pod /pod   true"},
	} {
		got := pod()
		kube.Override(c.access, got)
		if said := fmt.Sprintf("%s %s %s %s %t", got.BearerToken, got.BearerTokenFile, got.CAFile, got.CertFile, got.Insecure); said != c.want {
			t.Errorf("%s: %q, want %q", name, said, c.want)
		}
	}
}
