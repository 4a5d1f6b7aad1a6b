package backend

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// KubeOptions says what an API server should be like. The zero value is one with the
// newest etcd.
type KubeOptions struct {
	EtcdVersion Version
	Flags       []string // further flags, such as --watch-cache=false; the last of a kind counts
}

// Kube is an API server of Kubernetes with an etcd of its own. It serves Services with
// cluster IPs in 10.96.0.0/12 and fd00:96::/112. No controller runs, so nothing happens by
// itself: nodes have the conditions and Services the EndpointSlices that a test writes. Its
// methods are for the goroutine of the test.
type Kube struct {
	CAFile     string // what its certificate is checked with, in PEM
	AdminToken string // for the administrator, who may do anything

	etcd    *Etcd
	dir     string
	port    int
	flags   []string
	server  process
	http    *http.Client
	dynamic dynamic.Interface
}

// StartKube runs an etcd and an API server for one test, and waits until they are ready. There
// may be options, once.
func StartKube(t testing.TB, o ...KubeOptions) *Kube {
	t.Helper()
	var options KubeOptions
	if len(o) > 0 {
		options = o[0]
	}
	k, end, err := Launch(t.TempDir(), options)
	check(t, err)
	t.Cleanup(func() {
		end()
		k.showLogs(t)
	})
	return k
}

// showLogs shows what the servers have said when the test has failed.
func (k *Kube) showLogs(t testing.TB) {
	if t.Failed() {
		t.Log(k.server.tail())
		k.etcd.logTails(t)
	}
}

// Launch is StartKube without a test: it keeps everything in a directory that is there, and
// returns what ends the servers. The error wraps ErrMissing when a server is not installed.
func Launch(dir string, o KubeOptions) (*Kube, func(), error) {
	binary, err := kubeBinary()
	if err != nil {
		return nil, nil, err
	}
	e, err := launchEtcd(dir, EtcdOptions{Version: o.EtcdVersion})
	if err != nil {
		return nil, nil, err
	}
	k := &Kube{etcd: e, dir: dir, flags: o.Flags, AdminToken: rand.Text(),
		CAFile: filepath.Join(dir, "pki", "apiserver.crt"),
		server: process{binary: binary, log: filepath.Join(dir, "kube-apiserver.log")}}
	if err := k.launch(); err != nil {
		k.end()
		return nil, nil, err
	}
	return k, k.end, nil
}

func (k *Kube) launch() error {
	tokens := fmt.Sprintf("%s,test-admin,1,\"system:masters\"\n", k.AdminToken)
	if err := os.WriteFile(k.file("tokens.csv"), []byte(tokens), 0o600); err != nil {
		return err
	}
	if _, err := newKey(k.file("accounts.key")); err != nil {
		return err
	}
	var err error
	for range portTries {
		var ports []int
		if ports, err = freePorts(1); err != nil {
			return err
		}
		k.port = ports[0]
		k.server.args = k.arguments()
		if err = k.server.start(); err != nil {
			return err
		}
		if err = k.server.untilReady(k.ready); err == nil || !k.server.lostPort() {
			break
		}
	}
	if err != nil {
		return err
	}
	if k.http, err = rest.HTTPClientFor(k.Admin()); err != nil {
		return err
	}
	k.dynamic, err = dynamic.NewForConfigAndClient(k.Admin(), k.http)
	return err
}

func (k *Kube) arguments() []string {
	return append([]string{
		"--etcd-servers=" + k.etcd.Endpoints()[0],
		// Without these it looks for an address to publish, and a machine without a
		// network has none.
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		fmt.Sprintf("--secure-port=%d", k.port),
		"--cert-dir=" + k.file("pki"),
		"--service-cluster-ip-range=10.96.0.0/12,fd00:96::/112",
		"--authorization-mode=RBAC",
		"--token-auth-file=" + k.file("tokens.csv"),
		"--service-account-issuer=https://test.invalid",
		"--service-account-signing-key-file=" + k.file("accounts.key"),
		"--service-account-key-file=" + k.file("accounts.key"),
		"--disable-admission-plugins=ServiceAccount",
	}, k.flags...)
}

func (k *Kube) file(name string) string { return filepath.Join(k.dir, name) }

// ready asks the server whether it is.
func (k *Kube) ready(ctx context.Context) error {
	_, err := k.get(ctx, "/readyz")
	return err
}

// get makes one request of the administrator, over a connection of its own.
func (k *Kube) get(ctx context.Context, path string) (string, error) {
	ca, err := os.ReadFile(k.CAFile)
	if err != nil {
		return "", err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(ca) {
		return "", errors.New("its certificate is not there yet")
	}
	return get(ctx, config, k.URL()+path, k.AdminToken)
}

func (k *Kube) end() {
	k.server.kill()
	k.etcd.end()
	if k.http != nil {
		k.http.CloseIdleConnections()
	}
}

// Kill ends the API server as a crash does. Its etcd goes on.
func (k *Kube) Kill() { k.server.kill() }

// Start starts the API server again, which is killed if it runs, with the same data, port,
// certificate and tokens, and waits until it is ready.
func (k *Kube) Start(t testing.TB) {
	t.Helper()
	k.server.kill()
	if err := k.server.startAgain(k.ready); err != nil {
		t.Fatal(err)
	}
}

// Compact has etcd forget what was before the current revision: who goes on from an earlier
// one is refused, where the API server's own cache does not know better.
func (k *Kube) Compact(t testing.TB) {
	t.Helper()
	k.etcd.Compact(t, k.etcd.Client(t))
}

// URL returns where the API server listens.
func (k *Kube) URL() string { return "https://" + hostPort(k.port) }

// Address returns where the API server listens, as host:port.
func (k *Kube) Address() string { return hostPort(k.port) }

// Admin returns what a client of the administrator needs.
func (k *Kube) Admin() *rest.Config { return k.As(k.AdminToken) }

// As returns what a client with a token needs. It is not slowed down.
func (k *Kube) As(token string) *rest.Config {
	return &rest.Config{
		Host:            k.URL(),
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: k.CAFile},
		QPS:             -1,
		WarningHandler:  rest.NoWarnings{},
	}
}

// Through returns a copy that leads through a proxy.
func Through(c *rest.Config, p *Proxy) *rest.Config {
	through := rest.CopyConfig(c)
	through.Host = p.URL("https")
	return through
}

// Dynamic returns a client of the administrator.
func (k *Kube) Dynamic(testing.TB) dynamic.Interface { return k.dynamic }

// Kubeconfig writes a kubeconfig for a token, which only its owner can read, and returns
// its path.
func (k *Kube) Kubeconfig(t testing.TB, token string) string {
	t.Helper()
	return k.KubeconfigThrough(t, token, k.URL())
}

// KubeconfigThrough is Kubeconfig with another URL, such as that of a proxy.
func (k *Kube) KubeconfigThrough(t testing.TB, token, url string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: url, CertificateAuthority: k.CAFile}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Etcd is what is behind the server.
func (k *Kube) Etcd() *Etcd { return k.etcd }
