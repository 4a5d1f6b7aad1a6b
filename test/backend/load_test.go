package backend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/birdconfd/birdconfd/test/shared"
)

const documents = `
apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: a, labels: {team: net}, annotations: {projectcalico.org/x: "1"}}
spec: {peerIP: 192.0.2.1, asNumber: 4200000000}
---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: node-1, labels: {rack: r1}}
spec: {bgp: {ipv4Address: 192.0.2.11/24, asNumber: 4200000001}}
status: {podCIDRs: [10.1.0.0/24]}
---
apiVersion: crd.projectcalico.org/v1
kind: BlockAffinity
metadata: {name: worker-1-a}
spec: {cidr: "fd00:10:244::40/122", node: worker-1, state: confirmed, deleted: "false"}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 198.51.100.1}]}}
`

func TestLoadEtcd(t *testing.T) {
	e := StartEtcd(t, EtcdOptions{})
	c := e.Client(t)
	e.Put(t, c, "/calico/resources/v3/projectcalico.org/bgppeers/old", "{}")
	rest := e.Replace(t, c, documents)
	want := map[string]string{
		"/calico/resources/v3/projectcalico.org/bgppeers/a":            `{"apiVersion":"projectcalico.org/v3","kind":"BGPPeer","metadata":{"annotations":{"projectcalico.org/x":"1"},"labels":{"team":"net"},"name":"a"},"spec":{"asNumber":4200000000,"peerIP":"192.0.2.1"}}`,
		"/calico/resources/v3/projectcalico.org/nodes/node-1":          `{"apiVersion":"projectcalico.org/v3","kind":"Node","metadata":{"labels":{"rack":"r1"},"name":"node-1"},"spec":{"bgp":{"asNumber":4200000001,"ipv4Address":"192.0.2.11/24"}},"status":{"podCIDRs":["10.1.0.0/24"]}}`,
		"/calico/ipam/v2/host/worker-1/ipv6/block/fd00:10:244::40-122": `{"deleted":false,"state":"confirmed"}`,
	}
	if diff := cmp.Diff(want, everything(t, e)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(rest, "198.51.100.1") || strings.Contains(rest, "BGPPeer") {
		t.Errorf("for Kubernetes:\n%s", rest)
	}
	e.Clear(t, c)
	if diff := cmp.Diff(map[string]string{}, everything(t, e)); diff != "" {
		t.Error(diff)
	}
}

func everything(t *testing.T, e *Etcd) map[string]string {
	t.Helper()
	got, err := e.Client(t).Get(limited(t), "", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, kv := range got.Kvs {
		all[string(kv.Key)] = string(kv.Value)
	}
	return all
}

func TestLoadKube(t *testing.T) {
	k := StartKube(t, KubeOptions{})
	for _, group := range Groups {
		gv := version(t, group)
		k.InstallCRDs(t, group)
		k.Apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: old, namespace: kube-system}}")
		if left := k.Replace(t, group, documents+"---\n{apiVersion: v1, kind: Node, metadata: {name: node-1}}"); len(left) != 1 || left[0].Name != "node-1" {
			t.Errorf("left out: %v", left)
		}
		peer := find(t, k, gv.WithResource("bgppeers"), "a")
		affinity := find(t, k, gv.WithResource("blockaffinities"), "worker-1-a")
		deleted, _, _ := unstructured.NestedFieldNoCopy(affinity.Object, "spec", "deleted")
		type look struct {
			Labels, Annotations, AffinityLabels map[string]string
			Deleted                             any
		}
		want := look{map[string]string{"team": "net"}, map[string]string{"projectcalico.org/x": "1"}, map[string]string{
			"projectcalico.org/hostname-hash": "CPU5J3TPSNHFA66J45DG4Z5C3PSJAZ36LD46JZLYEGZSTAWBUCUA",
			"projectcalico.org/affinity-type": "host",
			"projectcalico.org/ip-version":    "6",
		}, false}
		if group == GroupV1 {
			want.Labels = nil
			want.Annotations["projectcalico.org/metadata"] = `{"annotations":{},"creationTimestamp":null,"labels":{"team":"net"}}`
			want.Deleted = "false"
		}
		if diff := cmp.Diff(want, look{peer.GetLabels(), peer.GetAnnotations(), affinity.GetLabels(), deleted}); diff != "" {
			t.Errorf("%s: %s", group, diff)
		}
		checkNodeAndService(t, k)
		k.ClearObjects(t, group)
		for _, resource := range []schema.GroupVersionResource{gv.WithResource("bgppeers"), nodes, services} {
			list, err := k.Dynamic(t).Resource(resource).List(limited(t), metav1.ListOptions{})
			if err != nil || len(list.Items) > 1 || len(list.Items) == 1 && list.Items[0].GetName() != "kubernetes" {
				t.Errorf("after ClearObjects: %v, %v", list, err)
			}
		}
	}
}

func find(t *testing.T, k *Kube, resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	t.Helper()
	o, err := k.Dynamic(t).Resource(resource).Get(limited(t), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func checkNodeAndService(t *testing.T, k *Kube) {
	t.Helper()
	node := find(t, k, nodes, "node-1")
	if diff := cmp.Diff(map[string]string{
		"projectcalico.org/IPv4Address": "192.0.2.11/24",
		"projectcalico.org/ASNumber":    "4200000001",
	}, node.GetAnnotations()); diff != "" {
		t.Error(diff)
	}
	if field(node, "spec", "podCIDR") != "10.1.0.0/24" || node.GetLabels()["rack"] != "r1" {
		t.Errorf("the node is %v", node.Object)
	}
	service, err := k.Dynamic(t).Resource(services).Namespace("default").Get(limited(t), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ingress, _, _ := unstructured.NestedSlice(service.Object, "status", "loadBalancer", "ingress")
	if len(ingress) != 1 {
		t.Errorf("the service is %v", service.Object)
	}
}

func TestLoadEveryScenario(t *testing.T) {
	inputs, err := filepath.Glob(filepath.Join(shared.Dir(t, "conformance"), "*", "*", "step*", "input.yaml"))
	if err != nil || len(inputs) == 0 {
		t.Fatalf("%d inputs, %v", len(inputs), err)
	}
	k := StartKube(t, KubeOptions{})
	k.Both(t)
	for _, input := range inputs {
		text, err := os.ReadFile(input)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range Groups {
			for _, left := range k.Replace(t, group, string(text)) {
				t.Errorf("%s as %s: %v", input, group, left)
			}
		}
		k.Etcd().Load(t, k.Etcd().Client(t), string(text))
	}
}
