package daemon

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/pkg/render"
	"github.com/birdconfd/birdconfd/test/bulk"
)

// BenchmarkApply takes a snapshot in which one node has another address until the files are
// in place, and one in which nothing has changed that matters. Decoding is not in it, and
// neither is BIRD. What the kernel does is only in the time and in cpu-ms/op.
func BenchmarkApply(b *testing.B) {
	for _, nodes := range []int{1000, 5000} {
		text := bulk.Nodes(nodes, true)
		moved := strings.Replace(text, "10.64.0.7/16", "10.127.0.7/16", 1)
		noted := strings.Replace(text, "{name: node-00007,", "{name: node-00007, annotations: {seen: today},", 1)
		if moved == text || noted == text {
			b.Fatal("nothing to change")
		}
		snapshots := [3]datastore.Snapshot{snapshotOf(b, text), snapshotOf(b, moved), snapshotOf(b, noted)}
		b.Run(fmt.Sprintf("address-%d", nodes), func(b *testing.B) {
			l := benchLoop(b, snapshots[0])
			b.ReportAllocs()
			cpu, n := cpuTime(), 0
			for b.Loop() {
				n++
				l.bring(b, &snapshots[n%2], true)
			}
			b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/1000/float64(n), "cpu-ms/op")
		})
		b.Run(fmt.Sprintf("irrelevant-%d", nodes), func(b *testing.B) {
			l := benchLoop(b, snapshots[0])
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				l.bring(b, &snapshots[2*((n+1)%2)], false)
			}
		})
	}
}

// BenchmarkChanges is what a source does to find out that nothing has changed that matters.
func BenchmarkChanges(b *testing.B) {
	text := bulk.Nodes(5000, true)
	old, now := snapshotOf(b, text), snapshotOf(b, text)
	b.ReportAllocs()
	for b.Loop() {
		if len(calico.Changes(old.Cluster, now.Cluster)) > 0 {
			b.Fatal("it differs")
		}
	}
}

func snapshotOf(b *testing.B, text string) datastore.Snapshot {
	b.Helper()
	objects, problems := calico.Decode("bulk", []byte(text))
	c, more := calico.NewCluster(objects, nil)
	if len(problems)+len(more) > 0 {
		b.Fatal(problems, more)
	}
	return datastore.Snapshot{Cluster: c}
}

// benchLoop is a loop that is moved by hand, with one target that has applied a snapshot.
func benchLoop(b *testing.B, s datastore.Snapshot) *loop {
	b.Helper()
	dir := b.TempDir()
	l := newLoop(&Options{Node: "node-00000", Compute: bgp.Options{Families: []bgp.Family{bgp.IPv4}}, Load: func() (*render.Config, []calico.Problem) {
		return render.Standalone(render.StandaloneOptions{Directory: dir, Families: []bgp.Family{bgp.IPv4}, Check: render.CheckOff})
	}})
	l.load(b.Context())
	b.Cleanup(l.finish)
	l.take(<-l.reports) // the worker has opened the target
	l.bring(b, &s, true)
	return l
}

// bring takes a snapshot and waits for the files if they change.
func (l *loop) bring(b *testing.B, s *datastore.Snapshot, changes bool) {
	l.snapshot = s
	l.render()
	if l.targets[0].sent != l.targets[0].done != changes {
		b.Fatalf("changes: %v, want %v", !changes, changes)
	}
	if !changes {
		return
	}
	l.take(<-l.reports)
	if t := l.targets[0]; t.sent != t.done {
		b.Fatal(t.last.Error)
	}
}

// cpuTime is what this process has used, in the kernel too.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
