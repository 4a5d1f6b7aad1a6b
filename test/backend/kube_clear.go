package backend

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	paths "github.com/birdconfd/birdconfd/test/shared"
)

// Clear removes what tests may have made: Calico's resources in both groups, nodes, Services,
// EndpointSlices and Secrets.
func (k *Kube) Clear(t testing.TB) {
	t.Helper()
	for _, group := range Groups {
		for _, p := range CalicoPlurals {
			k.RemoveCRD(t, group, p)
		}
	}
	k.ClearObjects(t, GroupV1)
}

// Both has Calico's resources in both groups, and no objects.
func (k *Kube) Both(t testing.TB) {
	t.Helper()
	for _, group := range Groups {
		if !k.both {
			k.InstallCRDs(t, group, CalicoPlurals...)
		}
		k.ClearObjects(t, group)
	}
	k.both = true
}

// ClearObjects removes the objects, but leaves Calico's resources of a group in place.
func (k *Kube) ClearObjects(t testing.TB, group string) {
	t.Helper()
	gv, err := schema.ParseGroupVersion(group)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range CalicoPlurals {
		k.deleteAll(t, gv.WithResource(p))
	}
	k.deleteAll(t, schema.GroupVersionResource{Version: "v1", Resource: "nodes"})
	for _, r := range []schema.GroupVersionResource{{Version: "v1", Resource: "services"}, {Version: "v1", Resource: "secrets"},
		{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}} {
		k.deleteEach(t, r)
	}
}

func (k *Kube) deleteAll(t testing.TB, r schema.GroupVersionResource) {
	t.Helper()
	Do(t, "delete all "+r.Resource, func(ctx context.Context) error {
		err := k.Dynamic(t).Resource(r).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// deleteEach deletes namespaced objects one by one, but for the Service of the API server.
func (k *Kube) deleteEach(t testing.TB, r schema.GroupVersionResource) {
	t.Helper()
	Do(t, "delete all "+r.Resource, func(ctx context.Context) error {
		list, err := k.Dynamic(t).Resource(r).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, o := range list.Items {
			if o.GetName() == "kubernetes" {
				continue
			}
			err := k.Dynamic(t).Resource(r).Namespace(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return nil
	})
}

// PatchCRD adds our fields to a resource, with the file that operators use for it, and waits
// until they are kept.
func (k *Kube) PatchCRD(t testing.TB, group, p string) {
	t.Helper()
	gv, _ := schema.ParseGroupVersion(group)
	patch, err := os.ReadFile(filepath.Join(paths.Root(t), "etc", "crd", fmt.Sprintf("%s-%s.json", p, gv.Version)))
	if err != nil {
		t.Fatal(err)
	}
	r := k.Resource(t, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
	if _, err := r.Patch(t.Context(), p+"."+gv.Group, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	probe := fmt.Sprintf("apiVersion: %s\nkind: BGPConfiguration\nmetadata: {name: probe}\nspec: {gracefulRestartWait: 1s}\n", group)
	Do(t, "patch "+p, func(ctx context.Context) error {
		if err := k.TryApply(t, probe); err != nil {
			return err
		}
		o, err := k.Resource(t, group, "BGPConfiguration", "").Get(ctx, "probe", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if spec, _ := o.Object["spec"].(map[string]any); spec["gracefulRestartWait"] == nil {
			return fmt.Errorf("the field is dropped: %v", o.Object)
		}
		return nil
	})
	k.Delete(t, group, "BGPConfiguration", "", "probe")
}

// AllMayNot makes sure that somebody may do none of these things, each a verb, a resource of
// the core and the name of one of them, or "". Namespaced ones are those of kube-system.
func (k *Kube) AllMayNot(t testing.TB, who *rest.Config, what [][3]string) {
	t.Helper()
	c, err := dynamic.NewForConfig(who)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range what {
		var r dynamic.ResourceInterface = c.Resource(schema.GroupVersionResource{Version: "v1", Resource: w[1]})
		if w[1] != "nodes" {
			r = c.Resource(schema.GroupVersionResource{Version: "v1", Resource: w[1]}).Namespace("kube-system")
		}
		switch w[0] {
		case "get":
			_, err = r.Get(t.Context(), w[2], metav1.GetOptions{})
		case "list":
			_, err = r.List(t.Context(), metav1.ListOptions{})
		case "delete":
			err = r.Delete(t.Context(), w[2], metav1.DeleteOptions{})
		default:
			t.Fatalf("what does %s mean?", w[0])
		}
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s %s %s: %v", w[0], w[1], w[2], err)
		}
	}
}
