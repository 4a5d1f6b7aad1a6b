package etcd_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/test/backend"
)

func TestAuthentication(t *testing.T) {
	for _, v := range backend.Versions {
		t.Run(string(v), func(t *testing.T) {
			e := backend.StartEtcd(t, backend.EtcdOptions{Version: v, Auth: true, TokenTTL: 2})
			c := e.Client(t)
			e.Put(t, c, peerKey("a"), peer("a", "192.0.2.1"))
			connection := direct(e.Endpoints()[0])

			t.Run("wrong password", func(t *testing.T) {
				connection := connection
				connection.Username, connection.Password = e.User, "not-the-password"
				w := watch(t, connection, impatient())
				w.Lost()
				said := fmt.Sprintf("%+v", w.Source.Status()) + w.Log.String()
				if !strings.Contains(said, "authentication failed") || strings.Contains(said, connection.Password) {
					t.Errorf("it says %s", said)
				}
			})
			connection.Username, connection.Password = e.User, e.Password
			w := watch(t, connection, impatient())
			w.PeersAre("a=192.0.2.1")
			// Longer than a login lasts, with signs of life in between. Version 3.4 may leave a client
			// without an answer whose login has run out, hence a new one for the writes.
			end := time.Now().Add(3 * time.Second)
			w.Until("certain after the login has run out", func() bool { return w.Source.Status().SyncedAt.After(end) })
			c = e.Client(t)
			e.Put(t, c, peerKey("a"), peer("a", "192.0.2.2"))
			w.PeersAre("a=192.0.2.2")

			e.Revoke(t, c, resources+"bgppeers/")
			e.Revoke(t, c, resources+"nodes/")
			e.Kill(0)
			w.Lost()
			e.Start(t, 0)
			c = e.Client(t)
			e.Put(t, c, peerKey("a"), peer("a", "192.0.2.3"))
			w.PeersAre("a=192.0.2.2 forbidden forbidden")
			s, _ := w.Last()
			text := fmt.Sprint(s.Problems)
			for _, part := range []string{resources + "bgppeers/", resources + "nodes/", "grant-permission"} {
				if !strings.Contains(text, part) {
					t.Errorf("problems %s, without %s", text, part)
				}
			}
			backend.Do(t, "grant", e.Grant(c, resources+"bgppeers/"))
			backend.Do(t, "grant", e.Grant(c, resources+"nodes/"))
			w.PeersAre("a=192.0.2.3")
			w.Found()
			if strings.Contains(w.Log.String(), e.Password) {
				t.Error("the log has the password")
			}
		})
	}
}

// A login runs out: one that nobody uses for a while, and one that ends whatever one does. The
// stream with the watches was begun with it.
func TestLoginsRunOut(t *testing.T) {
	signed := func(t *testing.T, v backend.Version) backend.EtcdOptions {
		return backend.EtcdOptions{Version: v, Auth: true, Flags: []string{"--auth-token=jwt,sign-method=RS256,ttl=1s," + signingKeys(t)}}
	}
	for name, c := range map[string]struct {
		options    backend.EtcdOptions
		heartbeat  time.Duration
		reconnects bool
	}{
		"when it is not used": {backend.EtcdOptions{Auth: true, TokenTTL: 1}, 3 * time.Second, false},
		"in any case":         {signed(t, backend.Etcd37), 300 * time.Millisecond, false},
		// Version 3.4 refuses to renew a login over a connection with one that has run out.
		"in any case, with 3.4": {signed(t, backend.Etcd34), 300 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := backend.StartEtcd(t, c.options)
			e.Put(t, e.Client(t), peerKey("a"), peer("a", "192.0.2.1"))
			connection := direct(e.Endpoints()[0])
			connection.Username, connection.Password = e.User, e.Password
			o := impatient()
			o.Heartbeat, o.Timeout = c.heartbeat, 2*time.Second
			w := watch(t, connection, o)
			w.PeersAre("a=192.0.2.1")
			end := time.Now().Add(5 * time.Second)
			w.Until("certain after that", func() bool { return w.Source.Status().SyncedAt.After(end) })
			e.Put(t, e.Client(t), peerKey("a"), peer("a", "192.0.2.2"))
			w.PeersAre("a=192.0.2.2")
			if s := w.Source.Status(); s.Reads != 6 || s.Reconnects > 0 && !c.reconnects {
				t.Errorf("%d lists read, want 6, and connected anew %d times; log:\n%s", s.Reads, s.Reconnects, w.Log)
			}
		})
	}
}

// signingKeys writes keys for the logins of etcd, and returns the options that name them.
func signingKeys(t *testing.T) string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	public, private := filepath.Join(dir, "public.pem"), filepath.Join(dir, "private.pem")
	for path, block := range map[string]*pem.Block{public: {Type: "PUBLIC KEY", Bytes: der},
		private: {Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return "pub-key=" + public + ",priv-key=" + private
}

// A login waits for a server, but the end of it tells why there is none.
func TestLoginWithoutServer(t *testing.T) {
	e := backend.StartEtcd(t, backend.EtcdOptions{Auth: true})
	proxy := backend.NewProxy(t, e.Address(0))
	proxy.Refuse()
	connection := direct(proxy.URL("http"))
	connection.Username, connection.Password = e.User, e.Password
	w := watch(t, connection, impatient())
	w.Lost()
	if said := w.Source.Status().LastError; !strings.Contains(said, "connection refused") || strings.Contains(said, e.Password) {
		t.Errorf("it says %q", said)
	}
	proxy.Open()
	w.Found()
}
