package backend

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// secure turns authentication on, with a user who may read what Calico keeps and no more.
func (e *Etcd) secure(t testing.TB) {
	t.Helper()
	c := e.Client(t)
	e.User, e.Password = "birdconfd", "read-of-the-test"
	steps := []func(context.Context) error{
		func(ctx context.Context) error { _, err := c.RoleAdd(ctx, "root"); return err },
		func(ctx context.Context) error { _, err := c.UserAdd(ctx, "root", rootPassword); return err },
		func(ctx context.Context) error { _, err := c.UserGrantRole(ctx, "root", "root"); return err },
		func(ctx context.Context) error { _, err := c.RoleAdd(ctx, "reader"); return err },
		func(ctx context.Context) error { _, err := c.UserAdd(ctx, e.User, e.Password); return err },
		func(ctx context.Context) error { _, err := c.UserGrantRole(ctx, e.User, "reader"); return err },
	}
	for _, kind := range []string{"bgpconfigurations", "bgpfilters", "bgppeers", "ippools", "nodes"} {
		steps = append(steps, e.Grant(c, "/calico/resources/v3/projectcalico.org/"+kind+"/"))
	}
	steps = append(steps, e.Grant(c, "/calico/ipam/v2/host/"),
		func(ctx context.Context) error { _, err := c.AuthEnable(ctx); return err })
	ctx, cancel := within(t)
	defer cancel()
	for _, step := range steps {
		if err := step(ctx); err != nil {
			t.Fatal("turn authentication on: ", err)
		}
	}
}

// Grant lets the user read the keys below a prefix.
func (e *Etcd) Grant(c *clientv3.Client, prefix string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := c.RoleGrantPermission(ctx, "reader", prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermRead))
		return err
	}
}

// Revoke takes the permission away.
func (e *Etcd) Revoke(t testing.TB, c *clientv3.Client, prefix string) {
	t.Helper()
	Do(t, "revoke "+prefix, func(ctx context.Context) error {
		_, err := c.RoleRevokePermission(ctx, "reader", prefix, clientv3.GetPrefixRangeEnd(prefix))
		return err
	})
}

// certify makes a CA with a certificate for the server and one for clients.
func (e *Etcd) certify() error {
	path := func(name string) string { return filepath.Join(e.dir, name) }
	e.CAFile, e.CertFile, e.KeyFile = path("ca.pem"), path("client.pem"), path("client-key.pem")
	ca, err := newAuthority(e.CAFile)
	if err != nil {
		return err
	}
	if err := ca.issue("server", path("server.pem"), path("server-key.pem")); err != nil {
		return err
	}
	if err := ca.issue("client", e.CertFile, e.KeyFile); err != nil {
		return err
	}
	e.server = []string{"--cert-file", path("server.pem"), "--key-file", path("server-key.pem"),
		"--client-cert-auth", "--trusted-ca-file", e.CAFile}
	return nil
}

// authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(file string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{cert: &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}, key: key}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return a, writePEM(file, "CERTIFICATE", der)
}

func (a *authority) issue(name, certFile, keyFile string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(certFile, "CERTIFICATE", der); err != nil {
		return err
	}
	return writePEM(keyFile, "EC PRIVATE KEY", keyDER)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
