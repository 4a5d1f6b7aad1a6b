package settings

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// files are all that there are in tests.
var files = map[string]string{
	"/ca": "x", "/cert": "x", "/key": "x", "/kc1": "x", "/kc2": "x", "/home/op/.kube/config": "x",
}

func input(variables string, more map[string]string) Input {
	env := map[string]string{}
	for line := range strings.SplitSeq(variables, " ") {
		name, value, _ := strings.Cut(line, "=")
		if name != "" {
			env[name] = value
		}
	}
	return Input{
		Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		ReadFile: func(path string) ([]byte, error) {
			if text, ok := more[path]; ok {
				return []byte(text), nil
			}
			if text, ok := files[path]; ok {
				return []byte(text), nil
			}
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		},
	}
}

// show gives what of settings is not as it is without any.
func show(s *Settings) string {
	out := []string{s.Type}
	add := func(name string, value, zero any) {
		if fmt.Sprint(value) != fmt.Sprint(zero) {
			out = append(out, fmt.Sprintf("%s=%v", name, value))
		}
	}
	e, k := s.Etcd, s.Kubernetes
	add("endpoints", e.Endpoints, []string{})
	add("srv", e.DiscoverySRV, "")
	add("user", e.Username, "")
	add("password", e.Password.Reveal(), "")
	add("files", []string{e.CAFile, e.CertFile, e.KeyFile}, []string{"", "", ""})
	add("texts", []string{e.CA.Reveal(), e.Cert.Reveal(), e.Key.Reveal()}, []string{"", "", ""})
	add("suites", e.CipherSuites, []uint16{})
	add("kubeconfig", k.Kubeconfig, []string{})
	add("inline", k.KubeconfigInline.Reveal(), "")
	add("api", k.APIEndpoint, "")
	add("kfiles", []string{k.CAFile, k.CertFile, k.KeyFile}, []string{"", "", ""})
	add("context", k.Context, "")
	add("token", k.Token.Reveal(), "")
	add("insecure", k.InsecureSkipTLSVerify, false)
	add("qps", k.QPS, 0)
	add("burst", k.Burst, 0)
	add("pod", k.InCluster, false)
	add("kubernetes", k.Available, s.Type == TypeKubernetes)
	add("podCIDR", s.UsePodCIDR, false)
	add("group", s.APIGroup, "")
	return strings.Join(out, " ")
}

