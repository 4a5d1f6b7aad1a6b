package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// EtcdOptions says what an etcd should be like. The zero value is one of the newest
// version that everybody may use without a password, over http.
type EtcdOptions struct {
	Version  Version
	TLS      bool     // https, with certificates on both sides
	Auth     bool     // with passwords, and a user who may read what birdconfd reads
	TokenTTL int      // seconds until a token of Auth that is not used ends; 0 means etcd's 300
	Members  int      // 1 or 3; 0 means 1
	Flags    []string // further flags of each member
}

// Etcd is a cluster of etcd that runs for a test. Its methods are for the goroutine of the
// test.
type Etcd struct {
	// CAFile, CertFile and KeyFile are what a client needs, in PEM, empty without TLS.
	// The certificate is for the user "birdconfd"; server.pem and server-key.pem, which are
	// the server's, lie beside them.
	CAFile, CertFile, KeyFile string
	// User and Password are those of the user who may only read what birdconfd reads,
	// empty without Auth.
	User, Password string

	dir     string
	options EtcdOptions
	root    string // the administrator's password, empty without Auth
	members []*member
}

// member is one server of a cluster.
type member struct {
	process
	name         string
	client, peer int // ports
	data         string
}

// StartEtcd runs an etcd and waits until it is ready.
func StartEtcd(t testing.TB, o EtcdOptions) *Etcd {
	t.Helper()
	e, err := launchEtcd(t.TempDir(), o)
	check(t, err)
	t.Cleanup(func() {
		e.end()
		if t.Failed() {
			e.logTails(t)
		}
	})
	return e
}

func (e *Etcd) logTails(t testing.TB) {
	for _, m := range e.members {
		t.Logf("%s: %s", m.name, m.tail())
	}
}

func launchEtcd(dir string, o EtcdOptions) (*Etcd, error) {
	o.Members = max(o.Members, 1)
	binary, err := etcdBinary(o.Version)
	if err != nil {
		return nil, err
	}
	e := &Etcd{dir: dir, options: o}
	if o.TLS {
		if err := e.makeCertificates(); err != nil {
			return nil, err
		}
	}
	for range portTries {
		if err := e.choose(binary); err != nil {
			return nil, err
		}
		if err = e.startAll(); err == nil || !e.lostPort() {
			break
		}
		e.end()
	}
	if err == nil && o.Auth {
		err = e.enableAuth()
	}
	if err != nil {
		e.end()
		return nil, err
	}
	return e, nil
}

// choose makes the members anew, with other ports.
func (e *Etcd) choose(binary string) error {
	ports, err := freePorts(2 * e.options.Members)
	if err != nil {
		return err
	}
	e.members = nil
	var cluster []string
	for i := range e.options.Members {
		m := &member{name: fmt.Sprintf("m%d", i), client: ports[2*i], peer: ports[2*i+1]}
		m.data = filepath.Join(e.dir, m.name+".data")
		m.process = process{binary: binary, log: filepath.Join(e.dir, m.name+".log")}
		if err := errors.Join(os.RemoveAll(m.data), os.RemoveAll(m.log)); err != nil {
			return err
		}
		e.members = append(e.members, m)
		cluster = append(cluster, fmt.Sprintf("%s=http://%s", m.name, hostPort(m.peer)))
	}
	for _, m := range e.members {
		m.args = e.flags(m, strings.Join(cluster, ","))
	}
	return nil
}

func (e *Etcd) flags(m *member, cluster string) []string {
	client, peer := e.url(m), "http://"+hostPort(m.peer)
	args := []string{
		"--name=" + m.name, "--data-dir=" + m.data, "--log-level=warn", "--logger=zap",
		"--unsafe-no-fsync",
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + cluster,
		// Leaders are chosen soon, but not because a machine is busy.
		"--heartbeat-interval=50", "--election-timeout=500",
	}
	if e.options.TLS {
		args = append(args, "--client-cert-auth", "--trusted-ca-file="+e.CAFile,
			"--cert-file="+e.file("server.pem"), "--key-file="+e.file("server-key.pem"))
	}
	if ttl := e.options.TokenTTL; ttl != 0 {
		args = append(args, "--auth-token-ttl="+strconv.Itoa(ttl))
	}
	return append(args, e.options.Flags...)
}

func (e *Etcd) file(name string) string { return filepath.Join(e.dir, name) }

func (e *Etcd) url(m *member) string {
	if e.options.TLS {
		return "https://" + hostPort(m.client)
	}
	return "http://" + hostPort(m.client)
}

func (e *Etcd) startAll() error {
	for _, m := range e.members {
		if err := m.start(); err != nil {
			return err
		}
	}
	for _, m := range e.members {
		if err := m.untilReady(func(ctx context.Context) error { return e.healthy(ctx, m) }); err != nil {
			return err
		}
	}
	return nil
}

func (e *Etcd) lostPort() bool {
	for _, m := range e.members {
		if m.lostPort() {
			return true
		}
	}
	return false
}

func (e *Etcd) end() {
	for _, m := range e.members {
		m.kill()
	}
}

// Endpoints returns the URLs of all members, in their order.
func (e *Etcd) Endpoints() []string {
	var urls []string
	for _, m := range e.members {
		urls = append(urls, e.url(m))
	}
	return urls
}

// Address returns where a member listens, as host:port.
func (e *Etcd) Address(i int) string { return hostPort(e.members[i].client) }

// Kill ends a member as a crash does.
func (e *Etcd) Kill(i int) { e.members[i].kill() }

// Freeze halts a member: it keeps its connections, and says nothing.
func (e *Etcd) Freeze(i int) { e.members[i].signal(syscall.SIGSTOP) }

// Thaw lets a member go on after Freeze.
func (e *Etcd) Thaw(i int) { e.members[i].signal(syscall.SIGCONT) }

// Wipe kills a member and removes its data. Started again, it is the only member of a new
// and empty cluster with the same address, if it was the only one of the old.
func (e *Etcd) Wipe(t testing.TB, i int) {
	t.Helper()
	m := e.members[i]
	m.kill()
	if err := os.RemoveAll(m.data); err != nil {
		t.Fatal(err)
	}
}

// Start starts a member again, which is killed if it runs, at the same ports, and waits until
// it is ready; where most members are down, until it listens.
func (e *Etcd) Start(t testing.TB, i int) {
	t.Helper()
	m := e.members[i]
	m.kill()
	running := 1
	for _, other := range e.members {
		if other.running() {
			running++
		}
	}
	ready := func(ctx context.Context) error { return e.healthy(ctx, m) }
	if 2*running <= len(e.members) {
		ready = func(ctx context.Context) error { return dial(ctx, hostPort(m.client)) }
	}
	if err := m.startAgain(ready); err != nil {
		t.Fatal(err)
	}
}
