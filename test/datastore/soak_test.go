package datastore

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/test/backend"
	"github.com/birdconfd/birdconfd/test/shared"
)

// soakTime is how long the random changes go on: BIRDCONFD_TEST_SOAK, as in 5m, or 20 seconds.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("BIRDCONFD_TEST_SOAK")
	if text == "" {
		return 20 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestRestartsUnderLoad kills etcd again and again, and compacts it, while resources change at
// random. In the end the files that the daemon has written are those of a fresh render.
func TestRestartsUnderLoad(t *testing.T) {
	bird := filepath.Dir(birdtest.Bird(t))
	e := backend.StartEtcd(t, backend.EtcdOptions{})
	c := e.Client(t)
	program := build(t)
	env := append(os.Environ(), "ETCD_ENDPOINTS="+e.Endpoints()[0], "NODENAME=n0", "KUBECONFIG=", "KUBERNETES_SERVICE_HOST=")
	put(t, c, rand.New(rand.NewPCG(1, 1)), 0)
	running := t.TempDir()
	d := startDaemon(t, env, program, "run", "--datastore=etcd", "--output="+running, "--family=ipv4", "--bird-dir="+bird,
		"--guard-hold=0", "--settle=50ms")

	var changing sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), soakTime(t))
	defer cancel()
	changes := 0
	changing.Go(func() {
		r := rand.New(rand.NewPCG(7, 7))
		tick := time.NewTicker(3 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			if put(t, c, r, r.IntN(40)) == nil {
				changes++
			}
		}
	})
	restarts := 0
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-tick.C:
		}
		e.Kill(0)
		e.Start(t, 0)
		if restarts++; restarts%3 == 0 {
			e.Compact(t, c)
		}
	}
	changing.Wait()
	if put(t, c, rand.New(rand.NewPCG(9, 9)), 0) != nil {
		t.Fatal("the last change could not be written")
	}
	fresh := t.TempDir()
	render := exec.Command(program, "render", "--datastore=etcd", "--output="+fresh, "--family=ipv4", "--phase=steady", "--bird-dir="+bird)
	render.Env = env
	if out, err := render.CombinedOutput(); err != nil && render.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	d.until(t, func() error { return sameDirs(fresh, running) })
	t.Logf("%d changes, %d restarts of etcd", changes, restarts)
	if changes < 100 || restarts < 3 {
		t.Errorf("%d changes and %d restarts are too few", changes, restarts)
	}
}

// put makes one random change of about forty objects.
func put(t *testing.T, c *clientv3.Client, r *rand.Rand, what int) error {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	const root = "/calico/resources/v3/projectcalico.org/"
	document := func(kind, name, spec string) string {
		return fmt.Sprintf(`{"kind":%q,"apiVersion":"projectcalico.org/v3","metadata":{"name":%q},"spec":{%s}}`, kind, name, spec)
	}
	n := r.IntN(200) + 1
	var key, value string
	switch name := fmt.Sprintf("n%d", what); {
	case what < 15:
		key, value = root+"nodes/"+name, document("Node", name, fmt.Sprintf(`"bgp":{"ipv4Address":"10.%d.0.%d/16"}`, what, n))
	case what < 25:
		key, value = root+"bgppeers/"+name, document("BGPPeer", name, fmt.Sprintf(`"peerIP":"192.0.%d.%d","asNumber":%d`, what, n, 64512+n))
	case what < 30:
		key, value = root+"ippools/"+name, document("IPPool", name, fmt.Sprintf(`"cidr":"10.%d.0.0/16"`, 100+n%100))
	case what < 35:
		key, value = fmt.Sprintf("/calico/ipam/v2/host/n0/ipv4/block/10.244.%d.0-26", n), `{"state":"confirmed"}`
	default:
		key, value = root+"bgpconfigurations/default", document("BGPConfiguration", "default", fmt.Sprintf(`"asNumber":%d,"gracefulRestartWait":"%ds"`, 64512+n, n))
	}
	var err error
	switch roll := r.IntN(10); {
	case roll < 2 && what > 0:
		_, err = c.Delete(ctx, key)
	case roll == 2 && what > 0:
		_, err = c.Put(ctx, key, "{")
		if err == nil { // malformed for a moment only: what it then means depends on what was seen
			_, err = c.Put(ctx, key, value)
		}
	default:
		_, err = c.Put(ctx, key, value)
	}
	return err
}

func sameDirs(want, got string) error {
	entries, err := os.ReadDir(want)
	if err != nil || len(entries) == 0 {
		return fmt.Errorf("nothing was rendered: %w", err)
	}
	for _, entry := range entries {
		a, err := os.ReadFile(filepath.Join(want, entry.Name()))
		if err != nil {
			return err
		}
		b, err := os.ReadFile(filepath.Join(got, entry.Name()))
		if err != nil {
			return err
		}
		if !bytes.Equal(a, b) {
			return fmt.Errorf("%s differs: rendered anew\n%s\nby the daemon\n%s", entry.Name(), a, b)
		}
	}
	return nil
}

// build builds the program as it is shipped.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "birdconfd")
	out, err := exec.Command("go", "build", "-trimpath", "-o", path, "github.com/birdconfd/birdconfd/cmd/birdconfd").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// running is a daemon that runs.
type running struct {
	cmd *exec.Cmd
	log *shared.Log
}

func startDaemon(t *testing.T, env []string, program string, args ...string) *running {
	t.Helper()
	d := &running{cmd: exec.Command(program, args...), log: &shared.Log{}}
	d.cmd.Env, d.cmd.Stdout, d.cmd.Stderr = env, d.log, d.log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.cmd.Wait() }()
	t.Cleanup(func() {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the daemon ended with %v:\n%s", err, d.log)
			}
		case <-time.After(deadline):
			t.Error("the daemon does not end")
		}
	})
	return d
}

// until waits for something to be as it should.
func (d *running) until(t *testing.T, is func() error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(deadline)
	for {
		err := is()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%v\nlog:\n%s", err, d.log)
		}
	}
}
