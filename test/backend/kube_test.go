package backend

import (
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	nodes    = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	services = schema.GroupVersionResource{Version: "v1", Resource: "services"}
)

func version(t testing.TB, group string) schema.GroupVersion {
	t.Helper()
	gv, err := groupVersion(group)
	if err != nil {
		t.Fatal(err)
	}
	return gv
}

// field returns a text in an object, "" when it is missing.
func field(o *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, path...)
	return text
}

func TestKubeKeepsItsDataAndTokens(t *testing.T) {
	for _, v := range Versions {
		t.Run(string(v), func(t *testing.T) {
			k := StartKube(t, KubeOptions{EtcdVersion: v})
			k.Apply(t, "{apiVersion: v1, kind: Node, metadata: {name: a, labels: {rack: r1}}}")
			token := k.ServiceAccountToken(t, "kube-system", "birdconfd")
			k.Kill()
			k.Start(t)
			node, err := k.Dynamic(t).Resource(nodes).Get(limited(t), "a", metav1.GetOptions{})
			if err != nil || node.GetLabels()["rack"] != "r1" {
				t.Errorf("after a restart: %v, %v", node, err)
			}
			config := k.Admin()
			config.BearerToken = token
			other, err := dynamic.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			_, err = other.Resource(nodes).Get(limited(t), "a", metav1.GetOptions{})
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "system:serviceaccount:kube-system:birdconfd") {
				t.Errorf("an account without any right got %v", err)
			}
		})
	}
}

const notReady = `
apiVersion: v1
kind: Node
metadata: {name: a}
status:
  conditions: [{type: Ready, status: "False", reason: Test}]
`

func TestKubeApplyReplaces(t *testing.T) {
	k := StartKube(t, KubeOptions{})
	conditions := func() int {
		found, _, _ := unstructured.NestedSlice(find(t, k, nodes, "a").Object, "status", "conditions")
		return len(found)
	}
	k.Apply(t, notReady)
	if n := conditions(); n != 1 {
		t.Errorf("%d conditions", n)
	}
	k.Apply(t, "{apiVersion: v1, kind: Node, metadata: {name: a}, spec: {podCIDRs: [10.1.0.0/24]}}")
	if n := conditions(); n != 0 {
		t.Errorf("%d conditions of a node that is given without", n)
	}
	k.Apply(t, "{apiVersion: v1, kind: Node, metadata: {name: a}, spec: {podCIDRs: [10.2.0.0/24]}}")
	if got := field(find(t, k, nodes, "a"), "spec", "podCIDR"); got != "10.2.0.0/24" {
		t.Errorf("a field that cannot change is %q", got)
	}
	k.Delete(t, "v1", "Node", "", "a")
	k.Delete(t, "v1", "Node", "", "a")
	if _, err := k.Dynamic(t).Resource(nodes).Get(limited(t), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after Delete: %v", err)
	}
}

func TestKubeHasForgottenTheFirstRevision(t *testing.T) {
	k := StartKube(t, KubeOptions{})
	k.Apply(t, notReady)
	k.Compact(t)
	k.Start(t) // its cache begins with what there is now
	w, err := k.Dynamic(t).Resource(nodes).Watch(limited(t), metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	event := <-w.ResultChan()
	status, ok := event.Object.(*metav1.Status)
	if !ok || status.Code != 410 {
		t.Errorf("the watch began with %v", event)
	}
}

func TestKubeCounts(t *testing.T) {
	k := StartKube(t, KubeOptions{})
	listed, watched := k.RequestCounts(t)["LIST nodes"], k.Watches(t)["nodes"]
	if _, err := k.Dynamic(t).Resource(nodes).List(limited(t), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := k.Dynamic(t).Resource(nodes).Watch(limited(t), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "a list and a watch are counted", func() bool {
		return k.RequestCounts(t)["LIST nodes"] == listed+1 && k.Watches(t)["nodes"] == watched+1
	})
	w.Stop()
	until(t, "the watch is not counted any more", func() bool { return k.Watches(t)["nodes"] == watched })
}

func TestKubeconfig(t *testing.T) {
	k := StartKube(t, KubeOptions{})
	path := k.Kubeconfig(t, k.AdminToken)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info, err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resource(nodes).List(limited(t), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}

func TestKubeCRDs(t *testing.T) {
	k := StartKube(t, KubeOptions{})
	for _, group := range Groups {
		gv := version(t, group)
		k.InstallCRDs(t, group, "bgpconfigurations", "bgppeers")
		for kind, spec := range map[string]string{
			"BGPConfiguration": "{logSeverityScreen: debug, asNumber: 64512, gracefulRestartWait: 20s}",
			"BGPPeer":          "{ttlSecurity: 300, anything: x}",
		} {
			k.Apply(t, "{apiVersion: "+group+", kind: "+kind+", metadata: {name: default}, spec: "+spec+"}")
		}
		config := find(t, k, gv.WithResource("bgpconfigurations"), "default")
		if field(config, "spec", "gracefulRestartWait") != "" || field(config, "spec", "logSeverityScreen") != "debug" ||
			field(config, "spec", "serviceLoadBalancerAggregation") != "Enabled" {
			t.Errorf("%s: %v", group, config.Object)
		}
		if peer := find(t, k, gv.WithResource("bgppeers"), "default"); field(peer, "spec", "anything") != "x" {
			t.Errorf("%s: %v", group, peer.Object)
		}
		k.RemoveCRD(t, group, "bgppeers")
		_, err := k.Dynamic(t).Resource(gv.WithResource("bgppeers")).List(limited(t), metav1.ListOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("%s: after the removal a list gives %v", group, err)
		}
	}
	for spec, want := range map[string]string{
		"{asNumber: 4200000000}":                                    "spec.asNumber",
		"{listenPort: 0}":                                           "spec.listenPort",
		"{serviceClusterIPs: [{cidr: 10.0.0.0}]}":                   "spec.serviceClusterIPs[0].cidr",
		"{logSeverityScreen: Loud}":                                 "spec.logSeverityScreen",
		`{communities: [{name: a, value: "1:2"}]}`:                  "communities need prefixes",
		"{nodeToNodeMeshEnabled: false, nodeMeshPassword: {}}":      "needs the mesh",
		"{ignoredInterfaces: [a, a]}":                               "spec.ignoredInterfaces[1]",
		`{communities: [{value: "1:2"}], prefixAdvertisements: []}`: "name",
	} {
		err := k.TryApply(t, "{apiVersion: projectcalico.org/v3, kind: BGPConfiguration, metadata: {name: x}, spec: "+spec+"}")
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %v, want something about %q", spec, err, want)
		}
	}
}
