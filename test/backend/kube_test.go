package backend

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var (
	nodes    = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	services = schema.GroupVersionResource{Version: "v1", Resource: "services"}
)

// field returns a text in an object, "" when it is missing.
func field(o *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, path...)
	return text
}

func TestKubeKeepsItsDataAndTokens(t *testing.T) {
	for _, v := range Versions() {
		t.Run(v.String(), func(t *testing.T) {
			k := StartKube(t, KubeOptions{EtcdVersion: v})
			k.Apply(t, "{apiVersion: v1, kind: Node, metadata: {name: a, labels: {rack: r1}}}")
			token := k.ServiceAccountToken(t, "kube-system", "birdconfd")
			k.Kill()
			k.Start()
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
