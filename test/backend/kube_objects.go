package backend

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	paths "github.com/birdconfd/birdconfd/test/shared"
)

var serializers = serializer.NewCodecFactory(scheme.Scheme).WithoutConversion()

// The two groups in which Calico's resources may be.
const (
	GroupV1 = "crd.projectcalico.org/v1"
	GroupV3 = "projectcalico.org/v3"
)

// Groups are both.
var Groups = []string{GroupV1, GroupV3}

// CalicoPlurals are the resources of the groups.
var CalicoPlurals = []string{"bgpconfigurations", "bgppeers", "bgpfilters", "ippools", "blockaffinities"}

// Dynamic is an administrator's client.
func (k *Kube) Dynamic(t testing.TB) dynamic.Interface {
	t.Helper()
	if k.client == nil {
		c, err := dynamic.NewForConfig(k.Admin())
		if err != nil {
			t.Fatal(err)
		}
		k.client = c
	}
	return k.client
}

// plural names the resource of a kind.
func plural(kind string) string {
	lower := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(lower, "y"):
		return strings.TrimSuffix(lower, "y") + "ies"
	default:
		return lower + "s"
	}
}

// Resource returns the client of an object's kind, in its namespace if it has one.
func (k *Kube) Resource(t testing.TB, apiVersion, kind, namespace string) dynamic.ResourceInterface {
	t.Helper()
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		t.Fatal(err)
	}
	r := k.Dynamic(t).Resource(gv.WithResource(plural(kind)))
	if namespace == "" {
		return r
	}
	return r.Namespace(namespace)
}

// documents cuts YAML into objects.
func documents(t testing.TB, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for part := range strings.SplitSeq("\n"+text, "\n---") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(part), &o); err != nil {
			t.Fatalf("%v in:\n%s", err, part)
		}
		if len(o) > 0 {
			out = append(out, &unstructured.Unstructured{Object: o})
		}
	}
	return out
}

var namespaced = map[string]bool{"Service": true, "EndpointSlice": true, "Secret": true, "ServiceAccount": true, "Role": true, "RoleBinding": true}

// Apply makes or replaces the objects of a YAML text, with their status.
func (k *Kube) Apply(t testing.TB, text string) {
	t.Helper()
	for _, o := range documents(t, text) {
		if err := k.apply(t, o); err != nil {
			t.Fatalf("apply %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// TryApply is Apply for a text which the server may refuse.
func (k *Kube) TryApply(t testing.TB, text string) error {
	t.Helper()
	for _, o := range documents(t, text) {
		if err := k.apply(t, o); err != nil {
			return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

func (k *Kube) apply(t testing.TB, o *unstructured.Unstructured) error {
	t.Helper()
	if namespaced[o.GetKind()] && o.GetNamespace() == "" {
		o.SetNamespace("default")
	}
	r := k.Resource(t, o.GetAPIVersion(), o.GetKind(), o.GetNamespace())
	if ns := o.GetNamespace(); ns != "" {
		_, err := k.Resource(t, "v1", "Namespace", "").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns}}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	data, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	force := true
	options := metav1.PatchOptions{FieldManager: "test", Force: &force}
	var refused error
	Do(t, "apply "+o.GetKind(), func(ctx context.Context) error {
		_, refused = r.Patch(ctx, o.GetName(), types.ApplyPatchType, data, options)
		if refused == nil && o.Object["status"] != nil && !strings.Contains(o.GetAPIVersion(), "projectcalico") {
			_, refused = r.Patch(ctx, o.GetName(), types.ApplyPatchType, data, options, "status")
		}
		if apierrors.IsTooManyRequests(refused) || apierrors.IsTimeout(refused) {
			return refused // its storage is being made
		}
		return nil
	})
	return refused
}

// Delete deletes an object.
func (k *Kube) Delete(t testing.TB, apiVersion, kind, namespace, name string) {
	t.Helper()
	ctx, cancel := within(t) // also when the test is over
	defer cancel()
	if err := k.Resource(t, apiVersion, kind, namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatalf("delete %s %s: %v", kind, name, err)
	}
}

// InstallCRDs installs Calico's resources in one of the groups, as far as tests need them.
// BGPConfigurations lack our fields, as in the CRDs that Calico ships.
func (k *Kube) InstallCRDs(t testing.TB, group string, plurals ...string) {
	t.Helper()
	for _, p := range plurals {
		k.Apply(t, crd(t, group, p))
	}
	gv, _ := schema.ParseGroupVersion(group)
	for _, p := range plurals {
		Do(t, "list "+p, func(ctx context.Context) error {
			_, err := k.Dynamic(t).Resource(gv.WithResource(p)).List(ctx, metav1.ListOptions{})
			return err
		})
	}
}

// RemoveCRD removes a resource, with all its objects, and waits until it is gone.
func (k *Kube) RemoveCRD(t testing.TB, group, p string) {
	t.Helper()
	k.both = false
	gv, _ := schema.ParseGroupVersion(group)
	r := k.Resource(t, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
	ctx, cancel := within(t) // also when the test is over
	defer cancel()
	if err := r.Delete(ctx, p+"."+gv.Group, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	Do(t, "remove "+p, func(ctx context.Context) error {
		_, err := r.Get(ctx, p+"."+gv.Group, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %w", err)
	})
}

// crd is the definition of a resource: that of BGPConfigurations as strict as the real one,
// the others let everything through.
func crd(t testing.TB, group, p string) string {
	t.Helper()
	gv, err := schema.ParseGroupVersion(group)
	if err != nil {
		t.Fatal(err)
	}
	kind := map[string]string{"bgpconfigurations": "BGPConfiguration", "bgppeers": "BGPPeer", "bgpfilters": "BGPFilter",
		"ippools": "IPPool", "blockaffinities": "BlockAffinity"}[p]
	spec := "{type: object, x-kubernetes-preserve-unknown-fields: true}"
	if p == "bgpconfigurations" {
		data, err := os.ReadFile(filepath.Join(paths.Root(t), "testdata", "crds", "bgpconfiguration-spec.json"))
		if err != nil {
			t.Fatal(err)
		}
		spec = string(data)
	}
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: Cluster
  names: {plural: %[1]s, singular: %[3]s, kind: %[4]s, listKind: %[4]sList}
  versions:
  - name: %[5]s
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {apiVersion: {type: string}, kind: {type: string}, metadata: {type: object}, spec: %[6]s}}}
`, p, gv.Group, strings.ToLower(kind), kind, gv.Version, strings.ReplaceAll(spec, "\n", " "))
}

// ServiceAccountToken makes an account if there is none, and a token for it.
func (k *Kube) ServiceAccountToken(t testing.TB, namespace, name string) string {
	t.Helper()
	k.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s, namespace: %s}\n", name, namespace))
	request := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"metadata": map[string]any{"name": name, "namespace": namespace}, "spec": map[string]any{}}}
	answer, err := k.Resource(t, "v1", "ServiceAccount", namespace).Create(t.Context(), request, metav1.CreateOptions{}, "token")
	if err != nil {
		t.Fatal(err)
	}
	token, _, _ := unstructured.NestedString(answer.Object, "status", "token")
	if token == "" {
		t.Fatal("there is no token in the answer")
	}
	return token
}
