package backend

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// AllMayNot makes sure that somebody may do none of these things, each a verb, a resource of
// the core and the name of one of them, or "". Namespaced ones are those of kube-system.
func (k *Kube) AllMayNot(t testing.TB, who *rest.Config, what [][3]string) {
	t.Helper()
	c, err := dynamic.NewForConfig(who)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range what {
		verb, resource, name := w[0], schema.GroupVersionResource{Version: "v1", Resource: w[1]}, w[2]
		var client dynamic.ResourceInterface = c.Resource(resource)
		if resource.Resource != "nodes" {
			client = c.Resource(resource).Namespace("kube-system")
		}
		switch verb {
		case "get":
			_, err = client.Get(t.Context(), name, metav1.GetOptions{})
		case "list":
			_, err = client.List(t.Context(), metav1.ListOptions{})
		case "delete":
			err = client.Delete(t.Context(), name, metav1.DeleteOptions{})
		default:
			t.Fatalf("what does %s mean?", verb)
		}
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s %s %s: %v", verb, resource.Resource, name, err)
		}
	}
}

// Names are those of all objects of a kind, in a namespace if it has one.
func (k *Kube) Names(t testing.TB, apiVersion, kind, namespace string) []string {
	t.Helper()
	list, err := k.Resource(t, apiVersion, kind, namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range list.Items {
		names = append(names, o.GetName())
	}
	return names
}
