package backend

import (
	"context"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// limited is the context of one request.
func limited(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// until waits for a condition.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	if err := poll(func(context.Context) (bool, error) { return done(), nil }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func value(t testing.TB, c *clientv3.Client, key string) string {
	t.Helper()
	got, err := c.Get(limited(t), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) == 0 {
		return ""
	}
	return string(got.Kvs[0].Value)
}

func TestEtcdKeepsItsDataUntilItIsWiped(t *testing.T) {
	for _, v := range Versions {
		t.Run(string(v), func(t *testing.T) {
			e := StartEtcd(t, EtcdOptions{Version: v})
			c := e.Client(t)
			status, err := c.Status(limited(t), e.Endpoints()[0])
			if err != nil || !strings.HasPrefix(status.Version, "3.") {
				t.Errorf("version %v, %v", status, err)
			}
			e.Put(t, c, "/a", "1")
			e.Kill(0)
			e.Start(t, 0)
			if got := value(t, c, "/a"); got != "1" {
				t.Errorf("after a restart the value is %q", got)
			}
			e.Delete(t, c, "/a")
			e.Put(t, c, "/b", "2")
			e.Wipe(t, 0)
			e.Start(t, 0)
			if got := value(t, c, "/b"); got != "" {
				t.Errorf("after a wipe the value is %q", got)
			}
		})
	}
}

func TestEtcdForgetsWhatWasBeforeACompaction(t *testing.T) {
	for _, v := range Versions {
		t.Run(string(v), func(t *testing.T) {
			e := StartEtcd(t, EtcdOptions{Version: v})
			c := e.Client(t)
			e.Put(t, c, "/a", "1")
			e.Put(t, c, "/a", "2")
			e.Compact(t, c)
			e.Compact(t, c) // once more does no harm
			answer := <-c.Watch(limited(t), "/a", clientv3.WithRev(1))
			if answer.CompactRevision == 0 {
				t.Errorf("a watch from the first revision got %+v", answer)
			}
		})
	}
}

func TestEtcdChoosesAnotherLeader(t *testing.T) {
	for _, v := range Versions {
		t.Run(string(v), func(t *testing.T) {
			e := StartEtcd(t, EtcdOptions{Version: v, Members: 3})
			c := e.Client(t)
			old := e.Leader(t)
			e.Put(t, c, "/a", "1")
			e.Kill(old)
			e.Put(t, c, "/a", "2")
			if now := e.Leader(t); now == old {
				t.Errorf("member %d leads after it was killed", now)
			}
			e.Start(t, old)
			if got := value(t, c, "/a"); got != "2" {
				t.Errorf("the value is %q", got)
			}
			for i := range 3 {
				e.Kill(i)
			}
			for i := range 3 {
				e.Start(t, i)
			}
			if got := value(t, c, "/a"); got != "2" {
				t.Errorf("after all have been started again the value is %q", got)
			}
		})
	}
}

func TestEtcdIsSilentWhileItIsStopped(t *testing.T) {
	e := StartEtcd(t, EtcdOptions{})
	c := e.Client(t)
	e.Freeze(0)
	got := make(chan error)
	go func() {
		_, err := c.Get(limited(t), "/a")
		got <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := e.healthy(ctx, e.members[0]); err == nil {
		t.Error("it answers")
	}
	e.Thaw(0)
	if err := <-got; err != nil {
		t.Errorf("what was asked in the meantime: %v", err)
	}
}

func TestEtcdWithTLSWantsACertificate(t *testing.T) {
	for _, v := range Versions {
		t.Run(string(v), func(t *testing.T) {
			e := StartEtcd(t, EtcdOptions{Version: v, TLS: true, Auth: true})
			if got := value(t, e.Client(t), "/a"); got != "" {
				t.Errorf("the value is %q", got)
			}
			config, err := e.tls()
			if err != nil {
				t.Fatal(err)
			}
			config.GetClientCertificate, config.Certificates = nil, nil
			if _, err := get(limited(t), config, e.Endpoints()[0]+"/health", ""); err == nil {
				t.Error("it answers somebody without a certificate")
			}
		})
	}
}

func TestEtcdWithAuthLetsItsUserRead(t *testing.T) {
	for _, v := range Versions {
		t.Run(string(v), func(t *testing.T) {
			e := StartEtcd(t, EtcdOptions{Version: v, Auth: true, TokenTTL: 2})
			const key = "/calico/resources/v3/projectcalico.org/bgppeers/a"
			e.Put(t, e.Client(t), key, "1")
			c, err := e.newClient(e.User, e.Password)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if got := value(t, c, key); got != "1" {
				t.Errorf("the value is %q", got)
			}
			_, err = c.Put(limited(t), key, "2")
			if err == nil || !strings.Contains(err.Error(), "permission denied") {
				t.Errorf("a write gave %v", err)
			}
			_, err = c.Get(limited(t), "/calico/ipam/v2/assignment/a")
			if err == nil || !strings.Contains(err.Error(), "permission denied") {
				t.Errorf("reading something else gave %v", err)
			}
			if _, err := e.newClient(e.User, "x"); err == nil {
				t.Error("another password is good too")
			}
		})
	}
}
