package backend

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// EtcdOptions say what etcd is to be like.
type EtcdOptions struct {
	Version Version // Etcd37 when empty
	Members int     // 1 when zero
	// TLS has it ask for client certificates.
	TLS bool
	// Auth has it ask for a name and a password. TokenTTL is how long a login lasts, in seconds.
	Auth     bool
	TokenTTL int
	Flags    []string
}

// Etcd is an etcd cluster.
type Etcd struct {
	// CAFile, CertFile and KeyFile are for clients, with TLS.
	CAFile, CertFile, KeyFile string
	// User and Password are those of somebody who may read what Calico keeps, with Auth.
	User, Password string

	o       EtcdOptions
	program string
	dir     string
	members []*member
	server  []string // flags for TLS
}

type member struct {
	process      *process
	client, peer int // ports
	starts       int
}

const rootPassword = "root-of-the-test"

// StartEtcd starts etcd and waits until it is ready.
func StartEtcd(t testing.TB, o EtcdOptions) *Etcd {
	t.Helper()
	if o.Version == "" {
		o.Version = Etcd37
	}
	program := o.Version.program(t)
	e, err := launchEtcd(program, t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.killAll)
	if o.Auth {
		e.secure(t)
	}
	return e
}

func launchEtcd(program, dir string, o EtcdOptions) (*Etcd, error) {
	o.Members = max(1, o.Members)
	var err error
	for range 5 { // ports can be taken by others
		e := &Etcd{o: o, program: program, dir: dir}
		if o.TLS {
			if err := e.certify(); err != nil {
				return nil, err
			}
		}
		ports, e1 := freePorts(2 * o.Members)
		if e1 != nil {
			return nil, e1
		}
		for i := range o.Members {
			e.members = append(e.members, &member{client: ports[2*i], peer: ports[2*i+1]})
		}
		if err = e.startAll(); err == nil {
			return e, nil
		}
		e.killAll()
		if !strings.Contains(err.Error(), "address already in use") {
			return nil, err
		}
		os.RemoveAll(filepath.Join(dir, "0"))
	}
	return nil, err
}

func (e *Etcd) startAll() error {
	for i := range e.members {
		if err := e.launch(i); err != nil {
			return err
		}
	}
	for i := range e.members {
		if err := e.ready(i); err != nil {
			return err
		}
	}
	return nil
}

func (e *Etcd) killAll() {
	for _, m := range e.members {
		m.process.kill()
	}
}

func (e *Etcd) scheme() string {
	if e.o.TLS {
		return "https"
	}
	return "http"
}

func (e *Etcd) url(i int) string {
	return fmt.Sprintf("%s://127.0.0.1:%d", e.scheme(), e.members[i].client)
}

func (e *Etcd) data(i int) string { return filepath.Join(e.dir, fmt.Sprint(i)) }

func (e *Etcd) launch(i int) error {
	var cluster []string
	for j, m := range e.members {
		cluster = append(cluster, fmt.Sprintf("m%d=http://127.0.0.1:%d", j, m.peer))
	}
	m := e.members[i]
	peer := fmt.Sprintf("http://127.0.0.1:%d", m.peer)
	args := []string{"--name", fmt.Sprintf("m%d", i), "--data-dir", e.data(i),
		"--listen-client-urls", e.url(i), "--advertise-client-urls", e.url(i),
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
		"--initial-cluster", strings.Join(cluster, ","), "--initial-cluster-token", e.dir,
		"--heartbeat-interval", "20", "--election-timeout", "200", "--unsafe-no-fsync", "--log-level", "warn"}
	if e.o.Version == Etcd34 {
		args = append(args, "--logger", "zap")
		args = without(args, "--unsafe-no-fsync") // not in all versions
	}
	if e.o.TokenTTL > 0 {
		args = append(args, "--auth-token-ttl", fmt.Sprint(e.o.TokenTTL))
	}
	args = append(append(args, e.server...), e.o.Flags...)
	m.starts++
	var err error
	m.process, err = start(filepath.Join(e.dir, fmt.Sprintf("m%d.log", i)), e.program, args...)
	return err
}