func TestVariables(t *testing.T) {
	const etcd = "ETCD_ENDPOINTS=http://192.0.2.1:2379"
	for _, c := range []struct {
		name, variables string
		want            string // settings, or after ! part of the error
		note            string // part of the notes, "" for none
	}{
		{"endpoints choose etcd", etcd, "etcd endpoints=[http://192.0.2.1:2379]", ""},
		{"the type does", "DATASTORE_TYPE=etcdv3 " + etcd, "etcd endpoints=[http://192.0.2.1:2379]", ""},
		{"the prefixed name wins", "DATASTORE_TYPE=kubernetes CALICO_DATASTORE_TYPE=etcdv3 " + etcd, "etcd endpoints=[http://192.0.2.1:2379]", "DATASTORE_TYPE is hidden by CALICO_DATASTORE_TYPE"},
		{"even when it is empty", "CALICO_ETCD_ENDPOINTS= KUBECONFIG=/kc1 " + etcd, "kubernetes kubeconfig=[/kc1]", "ETCD_ENDPOINTS is hidden by the empty CALICO_ETCD_ENDPOINTS"},
		{"another type", "DATASTORE_TYPE=etcd", `!DATASTORE_TYPE is "etcd": it is etcdv3 or kubernetes`, ""},
		{"several endpoints with blanks", "ETCD_ENDPOINTS=http://192.0.2.1:2379,\thttp://[2001:db8::1]:2379,", "etcd endpoints=[http://192.0.2.1:2379 http://[2001:db8::1]:2379]", ""},
		{"no port", "ETCD_ENDPOINTS=http://192.0.2.1", "etcd endpoints=[http://192.0.2.1:2379]", "names no port"},
		{"no scheme", "ETCD_ENDPOINTS=192.0.2.1:2379", "!ETCD_ENDPOINTS: entry 1 is not a URL", ""},
		{"http and https", etcd + ",https://192.0.2.1:2379", "!both http and https", ""},
		{"a user in the URL", "ETCD_ENDPOINTS=http://u:SECRET@192.0.2.1:2379", "!entry 1 has a user in it", ""},
		{"something after the port", etcd + "/v3/x", "!something after the host", ""},
		{"SRV alone chooses nothing", "ETCD_DISCOVERY_SRV=example.org", "!ETCD_DISCOVERY_SRV alone does not choose etcd", ""},
		{"SRV", "ETCD_DISCOVERY_SRV=example.org DATASTORE_TYPE=etcdv3", "etcd srv=example.org", ""},
		{"SRV and endpoints", "ETCD_DISCOVERY_SRV=example.org " + etcd, "!ETCD_ENDPOINTS and ETCD_DISCOVERY_SRV are both set", ""},
		{"etcd without either", "DATASTORE_TYPE=etcdv3", "!set ETCD_ENDPOINTS or ETCD_DISCOVERY_SRV", ""},
		{"user and password", "ETCD_USERNAME=u ETCD_PASSWORD=SECRET " + etcd, "etcd endpoints=[http://192.0.2.1:2379] user=u password=SECRET", ""},
		{"user without password", "ETCD_USERNAME=u " + etcd, "!ETCD_USERNAME is set, but no password", ""},
		{"password without user", "ETCD_PASSWORD=SECRET " + etcd, "!ETCD_PASSWORD is set, but no user", ""},
		{"certificates", "ETCD_CA_CERT_FILE=/ca ETCD_CERT_FILE=/cert ETCD_KEY_FILE=/key ETCD_ENDPOINTS=https://192.0.2.1:2379", "etcd endpoints=[https://192.0.2.1:2379] files=[/ca /cert /key]", ""},
		{"a certificate without key", "ETCD_CERT_FILE=/cert ETCD_ENDPOINTS=https://192.0.2.1:2379", "!ETCD_CERT_FILE is set, but not ETCD_KEY_FILE", ""},
		{"a key without certificate", "ETCD_KEY_FILE=/key ETCD_ENDPOINTS=https://192.0.2.1:2379", "!ETCD_KEY_FILE is set, but not ETCD_CERT_FILE", ""},
		{"a file that is not there", "ETCD_CA_CERT_FILE=/no ETCD_ENDPOINTS=https://192.0.2.1:2379", "!ETCD_CA_CERT_FILE: open /no: file does not exist", ""},
		{"certificates without TLS", "ETCD_CA_CERT_FILE=/ca " + etcd, "!ETCD_CA_CERT_FILE is set, but the endpoints are http", ""},
		{"cipher suites", "TLS_CIPHER_SUITES=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 " + etcd, fmt.Sprintf("etcd endpoints=[http://192.0.2.1:2379] suites=[%d]", tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256), ""},
		{"an unknown suite", "TLS_CIPHER_SUITES=ROT13 " + etcd, `!TLS_CIPHER_SUITES: there is no suite "ROT13"`, ""},
		{"an unknown version of TLS", "TLS_MIN_VERSION=1.1 " + etcd, `!TLS_MIN_VERSION is "1.1": it is 1.2 or 1.3`, ""},
		{"a suite with TLS 1.3", "TLS_MIN_VERSION=1.3 TLS_CIPHER_SUITES=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 " + etcd, fmt.Sprintf("etcd endpoints=[http://192.0.2.1:2379] suites=[%d]", tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256), "no effect"},

		{"nothing", "", "!nothing says how to reach the Kubernetes API", ""},
		{"a kubeconfig", "KUBECONFIG=/kc1", "kubernetes kubeconfig=[/kc1]", ""},
		{"several", "KUBECONFIG=/kc2:/kc1", "kubernetes kubeconfig=[/kc2 /kc1]", ""},
		{"one of them is not there", "KUBECONFIG=/no:/kc1", "kubernetes kubeconfig=[/kc1]", "there is no file /no"},
		{"none is", "KUBECONFIG=/no", "!none of the files is there", ""},
		{"that of the home directory", "HOME=/home/op", "kubernetes kubeconfig=[/home/op/.kube/config]", ""},
		{"a pod", "HOME=/root KUBERNETES_SERVICE_HOST=10.96.0.1 KUBERNETES_SERVICE_PORT=443", "kubernetes pod=true", ""},
		{"an endpoint", "K8S_API_ENDPOINT=https://192.0.2.1:6443 K8S_CA_FILE=/ca K8S_CERT_FILE=/cert K8S_KEY_FILE=/key K8S_CURRENT_CONTEXT=c",
			"kubernetes api=https://192.0.2.1:6443 kfiles=[/ca /cert /key] context=c", ""},
		{"no URL", "K8S_API_ENDPOINT=192.0.2.1:6443", "!K8S_API_ENDPOINT is not a URL", ""},
		{"a user in it", "K8S_API_ENDPOINT=https://u:SECRET@192.0.2.1", "!K8S_API_ENDPOINT has a user in it", ""},
		{"the token", "CALICO_K8SAPITOKEN=SECRET K8S_API_ENDPOINT=https://192.0.2.1", "kubernetes api=https://192.0.2.1 token=SECRET", ""},
		{"a token over http", "CALICO_K8SAPITOKEN=SECRET K8S_API_ENDPOINT=http://192.0.2.1", "kubernetes api=http://192.0.2.1 token=SECRET", "in the clear"},
		{"a token that nobody reads", "K8S_API_TOKEN=SECRET KUBECONFIG=/kc1", "kubernetes kubeconfig=[/kc1]", "K8S_API_TOKEN is not read"},
		{"a certificate of Kubernetes without key", "K8S_CERT_FILE=/cert KUBECONFIG=/kc1", "!K8S_CERT_FILE is set, but not K8S_KEY_FILE", ""},
		{"no verification", "K8S_INSECURE_SKIP_TLS_VERIFY=T KUBECONFIG=/kc1", "kubernetes kubeconfig=[/kc1] insecure=true", "anybody may stand in"},
		{"no verification, and a CA", "K8S_INSECURE_SKIP_TLS_VERIFY=true K8S_CA_FILE=/ca KUBECONFIG=/kc1", "!exclude each other", ""},
		{"rates", "K8S_CLIENT_QPS=2.5 K8S_CLIENT_BURST=7 KUBECONFIG=/kc1", "kubernetes kubeconfig=[/kc1] qps=2.5 burst=7", ""},
		{"a bad rate", "K8S_CLIENT_QPS=fast KUBECONFIG=/kc1", `!K8S_CLIENT_QPS is "fast"`, ""},
		{"not a number", "K8S_CLIENT_QPS=NaN KUBECONFIG=/kc1", `!K8S_CLIENT_QPS is "NaN"`, ""},
		{"a bad burst", "K8S_CLIENT_BURST=1.5 KUBECONFIG=/kc1", `!K8S_CLIENT_BURST is "1.5"`, ""},
		{"an empty rate", "K8S_CLIENT_QPS= KUBECONFIG=/kc1", "kubernetes kubeconfig=[/kc1]", "K8S_CLIENT_QPS is empty and counts as not set"},
		{"an empty truth value", "USE_POD_CIDR= KUBECONFIG=/kc1", "kubernetes kubeconfig=[/kc1]", "USE_POD_CIDR is empty"},
		{"a bad truth value", "USE_POD_CIDR=yes KUBECONFIG=/kc1", `!USE_POD_CIDR is "yes": it is true or false`, ""},
		{"pod CIDRs", "CALICO_USE_POD_CIDR=1 KUBECONFIG=/kc1", "kubernetes kubeconfig=[/kc1] podCIDR=true", ""},
		{"without effect", "K8S_DISABLE_NODE_POLL=true KUBECONFIG=/kc1", "kubernetes kubeconfig=[/kc1]", "has no effect any more"},
		{"group v3", "CALICO_API_GROUP=ProjectCalico.org/V3 KUBECONFIG=/kc1", "kubernetes kubeconfig=[/kc1] group=v3", ""},
		{"group v1", "CALICO_API_GROUP=crd.projectcalico.org/v1 KUBECONFIG=/kc1", "kubernetes kubeconfig=[/kc1] group=v1", ""},
		{"any other group", "CALICO_API_GROUP=v3 KUBECONFIG=/kc1", "kubernetes kubeconfig=[/kc1] group=v1", "stands for crd.projectcalico.org/v1"},

		{"Kubernetes beside etcd", "KUBECONFIG=/kc1 " + etcd, "etcd endpoints=[http://192.0.2.1:2379] kubeconfig=[/kc1] kubernetes=true", ""},
		{"but not from the home directory", "HOME=/home/op " + etcd, "etcd endpoints=[http://192.0.2.1:2379]", ""},
		{"several errors", "ETCD_USERNAME=u TLS_MIN_VERSION=1 " + etcd, "!no password: Calico would go on without either\nTLS_MIN_VERSION", ""},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, input(c.variables, nil), c.want, c.note) })
	}
}

