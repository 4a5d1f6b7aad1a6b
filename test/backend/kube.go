package backend

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Kube is a kube-apiserver with an etcd behind it. No controllers run: what there is was put
// there by the test.
type Kube struct {
	CAFile, AdminToken string

	etcd    *Etcd
	program string
	dir     string
	port    int
	process *process
	client  dynamic.Interface
	both    bool // whether Both has been called, and nothing was removed since
}

// common is the server that all tests of a package have in common.
var common struct {
	sync.Mutex
	kube *Kube
	err  error
	dir  string
}

// SharedKube returns a server that all tests of a package have in common. Its package calls
// Main. Tests must clear what they made.
func SharedKube(t testing.TB) *Kube {
	t.Helper()
	apiserver, etcd := program(t, "kube-apiserver"), program(t, "etcd")
	common.Lock()
	defer common.Unlock()
	if common.kube == nil && common.err == nil {
		if common.dir, common.err = os.MkdirTemp("", "kube"); common.err == nil {
			common.kube, common.err = launchKube(apiserver, etcd, common.dir)
		}
	}
	if common.err != nil {
		t.Fatal(common.err)
	}
	return common.kube
}

// StartKube starts a server for one test.
func StartKube(t testing.TB) *Kube {
	t.Helper()
	k, err := launchKube(program(t, "kube-apiserver"), program(t, "etcd"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.stop)
	return k
}

// Main runs the tests of a package, stops the server that they have in common, and makes sure
// that no goroutine is left. It returns the exit code.
func Main(m *testing.M) int {
	code := m.Run()
	if common.kube != nil {
		common.kube.stop()
	}
	os.RemoveAll(common.dir)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func launchKube(apiserver, etcd, dir string) (*Kube, error) {
	k := &Kube{AdminToken: "admin-" + rand.Text(), program: apiserver, dir: dir, CAFile: filepath.Join(dir, "pki", "apiserver.crt")}
	if err := k.credentials(); err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "etcd")
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	var err error
	if k.etcd, err = launchEtcd(etcd, data, EtcdOptions{Version: Etcd37}); err != nil {
		return nil, err
	}
	for range 5 { // the port can be taken by others
		if k.port, err = freePort(); err != nil {
			break
		}
		if err = k.launch(); err == nil || !strings.Contains(err.Error(), "address already in use") {
			break
		}
	}
	if err != nil {
		k.stop()
		return nil, err
	}
	return k, nil
}

func (k *Kube) credentials() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	tokens := k.AdminToken + ",test-admin,uid-1,\"system:masters\"\n"
	return errors.Join(writePEM(filepath.Join(k.dir, "sa.key"), "EC PRIVATE KEY", der),
		os.WriteFile(filepath.Join(k.dir, "tokens.csv"), []byte(tokens), 0o600))
}

func (k *Kube) launch() error {
	in := func(name string) string { return filepath.Join(k.dir, name) }
	var err error
	k.process, err = start(in("apiserver.log"), k.program,
		"--etcd-servers="+k.etcd.Endpoints()[0], "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprint("--secure-port=", k.port), "--cert-dir="+in("pki"), "--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.96.0.0/12,fd00:96::/112", "--authorization-mode=RBAC", "--token-auth-file="+in("tokens.csv"),
		"--service-account-issuer=https://test.invalid", "--service-account-signing-key-file="+in("sa.key"),
		"--service-account-key-file="+in("sa.key"), "--disable-admission-plugins=ServiceAccount")
	if err != nil {
		return err
	}
	return k.process.await(func() error {
		client, err := rest.UnversionedRESTClientFor(k.bare())
		if err != nil {
			return err // the certificate is not written yet
		}
		ctx, cancel := context.WithTimeout(context.Background(), startLimit/20)
		defer cancel()
		_, err = client.Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	})
}

// bare is a configuration that can be used for paths.
func (k *Kube) bare() *rest.Config {
	c := k.Admin()
	c.NegotiatedSerializer = serializers
	return c
}

func (k *Kube) stop() {
	k.process.kill()
	if k.etcd != nil {
		k.etcd.killAll()
	}
}

// Address is the server's host and port.
func (k *Kube) Address() string { return fmt.Sprintf("127.0.0.1:%d", k.port) }

// Admin is how somebody who may do anything reaches the server.
func (k *Kube) Admin() *rest.Config { return k.As(k.AdminToken) }

// As is how the owner of a token reaches the server.
func (k *Kube) As(token string) *rest.Config {
	return &rest.Config{Host: "https://" + k.Address(), BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: k.CAFile}, WarningHandler: rest.NoWarnings{}}
}

// Through makes a configuration lead through a proxy.
func Through(c *rest.Config, p *Proxy) *rest.Config {
	out := rest.CopyConfig(c)
	out.Host = "https://" + p.Address()
	return out
}

// Kill kills the server, but not its etcd.
func (k *Kube) Kill() { k.process.kill() }

// Start starts it again, with everything that it had.
func (k *Kube) Start(t testing.TB) {
	t.Helper()
	k.Kill()
	if err := k.launch(); err != nil {
		t.Fatal(err)
	}
}

// Compact has etcd forget all that was.
func (k *Kube) Compact(t testing.TB) {
	t.Helper()
	k.etcd.Compact(t, k.etcd.Client(t))
}

// Kubeconfig writes a kubeconfig for the owner of a token, and returns its path.
func (k *Kube) Kubeconfig(t testing.TB, token string) string {
	t.Helper()
	return k.KubeconfigThrough(t, token, "https://"+k.Address())
}

// KubeconfigThrough is one that names another URL.
func (k *Kube) KubeconfigThrough(t testing.TB, token, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: test, user: {token: %q}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
`, url, k.CAFile, token)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Etcd is what is behind the server.
func (k *Kube) Etcd() *Etcd { return k.etcd }
