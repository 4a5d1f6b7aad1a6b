package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/daemon"
	"github.com/birdconfd/birdconfd/pkg/datastore/file"
	"github.com/birdconfd/birdconfd/pkg/render"
	"github.com/birdconfd/birdconfd/test/bulk"
)

// bench is a daemon that takes care of a real BIRD, and tells each time that it has applied
// something.
type bench struct {
	b       *testing.B
	in, out string
	bird    *birdtest.Daemon
	applied chan struct{}
	// reads is how often the source has read.
	reads func() int
}

// benchNode is the node of bulk's clusters that benchmarks run for.
const benchNode = "node-00000"

func startBench(b *testing.B, text string) *bench {
	b.Helper()
	d := birdtest.Start(b, birdtest.Bird(b), "router id 192.0.2.1;\nprotocol device {}\n")
	x := &bench{b: b, in: b.TempDir(), out: b.TempDir(), bird: d, applied: make(chan struct{}, 1)}
	x.write(text)
	source, err := file.New(file.Options{Paths: []string{x.in}})
	if err != nil {
		b.Fatal(err)
	}
	x.reads = func() int { return source.Status().Reads }
	o := daemon.Options{Node: benchNode, Source: source, Logger: slog.New(teller{slog.DiscardHandler, x.applied}),
		Load: func() (*render.Config, []calico.Problem) {
			return render.Standalone(render.StandaloneOptions{Directory: x.out, Sockets: map[string]string{"bird": d.Socket},
				BirdDir: filepath.Dir(birdtest.Bird(b)), Families: ipv4})
		}}
	o.Compute = bgp.Options{Families: ipv4}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- daemon.Run(ctx, o) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	x.wait("the first configuration is applied")
	return x
}

// teller is a log that is only listened to for what was applied.
type teller struct {
	slog.Handler
	applied chan<- struct{}
}

func (t teller) Enabled(context.Context, slog.Level) bool { return true }

func (t teller) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "applied" {
		t.applied <- struct{}{}
	}
	return nil
}

func (x *bench) write(text string) {
	x.b.Helper()
	temp := filepath.Join(x.in, ".cluster.yaml")
	if err := os.WriteFile(temp, []byte(text), 0o600); err != nil {
		x.b.Fatal(err)
	}
	if err := os.Rename(temp, filepath.Join(x.in, "cluster.yaml")); err != nil {
		x.b.Fatal(err)
	}
}

func (x *bench) wait(what string) {
	x.b.Helper()
	select {
	case <-x.applied:
	case <-time.After(patience):
		x.b.Fatalf("not within %s: %s", patience, what)
	}
}

// cpu is what this process and the children that have ended have used.
func cpu() time.Duration {
	var own, children syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &own) // neither can fail
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children)
	return time.Duration(own.Utime.Nano() + own.Stime.Nano() + children.Utime.Nano() + children.Stime.Nano())
}

// BenchmarkChangedFile changes one node's address in a file with all nodes, until BIRD has
// confirmed it. The time has the 100 ms in it for which the file must be quiet, and the
// 200 ms for which changes must have ceased; cpu-ms/op has the reading of the file and
// "bird -p" in it, but not the running BIRD.
func BenchmarkChangedFile(b *testing.B) {
	for _, nodes := range []int{1000, 5000} {
		b.Run(strconv.Itoa(nodes), func(b *testing.B) {
			text := [2]string{bulk.Nodes(nodes, false)}
			text[1] = strings.Replace(text[0], "10.64.0.7/16", "10.127.0.7/16", 1)
			x := startBench(b, text[0])
			before, n := cpu(), 0
			for b.Loop() {
				n++
				x.write(text[n%2])
				x.wait("the change is applied")
			}
			b.ReportMetric(float64((cpu()-before).Microseconds())/1000/float64(n), "cpu-ms/op")
		})
	}
}

// BenchmarkIrrelevantChange changes an annotation in a file with 5,000 nodes, until it has
// been read.
func BenchmarkIrrelevantChange(b *testing.B) {
	text := bulk.Nodes(5000, false)
	x := startBench(b, text)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	before, n := cpu(), 0
	for b.Loop() {
		n++
		reads := x.reads()
		x.write(strings.Replace(text, "{name: node-00007,", fmt.Sprintf("{name: node-00007, annotations: {seen: \"%d\"},", n), 1))
		for x.reads() == reads {
			<-tick.C
		}
	}
	b.ReportMetric(float64((cpu()-before).Microseconds())/1000/float64(n), "cpu-ms/op")
	select {
	case <-x.applied:
		b.Fatal("something was applied")
	default:
	}
}

// BenchmarkIdle has 5,000 nodes loaded and nothing to do, for a few seconds. Less than 60
// cpu-ms/min are less than 0.1 % of one processor.
func BenchmarkIdle(b *testing.B) {
	startBench(b, bulk.Nodes(5000, false))
	const long = 12 * time.Second // the poll of files is in it
	for b.Loop() {
		before := cpu()
		<-time.After(long)
		b.ReportMetric(float64((cpu()-before).Microseconds())/1000*float64(time.Minute/long), "cpu-ms/min")
	}
}

// BenchmarkMemory has the real program load 5,000 nodes and apply one change.
func BenchmarkMemory(b *testing.B) {
	path := buildProgram(b)
	text := bulk.Nodes(5000, false)
	d := birdtest.Start(b, birdtest.Bird(b), "router id 192.0.2.1;\nprotocol device {}\n")
	for b.Loop() {
		in, out, log := filepath.Join(b.TempDir(), "cluster.yaml"), b.TempDir(), &logBuffer{}
		if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command(path, "run", "--node", benchNode, "--output", out, "--family", "ipv4",
			"--socket", "bird="+d.Socket, "--bird-dir", filepath.Dir(birdtest.Bird(b)), in)
		cmd.Stderr = log
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		until(b, "5,000 nodes are applied", func() bool { return strings.Contains(log.String(), "msg=applied") })
		b.ReportMetric(memory(b, cmd.Process.Pid, "VmRSS"), "rss-MB")
		b.ReportMetric(memory(b, cmd.Process.Pid, "VmHWM"), "peak-MB")
		if err := os.WriteFile(in, []byte(strings.Replace(text, "10.64.0.7/16", "10.127.0.7/16", 1)), 0o600); err != nil {
			b.Fatal(err)
		}
		until(b, "the change is applied", func() bool { return strings.Count(log.String(), "msg=applied") == 2 })
		b.ReportMetric(memory(b, cmd.Process.Pid, "VmRSS"), "rss-MB-changed")
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			b.Fatal(err, log)
		}
	}
}

// memory reads one of the values in /proc/PID/status, in MB.
func memory(b *testing.B, pid int, name string) float64 {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			var kb float64
			if _, err := fmt.Sscan(value, &kb); err != nil {
				b.Fatal(err)
			}
			return kb / 1024
		}
	}
	b.Fatalf("no %s in %s", name, data)
	return 0
}

func until(b *testing.B, what string, is func() bool) {
	b.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !is() {
		select {
		case <-tick.C:
		case <-limit:
			b.Fatalf("not within %s: %s", patience, what)
		}
	}
}
