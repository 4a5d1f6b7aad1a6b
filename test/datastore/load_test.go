package datastore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/datastore"
	"github.com/birdconfd/birdconfd/test/backend"
)

// nodeCount is the size of the cluster that the load is measured with.
const nodeCount = 5000

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

func nodeAddress(i int) string { return fmt.Sprintf("10.%d.%d.1/16", 1+i/250, i%250) }

// loaded measures what a source asks of a server.
type loaded struct {
	*testing.B
	proxy    *backend.Proxy
	source   datastore.Source
	changed  chan datastore.Snapshot
	received int64
	figures  map[string]float64
}

// figure keeps a figure until the end: the loop of a benchmark forgets those before it.
func (l *loaded) figure(value float64, unit string) {
	if l.figures == nil {
		l.figures = map[string]float64{}
	}
	l.figures[unit] = value
}

func (l *loaded) report() {
	l.ReportMetric(0, "ns/op") // most of it is the writing
	for unit, value := range l.figures {
		l.ReportMetric(value, unit)
	}
}

// start runs a source that reaches its server through the proxy, and waits for the first
// snapshot. It measures how many bytes that takes, the processor time, and the memory that is
// in use afterwards.
func (l *loaded) start(r reach) {
	l.Helper()
	before, cpu := memory(), processor()
	l.source, l.changed = r.source(l), make(chan datastore.Snapshot, 1000)
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.source.Run(ctx, func(s datastore.Snapshot) { l.changed <- s }) }()
	l.Cleanup(func() { cancel(errors.New("over")); <-ended })
	first := l.next()
	if n := len(first.Cluster.Nodes); n != nodeCount {
		l.Fatalf("%d nodes", n)
	}
	l.figure(float64(l.bytes())/1e6, "MB-list")
	l.figure((processor()-cpu).Seconds()*1000, "cpu-ms-list")
	l.figure(float64(memory()-before)/1e6, "MB-heap")
	l.figure(float64(len(l.source.Status().Parts)), "watches")
}

func (l *loaded) next() datastore.Snapshot {
	l.Helper()
	select {
	case s := <-l.changed:
		return s
	case <-time.After(5 * time.Minute):
		l.Fatalf("nothing is delivered; status %+v", l.source.Status())
		panic("unreachable")
	}
}

// bytes are those that came from the server since it was asked last.
func (l *loaded) bytes() int64 {
	now := l.proxy.FromServer()
	n := now - l.received
	l.received = now
	return n
}

func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkEtcdLoad measures what one birdconfd asks of etcd in a cluster of 5,000 nodes, and
// what one change of a node costs.
func BenchmarkEtcdLoad(b *testing.B) {
	e := backend.StartEtcd(b, backend.EtcdOptions{})
	c := e.Client(b)
	put := func(i int, labels string) {
		name := nodeName(i)
		value, _ := json.Marshal(map[string]any{"kind": "Node", "apiVersion": "projectcalico.org/v3",
			"metadata": map[string]any{"name": name, "uid": "8b1c2f4e-0000-0000-0000-000000000000", "creationTimestamp": "2026-05-02T08:11:09Z",
				"labels": map[string]string{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "rack": labels}},
			"spec": map[string]any{"bgp": map[string]any{"ipv4Address": nodeAddress(i)}, "ipv4VXLANTunnelAddr": "10.244.1.1",
				"orchRefs": []any{map[string]string{"nodeName": name, "orchestrator": "k8s"}}}, "status": map[string]any{}})
		e.Put(b, c, "/calico/resources/v3/projectcalico.org/nodes/"+name, string(value))
	}
	for i := range nodeCount {
		put(i, "r0")
	}
	l := &loaded{B: b, proxy: backend.NewProxy(b, e.Address(0))}
	l.start(reach{etcd: []string{"http://" + l.proxy.Address()}, node: nodeName(0), compute: bgp.Options{}})
	cpu, n := processor(), 0
	for b.Loop() {
		n++
		put(7, fmt.Sprint("r", n))
		l.next()
	}
	l.figure(float64(l.bytes())/float64(n), "bytes/change")
	l.figure((processor()-cpu).Seconds()*1000/float64(n), "cpu-ms/change")
	l.report()
}

