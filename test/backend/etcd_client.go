package backend

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Client returns a client of all members for the administrator, who may do anything. It
// is closed with the test.
func (e *Etcd) Client(t testing.TB) *clientv3.Client {
	t.Helper()
	c, err := e.newClient("root", e.root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func (e *Etcd) newClient(user, password string) (*clientv3.Client, error) {
	config := clientv3.Config{Endpoints: e.Endpoints(), DialTimeout: patience, Logger: zap.NewNop()}
	if password != "" {
		config.Username, config.Password = user, password
	}
	var err error
	if config.TLS, err = e.tls(); err != nil {
		return nil, err
	}
	c, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("connect to etcd as %s: %w", user, err)
	}
	return c, nil
}

// tls returns what a client needs for https, nil without.
func (e *Etcd) tls() (*tls.Config, error) {
	if !e.options.TLS {
		return nil, nil
	}
	info := transport.TLSInfo{TrustedCAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile}
	return info.ClientConfig()
}

// healthy asks a member whether it is of a cluster that works.
func (e *Etcd) healthy(ctx context.Context, m *member) error {
	config, err := e.tls()
	if err != nil {
		return err
	}
	body, err := get(ctx, config, e.url(m)+"/health", "")
	if err == nil && !strings.Contains(body, `"health":"true"`) {
		err = fmt.Errorf("it says %s", body)
	}
	return err
}

// get makes one request over a connection of its own.
func get(ctx context.Context, config *tls.Config, url, token string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return string(body), err
}

// dial tries whether somebody listens.
func dial(ctx context.Context, address string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err == nil {
		conn.Close()
	}
	return err
}

// Do makes a request until it succeeds, with a limit of its own each time: a cluster that
// chooses a leader, or a server that has just started, refuses for a moment.
func Do(t testing.TB, what string, request func(context.Context) error) {
	t.Helper()
	var last error
	err := poll(func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, patience/8)
		defer cancel()
		last = request(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v (%v)", what, err, last)
	}
}

// try is Do with a client of the administrator.
func (e *Etcd) try(t testing.TB, what string, do func(context.Context, *clientv3.Client) error) {
	t.Helper()
	c, err := e.newClient("root", e.root)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	Do(t, what, func(ctx context.Context) error { return do(ctx, c) })
}

// Put sets a key.
func (e *Etcd) Put(t testing.TB, c *clientv3.Client, key, value string) {
	t.Helper()
	Do(t, "put "+key, func(ctx context.Context) error { _, err := c.Put(ctx, key, value); return err })
}

// Delete removes a key, or with options several.
func (e *Etcd) Delete(t testing.TB, c *clientv3.Client, key string, o ...clientv3.OpOption) {
	t.Helper()
	Do(t, "delete "+key, func(ctx context.Context) error { _, err := c.Delete(ctx, key, o...); return err })
}

// Clear removes all of Calico's keys.
func (e *Etcd) Clear(t testing.TB, c *clientv3.Client) {
	t.Helper()
	e.Delete(t, c, rootKey, clientv3.WithPrefix())
}

// Compact forgets what was before the current revision.
func (e *Etcd) Compact(t testing.TB, c *clientv3.Client) {
	t.Helper()
	Do(t, "compact", func(ctx context.Context) error {
		now, err := c.Get(ctx, "revision", clientv3.WithCountOnly())
		if err != nil {
			return err
		}
		_, err = c.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical())
		if err != nil && strings.Contains(err.Error(), "has been compacted") {
			return nil // nothing has changed since the last time
		}
		return err
	})
}

// Leader returns the number of the member that leads. It waits until there is one.
func (e *Etcd) Leader(t testing.TB) int {
	t.Helper()
	leader := -1
	e.try(t, "look for the leader", func(ctx context.Context, c *clientv3.Client) error {
		for i, m := range e.members {
			if !m.running() {
				continue
			}
			status, err := c.Status(ctx, e.url(m))
			if err != nil {
				return err
			}
			if status.Leader == status.Header.MemberId {
				leader = i
				return nil
			}
		}
		return fmt.Errorf("no member leads")
	})
	return leader
}
