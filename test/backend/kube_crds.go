package backend

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/birdconfd/birdconfd/test/shared"
)

// crdFiles are of our own making. They are for both groups: GROUP and VERSION stand for
// either.
//
//go:embed testdata/crds/*.yaml
var crdFiles embed.FS

var crdKind = schema.FromAPIVersionAndKind("apiextensions.k8s.io/v1", "CustomResourceDefinition")

// InstallCRDs installs the CRDs of kinds given by their plurals, or of all that birdconfd
// reads without any, for GroupV1 or GroupV3. It waits until the server serves them. That of
// bgpconfigurations is as strict as those that Calico ships, so it drops the fields that only
// birdconfd knows; the others take anything in spec.
func (k *Kube) InstallCRDs(t testing.TB, group string, plurals ...string) {
	t.Helper()
	gv, err := groupVersion(group)
	if err != nil {
		t.Fatal(err)
	}
	if len(plurals) == 0 {
		plurals = CalicoPlurals
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

// RemoveCRD removes the CRD of a resource in a group, with all its objects, and waits until it
// is gone. It is no mistake when there is none.
func (k *Kube) RemoveCRD(t testing.TB, group, plural string) {
	t.Helper()
	gv, err := groupVersion(group)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.removeCRDs([]schema.GroupVersionResource{gv.WithResource(plural)}); err != nil {
		t.Fatal(err)
	}
}

func (k *Kube) removeCRDs(resources []schema.GroupVersionResource) error {
	for _, resource := range resources {
		if err := k.delete(kinds[crdKind], "", resource.GroupResource().String()); err != nil {
			return err
		}
	}
	for _, resource := range resources {
		if err := k.untilGone(resource); err != nil {
			return err
		}
	}
	return nil
}

// untilGone waits until the server has no CRD, and does not serve it any more, which takes it
// a moment longer.
func (k *Kube) untilGone(resource schema.GroupVersionResource) error {
	name := resource.GroupResource().String()
	err := poll(func(ctx context.Context) (bool, error) {
		if _, err := k.of(kinds[crdKind], "").Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return false, nil
		}
		_, err := k.dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
		return apierrors.IsNotFound(err), nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s is gone: %w", name, err)
	}
	return nil
}

// served returns the resources of both groups that the server has CRDs for.
func (k *Kube) served() ([]schema.GroupVersionResource, error) {
	var resources []schema.GroupVersionResource
	err := k.try("list the CRDs", func(ctx context.Context) error {
		crds, err := k.of(kinds[crdKind], "").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		resources = nil
		for _, crd := range crds.Items {
			plural, of, _ := strings.Cut(crd.GetName(), ".")
			for _, group := range Groups {
				gv, _ := schema.ParseGroupVersion(group) // they are good
				if of == gv.Group && crd.GetDeletionTimestamp() == nil {
					resources = append(resources, gv.WithResource(plural))
				}
			}
		}
		return nil
	})
	return resources, err
}

// PatchCRD gives the CRD of bgpconfigurations our fields, with the file that operators use for
// it, and waits until the server keeps them.
func (k *Kube) PatchCRD(t testing.TB, group, plural string) {
	t.Helper()
	gv, err := groupVersion(group)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := os.ReadFile(filepath.Join(shared.Root(t), "etc", "crd", plural+"-"+gv.Version+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.of(kinds[crdKind], "").Patch(t.Context(), plural+"."+gv.Group, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	probe := object(group, "BGPConfiguration", "probe")
	probe.Object["spec"] = map[string]any{"gracefulRestartWait": "1s"}
	Do(t, "patch "+plural, func(ctx context.Context) error {
		if err := k.apply(probe); err != nil {
			return err
		}
		kept, err := k.dynamic.Resource(gv.WithResource(plural)).Get(ctx, "probe", metav1.GetOptions{})
		if err == nil && kept.Object["spec"].(map[string]any)["gracefulRestartWait"] == nil {
			err = fmt.Errorf("the field is dropped: %v", kept.Object)
		}
		return err
	})
	k.Delete(t, group, "BGPConfiguration", "", "probe")
}