// kubernetesNode is a node as large as those of a real cluster are: with what the kubelet
// reports about itself and its images.
func kubernetesNode(i int, rack, beat string) *unstructured.Unstructured {
	name := nodeName(i)
	var images []any
	for j := range 40 {
		images = append(images, map[string]any{"sizeBytes": int64(100_000_000 + j), "names": []any{
			fmt.Sprintf("registry.example.org/team-%d/service-%d@sha256:%s", j%7, j, strings.Repeat("0123456789abcdef", 4)), fmt.Sprintf("registry.example.org/team-%d/service-%d:v1.%d", j%7, j, j)}})
	}
	var conditions []any
	for _, kind := range []string{"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"} {
		conditions = append(conditions, map[string]any{"type": kind, "status": "False", "lastHeartbeatTime": beat, "lastTransitionTime": "2026-05-02T08:11:09Z", "reason": "Kubelet", "message": "kubelet has nothing to report"})
	}
	conditions = append(conditions, map[string]any{"type": "Ready", "status": "True", "lastHeartbeatTime": beat, "lastTransitionTime": "2026-05-02T08:11:09Z", "reason": "KubeletReady", "message": "kubelet is posting ready status"})
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": name, "labels": map[string]any{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "rack": rack},
			"annotations": map[string]any{"projectcalico.org/IPv4Address": nodeAddress(i), "projectcalico.org/IPv4VXLANTunnelAddr": "10.244.1.1",
				"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true"}},
		"spec":   map[string]any{"podCIDR": "10.244.1.0/24", "podCIDRs": []any{"10.244.1.0/24"}},
		"status": map[string]any{"images": images, "conditions": conditions, "nodeInfo": map[string]any{"kernelVersion": "6.1.0", "osImage": "Debian", "kubeletVersion": "v1.36.3", "machineID": "x", "systemUUID": "y", "bootID": "z", "containerRuntimeVersion": "containerd://2", "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64"}}}}
}

// BenchmarkKubernetesLoad does the same with the Kubernetes API, and measures what the
// heartbeat of a node costs, which changes nothing.
func BenchmarkKubernetesLoad(b *testing.B) {
	k := backend.StartKube(b)
	k.InstallCRDs(b, backend.GroupV1, backend.CalicoPlurals...)
	nodes := k.Resource(b, "v1", "Node", "")
	create(b, nodes)
	l := &loaded{B: b, proxy: backend.NewProxy(b, k.Address())}
	l.start(reach{kubeconfig: k.KubeconfigThrough(b, k.AdminToken, "https://"+l.proxy.Address()), group: backend.GroupV1, node: nodeName(0)})
	update := func(rack, beat string, sub ...string) {
		o, err := nodes.Get(b.Context(), nodeName(7), metav1.GetOptions{})
		if err != nil {
			b.Fatal(err)
		}
		next := kubernetesNode(7, rack, beat)
		next.SetResourceVersion(o.GetResourceVersion())
		if _, err := nodes.Update(b.Context(), next, metav1.UpdateOptions{}, sub...); err != nil {
			b.Fatal(err)
		}
	}
	n := 0
	for b.Loop() {
		n++
		update(fmt.Sprint("r", n), "2026-05-02T08:11:09Z")
		for l.next().Cluster.Node(nodeName(7)).Labels["rack"] != fmt.Sprint("r", n) {
		}
	}
	l.figure(float64(l.bytes())/float64(n), "bytes/change")
	const beats = 50
	cpu := processor()
	for i := range beats {
		update(fmt.Sprint("r", n), fmt.Sprintf("2026-05-02T08:%02d:10Z", i), "status")
	}
	update("last", "2026-05-02T08:11:09Z")
	for l.next().Cluster.Node(nodeName(7)).Labels["rack"] != "last" {
	}
	l.figure(float64(l.bytes())/(beats+1), "bytes/heartbeat")
	l.figure((processor()-cpu).Seconds()*1000/(beats+1), "cpu-ms/heartbeat")
	l.report()
}

// create makes the nodes, several at a time.
func create(b *testing.B, nodes dynamic.ResourceInterface) {
	b.Helper()
	numbers := make(chan int)
	var running sync.WaitGroup
	var once sync.Once
	var fault error
	for range 8 {
		running.Go(func() {
			for i := range numbers {
				o := kubernetesNode(i, "r0", "2026-05-02T08:11:09Z")
				made, err := nodes.Create(b.Context(), o, metav1.CreateOptions{})
				if err == nil {
					o.SetResourceVersion(made.GetResourceVersion())
					_, err = nodes.UpdateStatus(b.Context(), o, metav1.UpdateOptions{})
				}
				if err != nil {
					once.Do(func() { fault = err })
				}
			}
		})
	}
	for i := range nodeCount {
		numbers <- i
	}
	close(numbers)
	running.Wait()
	if fault != nil {
		b.Fatal(fault)
	}
}