func without(list []string, word string) []string {
	var out []string
	for _, s := range list {
		if s != word {
			out = append(out, s)
		}
	}
	return out
}

// ready waits until a member serves.
func (e *Etcd) ready(i int) error {
	config, err := e.tls()
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	return e.members[i].process.await(func() error {
		r, err := client.Get(e.url(i) + "/health")
		if err != nil {
			return err
		}
		defer r.Body.Close()
		body, _ := io.ReadAll(r.Body)
		var health struct{ Health string }
		if json.Unmarshal(body, &health) != nil || health.Health != "true" {
			return fmt.Errorf("health: %s", body)
		}
		return nil
	})
}

func (e *Etcd) tls() (*tls.Config, error) {
	if !e.o.TLS {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(e.CertFile, e.KeyFile)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(e.CAFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}, nil
}

// Endpoints are the URLs of all members.
func (e *Etcd) Endpoints() []string {
	var urls []string
	for i := range e.members {
		urls = append(urls, e.url(i))
	}
	return urls
}

// Address is the host and port of a member.
func (e *Etcd) Address(i int) string { return fmt.Sprintf("127.0.0.1:%d", e.members[i].client) }

// Client makes a client that may do anything.
func (e *Etcd) Client(t testing.TB) *clientv3.Client {
	t.Helper()
	config, err := e.tls()
	if err != nil {
		t.Fatal(err)
	}
	c := clientv3.Config{Endpoints: e.Endpoints(), TLS: config, DialTimeout: 20 * time.Second, Logger: zap.NewNop()}
	if e.User != "" {
		c.Username, c.Password = "root", rootPassword
	}
	client, err := clientv3.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// within bounds a request of a test.
func within(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}

// Do makes requests until one succeeds: a server that has just started may refuse some.
func Do(t testing.TB, what string, request func(context.Context) error) {
	t.Helper()
	ctx, cancel := within(t)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		short, stop := context.WithTimeout(ctx, 5*time.Second)
		err := request(short)
		stop()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, errors.Join(err, ctx.Err()))
		case <-tick.C:
		}
	}
}

// Put writes a key.
func (e *Etcd) Put(t testing.TB, c *clientv3.Client, key, value string) {
	t.Helper()
	Do(t, "put "+key, func(ctx context.Context) error { _, err := c.Put(ctx, key, value); return err })
}

// Delete deletes a key.
func (e *Etcd) Delete(t testing.TB, c *clientv3.Client, key string, o ...clientv3.OpOption) {
	t.Helper()
	Do(t, "delete "+key, func(ctx context.Context) error { _, err := c.Delete(ctx, key, o...); return err })
}

// Compact compacts everything up to now.
func (e *Etcd) Compact(t testing.TB, c *clientv3.Client) {
	t.Helper()
	Do(t, "compact", func(ctx context.Context) error {
		r, err := c.Get(ctx, "x")
		if err != nil {
			return err
		}
		_, err = c.Compact(ctx, r.Header.Revision, clientv3.WithCompactPhysical())
		return err
	})
}

// Kill kills a member.
func (e *Etcd) Kill(i int) { e.members[i].process.kill() }

// Start starts a member again, with the data and ports it had, and waits until it is ready
// if a majority of the members is there.
func (e *Etcd) Start(t testing.TB, i int) {
	t.Helper()
	e.Kill(i)
	if err := e.launch(i); err != nil {
		t.Fatal(err)
	}
	if err := e.ready(i); err != nil {
		t.Fatal(err)
	}
}

// Wipe kills a member and removes its data: it starts as a new one.
func (e *Etcd) Wipe(t testing.TB, i int) {
	t.Helper()
	e.Kill(i)
	if err := os.RemoveAll(e.data(i)); err != nil {
		t.Fatal(err)
	}
}

// Freeze stops a member as SIGSTOP does, and Thaw has it go on.
func (e *Etcd) Freeze(i int) { e.members[i].process.signal(syscall.SIGSTOP) }

// Thaw has a member go on.
func (e *Etcd) Thaw(i int) { e.members[i].process.signal(syscall.SIGCONT) }