// check reads settings and compares them. What is secret is neither in errors nor in notes.
func check(t *testing.T, in Input, want, note string) {
	t.Helper()
	s, err := Read(in)
	fault, isFault := strings.CutPrefix(want, "!")
	switch {
	case err != nil && (!isFault || !strings.Contains(err.Error(), fault)):
		t.Errorf("error %v, want %q", err, want)
	case err != nil && strings.Contains(err.Error(), "SECRET"):
		t.Errorf("the error tells a secret: %v", err)
	case err == nil && isFault:
		t.Errorf("no error, but %s", show(s))
	case err == nil:
		if diff := cmp.Diff(want, show(s)); diff != "" {
			t.Error(diff)
		}
		notes := strings.Join(s.Notes, "\n")
		if (note == "") != (notes == "") || !strings.Contains(notes, note) || strings.Contains(notes, "SECRET") {
			t.Errorf("notes %q, want %q", notes, note)
		}
		if all := fmt.Sprintf("%v %+v %#v %s %q", s, s, s, s.Etcd.Password, s.Kubernetes.Token); strings.Contains(all, "SECRET") {
			t.Errorf("it shows a secret: %s", all)
		}
		if data, err := json.Marshal(s); err != nil || strings.Contains(string(data), "SECRET") {
			t.Errorf("as JSON: %s, %v", data, err)
		}
	}
}

