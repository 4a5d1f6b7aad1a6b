package datastore

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/daemon"
	"github.com/birdconfd/birdconfd/test/backend"
)

// instance is a daemon that can be asked how it is.
type instance struct {
	*running
	url string
}

// instanceOf runs the daemon for the node n0, with files in a directory.
func instanceOf(t *testing.T, program, dir string, env []string, args ...string) *instance {
	t.Helper()
	n := rand.Uint32()
	listen := fmt.Sprintf("127.%d.%d.%d:9097", 1+n>>16%250, n>>8%250, 1+n%250)
	args = append([]string{"run", "--node=n0", "--output=" + dir, "--family=ipv4", "--bird-dir=" + filepath.Dir(birdtest.Bird(t)),
		"--settle=20ms", "--listen=" + listen}, args...)
	env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}, env...)
	return &instance{startDaemon(t, env, program, args...), "http://" + listen}
}

// report is what /status says, nil while nothing answers.
func (i *instance) report() *daemon.Report {
	answer, err := http.Get(i.url + "/status")
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	var r daemon.Report
	if json.NewDecoder(answer.Body).Decode(&r) != nil {
		return nil
	}
	return &r
}

// body is what a path says, with the status code.
func (i *instance) body(t *testing.T, path string) (int, string) {
	t.Helper()
	answer, err := http.Get(i.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(data)
}

// is waits for a state.
func (i *instance) is(t *testing.T, what string, true func(*daemon.Report) bool) {
	t.Helper()
	i.until(t, func() error {
		if r := i.report(); r == nil || !true(r) {
			return fmt.Errorf("%s: it never was; %+v", what, r)
		}
		return nil
	})
}

// has waits for a text in the main file.
func (i *instance) has(t *testing.T, dir, text string) {
	t.Helper()
	i.until(t, func() error {
		data, err := os.ReadFile(filepath.Join(dir, "bird.cfg"))
		if err == nil && !strings.Contains(string(data), text) {
			err = fmt.Errorf("%q is not in\n%s", text, data)
		}
		return err
	})
}

// server is what the daemon reads from, behind a proxy.
type server struct {
	proxy *backend.Proxy
	env   []string
	flag  string
	peer  func(address string)
}

func servers(t *testing.T) map[string]func(t *testing.T) server {
	const node = "projectcalico.org/v3\nkind: Node\nmetadata: {name: n0}\nspec: {bgp: {ipv4Address: 10.0.0.1/16}}\n"
	peer := func(address string) string {
		return "projectcalico.org/v3\nkind: BGPPeer\nmetadata: {name: tor}\nspec: {peerIP: " + address + ", asNumber: 64600}\n"
	}
	return map[string]func(t *testing.T) server{
		"etcd": func(t *testing.T) server {
			e := backend.StartEtcd(t, backend.EtcdOptions{})
			c := e.Client(t)
			proxy := backend.NewProxy(t, e.Address(0))
			e.Load(t, c, "apiVersion: "+node)
			return server{proxy, []string{"ETCD_ENDPOINTS=http://" + proxy.Address()}, "--datastore=etcd",
				func(address string) { e.Load(t, c, "apiVersion: "+peer(address)) }}
		},
		"kubernetes": func(t *testing.T) server {
			k := backend.SharedKube(t)
			k.Both(t)
			proxy := backend.NewProxy(t, k.Address())
			k.Load(t, backend.GroupV1, "apiVersion: "+node)
			return server{proxy, []string{"KUBECONFIG=" + k.KubeconfigThrough(t, k.AdminToken, "https://"+proxy.Address())}, "--datastore=kubernetes",
				func(address string) { k.Load(t, backend.GroupV1, "apiVersion: "+peer(address)) }}
		},
	}
}

// W6, W13 and W5 with the whole daemon: the server is not there at the start, once without and
// once with files of an earlier run; and it is lost while the daemon runs.
func TestOutages(t *testing.T) {
	program := build(t)
	for name, start := range servers(t) {
		t.Run(name, func(t *testing.T) {
			s, dir := start(t), t.TempDir()
			s.peer("192.0.2.1")

			t.Run("absent at the start", func(t *testing.T) {
				s.proxy.Refuse()
				d := instanceOf(t, program, dir, s.env, s.flag)
				d.is(t, "it says so", func(r *daemon.Report) bool {
					return !r.Ready && !r.Source.Synced && !r.Source.Connected && r.Source.LastError != ""
				})
				if code, text := d.body(t, "/readyz"); code != 503 || !strings.Contains(text, "source: "+name+" has not been read completely yet: ") {
					t.Errorf("/readyz: %d %s", code, text)
				}
				if entries, _ := filepath.Glob(filepath.Join(dir, "*.cfg")); len(entries) > 0 {
					t.Errorf("files of nothing: %v", entries)
				}
				s.proxy.Open()
				d.has(t, dir, "neighbor 192.0.2.1")
				d.is(t, "it is fine", func(r *daemon.Report) bool { return r.Ready && r.Source.Connected && len(r.Source.Parts) == 6 })
				if _, text := d.body(t, "/metrics"); !strings.Contains(text, `birdconfd_source_part_objects{part="BGPPeers"} 1`) {
					t.Errorf("metrics lack the peers:\n%s", text)
				}
			})

			t.Run("absent at the next start", func(t *testing.T) {
				s.proxy.Refuse()
				before, err := os.Stat(filepath.Join(dir, "bird.cfg"))
				if err != nil {
					t.Fatal(err)
				}
				d := instanceOf(t, program, dir, s.env, s.flag)
				d.is(t, "it serves what it had", func(r *daemon.Report) bool {
					return !r.Ready && strings.Contains(strings.Join(r.Notes, " "), "serving what was applied at")
				})
				if after, err := os.Stat(filepath.Join(dir, "bird.cfg")); err != nil || !os.SameFile(before, after) || after.ModTime() != before.ModTime() {
					t.Errorf("the file was touched: %v", err)
				}
				s.peer("192.0.2.2")
				s.proxy.Open()
				d.has(t, dir, "neighbor 192.0.2.2")
			})

			t.Run("lost", func(t *testing.T) {
				d := instanceOf(t, program, dir, s.env, s.flag)
				d.is(t, "it is fine", func(r *daemon.Report) bool { return r.Ready && r.Source.Connected })
				s.proxy.Refuse()
				d.is(t, "it is lost", func(r *daemon.Report) bool { return !r.Source.Connected && r.Source.Synced })
				if code, text := d.body(t, "/readyz"); code != 200 || !strings.Contains(text, "source: "+name+" cannot be read now") {
					t.Errorf("/readyz: %d %s", code, text)
				}
				if _, text := d.body(t, "/metrics"); !strings.Contains(text, "birdconfd_source_connected 0") {
					t.Errorf("metrics do not say so:\n%s", text)
				}
				d.has(t, dir, "neighbor 192.0.2.2")
				s.peer("192.0.2.3")
				s.proxy.Open()
				d.has(t, dir, "neighbor 192.0.2.3")
				d.is(t, "it is fine again", func(r *daemon.Report) bool { return r.Ready && r.Source.Connected && r.Source.LastError == "" })
			})
		})
	}
}

// W7: waiting for a server that is not there takes no processor time.
func TestWaitingIsNoWork(t *testing.T) {
	program := build(t)
	for name, env := range map[string][]string{
		"etcd":       {"ETCD_ENDPOINTS=http://127.0.0.1:1", "DATASTORE_TYPE=etcdv3"},
		"kubernetes": {"K8S_API_ENDPOINT=https://127.0.0.1:1", "DATASTORE_TYPE=kubernetes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := instanceOf(t, program, t.TempDir(), env)
			d.is(t, "it tries", func(r *daemon.Report) bool { return r.Source.LastError != "" })
			used := d.processor(t)
			end := time.Now().Add(20 * time.Second)
			d.until(t, func() error {
				if time.Now().Before(end) {
					return fmt.Errorf("it is not over yet")
				}
				return nil
			})
			if share := (d.processor(t) - used).Seconds() / 20; share > 0.02 {
				t.Errorf("%.1f %% of a processor for waiting", 100*share)
			}
		})
	}
}

// processor is the time that the daemon has used, of which the kernel counts hundredths.
func (d *running) processor(t *testing.T) time.Duration {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	var user, system int
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}
