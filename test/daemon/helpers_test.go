package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/daemon"
	"github.com/birdconfd/birdconfd/pkg/datastore/file"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// empty is a BIRD configuration without sessions.
const empty = "log stderr all;\nrouter id 192.0.2.1;\nprotocol device {}\n"

// read returns the content of a file; "" when there is none.
func read(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}

// protocols are the names of those that a BIRD runs of one kind, sorted.
func protocols(t *testing.T, d *birdtest.Daemon, proto string) []string {
	t.Helper()
	conn, err := bird.Client{Socket: d.Socket}.Dial(t.Context())
	if err != nil {
		return nil
	}
	defer conn.Close()
	all, err := conn.Protocols(t.Context())
	if err != nil {
		return nil
	}
	var names []string
	for _, p := range all {
		if p.Proto == proto {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// reloads counts how often a BIRD was configured since its log began.
func reloads(d *birdtest.Daemon) int { return strings.Count(d.Log(), "Reconfiguring") }

// report is what /status gives; an empty one when it gives nothing.
func (s *setup) report() daemon.Report {
	var r daemon.Report
	if err := json.Unmarshal([]byte(s.get("/status")), &r); err != nil {
		return daemon.Report{}
	}
	return r
}

// problem returns the first problem of a rule; an empty one when there is none.
func (s *setup) problem(rule string) calico.Problem {
	for _, p := range s.report().Problems {
		if p.Rule == rule {
			return p
		}
	}
	return calico.Problem{}
}

// metric returns the value of one line of /metrics, -1 when it is not there.
func (s *setup) metric(name string) float64 {
	for line := range strings.Lines(s.get("/metrics")) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			if v, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
				return v
			}
		}
	}
	return -1
}

// saysNotReady checks that /readyz gives these reasons.
func (s *setup) saysNotReady(reasons ...string) {
	s.t.Helper()
	s.until(fmt.Sprintf("/readyz says %q", reasons), func() bool {
		body := s.get("/readyz")
		return !strings.HasPrefix(body, "ready") && !slices.ContainsFunc(reasons, func(r string) bool { return !strings.Contains(body, r) })
	})
}

// runs waits until BIRD itself has exactly these sessions.
func (s *setup) runs(d *birdtest.Daemon, sessions ...string) {
	s.t.Helper()
	slices.Sort(sessions)
	s.until(fmt.Sprintf("BIRD runs %v", sessions), func() bool { return slices.Equal(protocols(s.t, d, "BGP"), sessions) })
}

// meshes are the names of sessions with nodes 2 to n.
func meshes(n int) []string {
	var names []string
	for i := 2; i <= n; i++ {
		names = append(names, mesh(i))
	}
	return names
}

// remove removes a file of resources.
func (s *setup) remove(name string) {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.in, name)); err != nil {
		s.t.Fatal(err)
	}
}

// place is a target of a conf.d directory.
type place struct {
	name, family, binary, dir, socket, templates string
	// more are further lines of YAML.
	more string
}

// yaml is a conf.d file with this target alone.
func (p place) yaml() string {
	var b strings.Builder
	if p.templates != "" {
		fmt.Fprintf(&b, "templates: [%s]\n", p.templates)
	}
	fmt.Fprintf(&b, "targets:\n- name: %s\n  family: %s\n  binary: %s\n  directory: %s\n", p.name, p.family, p.binary, p.dir)
	if p.socket != "" {
		fmt.Fprintf(&b, "  socket: %s\n", p.socket)
	}
	daemon := map[string]string{"IPv4": "bird", "IPv6": "bird6"}[p.family]
	fmt.Fprintf(&b, "  files:\n  - {name: bird.cfg, template: main}\n  - {name: %s_aggr.cfg, template: aggregation}\n  - {name: %s_ipam.cfg, template: pools}\n%s",
		daemon, daemon, p.more)
	return b.String()
}

// place makes a target for IPv4 that reloads this BIRD, or none if that is nil.
func (s *setup) place(name string, d *birdtest.Daemon) place {
	p := place{name: name, family: "IPv4", binary: birdtest.Bird(s.t), dir: filepath.Join(s.t.TempDir(), name), socket: "none"}
	if d != nil {
		p.socket = d.Socket
	}
	return p
}

// confd has targets described by a conf.d directory, each in a file of its own. It returns
// the function that writes such a file, "" removing it.
func (s *setup) confd(places ...place) (write func(name, text string)) {
	s.t.Helper()
	dir := s.t.TempDir()
	write = func(name, text string) { overwrite(s.t, filepath.Join(dir, name+".yaml"), text) }
	for _, p := range places {
		write(p.name, p.yaml())
	}
	s.config = func() (*render.Config, []calico.Problem) { return render.LoadConfig(dir) }
	return write
}

// overwrite replaces a file as a whole, or removes it when the text is empty.
func overwrite(t *testing.T, path, text string) {
	t.Helper()
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	var err error
	if text == "" {
		err = os.Remove(path)
	} else {
		err = errors.Join(os.WriteFile(temp, []byte(text), 0o600), os.Rename(temp, path))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// templates makes a directory with a template file, which is watched, for the usual target.
// It returns the function that writes that file.
func (s *setup) templates(text string) (write func(text string)) {
	s.t.Helper()
	dir := s.t.TempDir()
	write = func(text string) { overwrite(s.t, filepath.Join(dir, "local.tmpl"), text) }
	write(text)
	s.config = func() (*render.Config, []calico.Problem) {
		o := s.options()
		o.Templates = []string{dir}
		return render.Standalone(o)
	}
	before := s.change
	s.change = func(o *daemon.Options) {
		if before != nil {
			before(o)
		}
		o.Watch = func(ctx context.Context, changed func()) error {
			return file.NewWatcher(func() []string { return []string{dir} }, time.Second, 0, slog.New(slog.DiscardHandler)).Run(ctx, changed)
		}
	}
	return write
}

// appliedAt is applied for a target with another name and place.
func (s *setup) appliedAt(p place, text string) {
	s.t.Helper()
	s.until(p.name+" is applied, with "+text, func() bool {
		status := s.target(p.name)
		return strings.Contains(read(filepath.Join(p.dir, "bird.cfg")), text) &&
			status.PendingSince.IsZero() && status.Desired != "" && status.Desired == status.Applied
	})
}

// peerYAML makes a BGPPeer of the node alpha; its session is called session(ip).
func peerYAML(name, ip string, as int) string {
	return fmt.Sprintf("---\napiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata: {name: %s}\nspec: {node: %s, peerIP: %s, asNumber: %d}\n", name, node, ip, as)
}

func session(ip string) string { return "Node_" + strings.ReplaceAll(ip, ".", "_") }

// cpuTime is how long this process has computed.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
