package etcd_test

import (
	"fmt"
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
			e.Kill(0)
			w.Lost()
			e.Start(t, 0)
			c = e.Client(t)
			e.Put(t, c, peerKey("a"), peer("a", "192.0.2.3"))
			w.PeersAre("a=192.0.2.2 forbidden")
			s, _ := w.Last()
			text := fmt.Sprint(s.Problems)
			for _, part := range []string{resources + "bgppeers/", "grant-permission"} {
				if !strings.Contains(text, part) {
					t.Errorf("problems %s, without %s", text, part)
				}
			}
			backend.Do(t, "grant", e.Grant(c, resources+"bgppeers/"))
			w.PeersAre("a=192.0.2.3")
			w.Found()
			if strings.Contains(w.Log.String(), e.Password) {
				t.Error("the log has the password")
			}
		})
	}
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