func TestDatastoreFlag(t *testing.T) {
	for _, c := range []struct{ flag, variables, want string }{
		{TypeEtcd, "ETCD_ENDPOINTS=http://192.0.2.1:2379", "etcd endpoints=[http://192.0.2.1:2379]"},
		{TypeKubernetes, "KUBECONFIG=/kc1 ETCD_ENDPOINTS=http://192.0.2.1:2379", "kubernetes kubeconfig=[/kc1]"},
		{TypeKubernetes, "KUBECONFIG=/kc1 DATASTORE_TYPE=kubernetes", "kubernetes kubeconfig=[/kc1]"},
		{TypeEtcd, "DATASTORE_TYPE=kubernetes", "!DATASTORE_TYPE is kubernetes, but --datastore is etcd"},
		{TypeEtcd, "ETCD_DISCOVERY_SRV=example.org", "etcd srv=example.org"},
	} {
		in := input(c.variables, nil)
		in.Datastore = c.flag
		check(t, in, c.want, "")
	}
}

func TestFile(t *testing.T) {
	const head = "apiVersion: projectcalico.org/v3\nkind: CalicoAPIConfig\nmetadata: {}\n"
	for _, c := range []struct{ name, text, variables, want, note string }{
		{"etcd", head + "spec:\n  datastoreType: etcdv3\n  etcdEndpoints: https://192.0.2.1:2379\n  etcdCACert: SECRET-CA\n  etcdKey: SECRET-K\n  etcdCert: SECRET-C\n", "",
			"etcd endpoints=[https://192.0.2.1:2379] texts=[SECRET-CA SECRET-C SECRET-K]", ""},
		{"as JSON", `{"apiVersion":"projectcalico.org/v3","kind":"CalicoAPIConfig","metadata":{},"spec":{"k8sAPIEndpoint":"https://192.0.2.1","k8sAPIToken":"SECRET","k8sClientQPS":2,"usePodCIDR":true}}`, "",
			"kubernetes api=https://192.0.2.1 token=SECRET qps=2 podCIDR=true", ""},
		{"an inline kubeconfig", head + "spec: {kubeconfigInline: SECRET, k8sCurrentContext: c}\n", "", "kubernetes inline=SECRET", "spec.k8sCurrentContext counts for nothing beside an inline kubeconfig"},
		{"variables count for nothing", head + "spec: {kubeconfig: /kc1}\n", "ETCD_ENDPOINTS=http://192.0.2.1:2379 CALICO_K8SAPITOKEN=SECRET", "kubernetes kubeconfig=[/kc1]", "ETCD_ENDPOINTS, CALICO_K8SAPITOKEN count for nothing"},
		{"Kubernetes beside etcd", head + "spec: {etcdEndpoints: 'http://192.0.2.1:2379'}\n", "KUBECONFIG=/kc1", "etcd endpoints=[http://192.0.2.1:2379] kubeconfig=[/kc1] kubernetes=true", "Services and Secrets are read as KUBECONFIG says"},
		{"no spec", head, "KUBERNETES_SERVICE_HOST=10.96.0.1 KUBERNETES_SERVICE_PORT=443", "kubernetes pod=true", ""},
		{"another kind", strings.Replace(head, "CalicoAPIConfig", "calicoApiConfig", 1), "", "!/file:1: it is not of apiVersion projectcalico.org/v3 and kind CalicoAPIConfig", ""},
		{"an unknown setting", head + "spec:\n  etcdEndpoint: x\n", "", `!/file:5: "etcdEndpoint" is no setting, did you mean "etcdEndpoints"?`, ""},
		{"an unknown field", head + "status: {}\n", "", `!/file:4: "status" is no setting`, ""},
		{"twice", head + "spec: {kubeconfig: /kc1, kubeconfig: /kc2}\n", "", `!"kubeconfig" is there twice`, ""},
		{"a list", head + "spec: {etcdPassword: [SECRET]}\n", "", "!spec.etcdPassword is not a text", ""},
		{"spec is a text", head + "spec: SECRET\n", "", "!spec is not a mapping", ""},
		{"a bad value says where", head + "spec:\n  etcdEndpoints: http://192.0.2.1:2379\n  etcdUsername: u\n", "", "!/file:6: spec.etcdUsername is set, but no password", ""},
		{"no YAML", "a: SECRET: b", "", "!it is not valid YAML", ""},
		{"empty", "", "", "!it is empty", ""},
		{"two documents", head + "---\n" + head, "", "!more than one document", ""},
		{"files and texts", head + "spec: {etcdEndpoints: 'https://192.0.2.1:2379', etcdCACertFile: /ca, etcdKey: SECRET}\n", "", "!spec.etcdCACertFile and /file", ""},
		{"no group beside it", head + "spec: {kubeconfig: /kc1, calicoAPIGroup: projectcalico.org/v3}\n", "", "kubernetes kubeconfig=[/kc1] group=v3", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := input(c.variables, map[string]string{"/file": c.text})
			in.ConfigFile = "/file"
			want := strings.Replace(c.want, "!spec.etcdCACertFile and /file", "!are both set", 1)
			check(t, in, want, c.note)
		})
	}
	in := input("", nil)
	in.ConfigFile = "/file"
	check(t, in, "!--calico-config: open /file: file does not exist", "")
}

// Nothing in a file makes it panic, or tell what is in it.
func TestAnyFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`apiVersion: projectcalico.org/v3\nkind: [A-Za-z]{1,20}\nspec: [{}\[\]:,a-z&*!'"0-9 \n-]{0,60}`)).Draw(t, "text")
		in := input("", map[string]string{"/file": text})
		in.ConfigFile = "/file"
		if s, err := Read(in); err == nil && s.Type == "" {
			t.Errorf("settings without a type: %+v", s)
		}
	})
}

func TestSecretNamespace(t *testing.T) {
	pod := map[string]string{serviceAccount + "namespace": "calico-system\n"}
	for _, c := range []struct {
		variables string
		files     map[string]string
		want      string
	}{{"", nil, "kube-system"}, {"NAMESPACE=", pod, "calico-system"}, {"NAMESPACE=net", pod, "net"}} {
		in := input(c.variables, c.files)
		if got := SecretNamespace(in.Lookup, in.ReadFile); got != c.want {
			t.Errorf("%q: %s, want %s", c.variables, got, c.want)
		}
	}
}
