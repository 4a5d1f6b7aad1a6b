package backend

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// crdFiles are of our own making. They are for both groups: GROUP and VERSION stand for
// either.
//
//go:embed testdata/crds/*.yaml
var crdFiles embed.FS

var crdKind = schema.FromAPIVersionAndKind("apiextensions.k8s.io/v1", "CustomResourceDefinition")

// InstallCRDs installs the CRDs of kinds given by their plurals, or of all that birdconfd
// reads without any, for a group, "v1" (crd.projectcalico.org/v1) or "v3"
// (projectcalico.org/v3). It waits until the server serves them. That of bgpconfigurations
// has the schema of those that Calico ships, so it drops the fields that only birdconfd
// knows; the others take anything in spec.
func (k *Kube) InstallCRDs(t testing.TB, group string, plurals ...string) {
	t.Helper()
	gv, ok := calicoGroups[group]
	if !ok {
		t.Fatalf("there is no group %q: say v1 or v3", group)
	}
	if len(plurals) == 0 {
		plurals = slices.Sorted(maps.Values(calicoPlurals))
	}
	for _, plural := range plurals {
		text, err := crdFiles.ReadFile("testdata/crds/" + plural + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		k.Apply(t, strings.NewReplacer("GROUP", gv.Group, "VERSION", gv.Version).Replace(string(text)))
	}
	for _, plural := range plurals {
		if err := k.untilServed(gv.WithResource(plural)); err != nil {
			t.Fatal(err)
		}
	}
}

// untilServed waits until the server says that it has a CRD, and answers a list and a
// watch: between the two it refuses for a moment.
func (k *Kube) untilServed(resource schema.GroupVersionResource) error {
	name := resource.GroupResource().String()
	err := poll(func(ctx context.Context) (bool, error) {
		crd, err := k.of(kinds[crdKind], "").Get(ctx, name, metav1.GetOptions{})
		if err != nil || !established(crd) {
			return false, ignore(err)
		}
		_, err = k.dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
		return err == nil, ignore(err)
	})
	if err != nil {
		return fmt.Errorf("wait until %s is served: %w", name, err)
	}
	return nil
}

// ignore drops errors that may be gone the next time.
func ignore(err error) error {
	if err == nil || passes(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "Established" && condition["status"] == "True"
	})
}

// RemoveCRD removes a CRD with all its objects, and waits until it is gone.
func (k *Kube) RemoveCRD(t testing.TB, group, plural string) {
	t.Helper()
	resource := calicoGroups[group].WithResource(plural)
	name := resource.GroupResource().String()
	if err := k.delete(kinds[crdKind], "", name); err != nil {
		t.Fatal(err)
	}
	// The server goes on for a moment to serve what is not there any more.
	err := poll(func(ctx context.Context) (bool, error) {
		if _, err := k.of(kinds[crdKind], "").Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return false, nil
		}
		_, err := k.dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
		return apierrors.IsNotFound(err), nil
	})
	if err != nil {
		t.Fatalf("wait until %s is gone: %v", name, err)
	}
}

// served tells which resources of a group the server has CRDs for.
func (k *Kube) served(gv schema.GroupVersion) ([]schema.GroupVersionResource, error) {
	var resources []schema.GroupVersionResource
	err := k.try("list the CRDs", func(ctx context.Context) error {
		crds, err := k.of(kinds[crdKind], "").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		resources = nil
		for _, crd := range crds.Items {
			plural, of, _ := strings.Cut(crd.GetName(), ".")
			if of == gv.Group && established(&crd) && crd.GetDeletionTimestamp() == nil {
				resources = append(resources, gv.WithResource(plural))
			}
		}
		return nil
	})
	return resources, err
}
