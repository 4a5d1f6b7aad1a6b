package etcd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/datastore/etcd"
	"github.com/birdconfd/birdconfd/test/backend"
)

func TestTLS(t *testing.T) {
	e := backend.StartEtcd(t, backend.EtcdOptions{TLS: true})
	c := e.Client(t)
	e.Put(t, c, peerKey("a"), peer("a", "192.0.2.1"))
	read := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	good := direct(e.Endpoints()[0])
	good.CAFile, good.CertFile, good.KeyFile = e.CAFile, e.CertFile, e.KeyFile
	for name, c := range map[string]struct {
		change func(*etcd.Connection)
		fault  string // part of the error, "" when it works
	}{
		"files": {func(*etcd.Connection) {}, ""},
		"texts": {func(c *etcd.Connection) {
			*c = etcd.Connection{Endpoints: c.Endpoints, CA: "\n" + read(e.CAFile), Cert: read(e.CertFile), Key: read(e.KeyFile)}
		}, ""},
		"no CA":                 {func(c *etcd.Connection) { c.CAFile = "" }, "certificate"},
		"no client certificate": {func(c *etcd.Connection) { c.CertFile, c.KeyFile = "", "" }, ""}, // see below
		"a file that is not there": {func(c *etcd.Connection) { c.CAFile = "/nonexistent.pem" },
			"CA certificates: open /nonexistent.pem: no such file or directory"},
		"no certificate in the CA file": {func(c *etcd.Connection) { c.CAFile = e.KeyFile }, "CA certificates: there is none"},
		"a key that is not the certificate's": {func(c *etcd.Connection) { c.KeyFile = filepath.Join(filepath.Dir(e.KeyFile), "server-key.pem") },
			"client certificate and key: "},
	} {
		t.Run(name, func(t *testing.T) {
			connection := good
			c.change(&connection)
			w := watch(t, connection, impatient())
			if c.fault == "" && connection.CertFile+connection.Cert != "" {
				w.PeersAre("a=192.0.2.1")
				return
			}
			w.Lost()
			if s := w.Source.Status(); !strings.Contains(s.LastError, c.fault) || strings.Contains(s.LastError, "PRIVATE") {
				t.Errorf("it says %q", s.LastError)
			}
		})
	}

	// Certificates are replaced while the connection holds, and used for the next one.
	t.Run("rotation", func(t *testing.T) {
		connection, dir := good, t.TempDir()
		connection.CAFile, connection.CertFile, connection.KeyFile = filepath.Join(dir, "ca"), filepath.Join(dir, "cert"), filepath.Join(dir, "key")
		write := func(path, text string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(connection.CAFile, read(e.CAFile))
		write(connection.CertFile, read(e.CertFile))
		write(connection.KeyFile, read(e.KeyFile))
		w := watch(t, connection, impatient())
		w.PeersAre("a=192.0.2.1")
		write(connection.KeyFile, "spoilt")
		e.Kill(0)
		e.Start(t, 0)
		w.Until("refused", func() bool { return strings.Contains(w.Source.Status().LastError, "client certificate and key") })
		write(connection.KeyFile, read(e.KeyFile))
		w.Found()
		e.Put(t, c, peerKey("a"), peer("a", "192.0.2.2"))
		w.PeersAre("a=192.0.2.2")

		write(connection.CAFile, read(e.CertFile)) // a certificate, but not the one that the server's is signed with
		e.Kill(0)
		e.Start(t, 0)
		w.Until("refused", func() bool { return strings.Contains(w.Source.Status().LastError, "unknown authority") })
		write(connection.CAFile, read(e.CAFile))
		w.Found()
		e.Put(t, c, peerKey("a"), peer("a", "192.0.2.3"))
		w.PeersAre("a=192.0.2.3")
	})
}
