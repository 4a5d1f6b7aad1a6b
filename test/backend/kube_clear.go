package backend

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Clear removes what birdconfd reads: Calico's CRDs of both groups with all their objects, and
// what else ClearObjects removes. Accounts and what they may do stay.
func (k *Kube) Clear(t testing.TB) {
	t.Helper()
	resources, err := k.served()
	if err == nil {
		err = k.removeCRDs(resources)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := k.clearObjects(nil, nil); err != nil {
		t.Fatal(err)
	}
}

// Both has Calico's CRDs in both groups, as InstallCRDs makes them, and no objects.
func (k *Kube) Both(t testing.TB) {
	t.Helper()
	for _, group := range Groups {
		k.InstallCRDs(t, group)
	}
	if err := k.clearObjects(Groups, nil); err != nil {
		t.Fatal(err)
	}
}

// ClearObjects removes all objects that birdconfd reads: Calico's of a group, Nodes, Services,
// EndpointSlices and Secrets, but for the Service that the API server makes for itself.
func (k *Kube) ClearObjects(t testing.TB, group string) {
	t.Helper()
	if err := k.clearObjects([]string{group}, nil); err != nil {
		t.Fatal(err)
	}
}

func (k *Kube) clearObjects(groups []string, keep map[place]bool) error {
	resources, err := k.served()
	if err != nil {
		return err
	}
	var infos []kindInfo
	for _, resource := range resources {
		if slices.Contains(groups, resource.GroupVersion().String()) {
			infos = append(infos, kindInfo{resource: resource})
		}
	}
	core := schema.GroupVersion{Version: "v1"}
	for _, gvk := range []schema.GroupVersionKind{core.WithKind("Node"), core.WithKind("Service"), core.WithKind("Secret"),
		{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}} {
		infos = append(infos, kinds[gvk])
	}
	for _, info := range infos {
		if err := k.clearKind(info, keep); err != nil {
			return err
		}
	}
	return nil
}

func (k *Kube) clearKind(info kindInfo, keep map[place]bool) error {
	var items []unstructured.Unstructured
	err := k.try("list "+info.resource.Resource, func(ctx context.Context) error {
		list, err := k.dynamic.Resource(info.resource).List(ctx, metav1.ListOptions{})
		if err == nil {
			items = list.Items
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, o := range items {
		if keep[placeOf(info, &o)] || o.GetKind() == "Service" && o.GetNamespace() == "default" && o.GetName() == "kubernetes" {
			continue
		}
		if err := k.delete(info, o.GetNamespace(), o.GetName()); err != nil {
			return err
		}
	}
	return nil
}
