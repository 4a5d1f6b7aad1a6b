package backend

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// Apply makes the objects of a YAML text be in the server as they are there, with their
// status, or without one: each is created, or replaced, or created anew where something has
// changed that cannot change. Objects without a namespace are in "default"; a namespace that
// is missing is created.
func (k *Kube) Apply(t testing.TB, yamlText string) {
	t.Helper()
	if err := k.TryApply(t, yamlText); err != nil {
		t.Fatal(err)
	}
}

// TryApply is Apply for a text that the server may refuse. It returns what the server says to
// the first object that it refuses.
func (k *Kube) TryApply(t testing.TB, yamlText string) error {
	t.Helper()
	docs, err := parse(yamlText)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		if err := k.apply(doc); err != nil {
			return err
		}
	}
	return nil
}

// Delete removes an object. It is no mistake when there is none.
func (k *Kube) Delete(t testing.TB, apiVersion, kind, namespace, name string) {
	t.Helper()
	info, err := kindOf(schema.FromAPIVersionAndKind(apiVersion, kind))
	if err != nil {
		t.Fatal(err)
	}
	if err := k.delete(info, namespace, name); err != nil {
		t.Fatal(err)
	}
}

func (k *Kube) delete(info kindInfo, namespace, name string) error {
	now := int64(0)
	return k.try(fmt.Sprintf("delete %s %s", info.resource.Resource, name), func(ctx context.Context) error {
		err := k.of(info, namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// parse reads the documents of a YAML text. Each must be an object with a name.
func parse(yamlText string) ([]*unstructured.Unstructured, error) {
	var docs []*unstructured.Unstructured
	for text := range strings.SplitSeq("\n"+yamlText, "\n---") {
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("read the YAML of a test: %w", err)
		}
		var content map[string]any
		if err := json.Unmarshal(data, &content); err != nil { // unlike encoding/json it keeps integers
			return nil, fmt.Errorf("read the YAML of a test: %w", err)
		}
		if len(content) == 0 {
			continue
		}
		doc := &unstructured.Unstructured{Object: content}
		if doc.GetKind() == "" || doc.GetName() == "" {
			return nil, fmt.Errorf("the YAML of a test has a document without kind or name:\n%s", text)
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

func (k *Kube) of(info kindInfo, namespace string) dynamic.ResourceInterface {
	if !info.namespaced {
		return k.dynamic.Resource(info.resource)
	}
	if namespace == "" {
		namespace = "default"
	}
	return k.dynamic.Resource(info.resource).Namespace(namespace)
}

// apply creates or replaces one object, with its status.
func (k *Kube) apply(doc *unstructured.Unstructured) error {
	info, err := kindOf(doc.GroupVersionKind())
	if err != nil {
		return err
	}
	if info.namespaced && doc.GetNamespace() == "" {
		doc.SetNamespace("default")
	}
	if info.namespaced {
		if err := k.createNamespace(doc.GetNamespace()); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("apply %s %s", doc.GetKind(), doc.GetName())
	client := k.of(info, doc.GetNamespace())
	err = k.try(what, func(ctx context.Context) error { return replace(ctx, client, doc) })
	if err != nil || !info.status {
		return err
	}
	return k.try(what+" with its status", func(ctx context.Context) error { return replaceStatus(ctx, client, doc) })
}

func replace(ctx context.Context, client dynamic.ResourceInterface, doc *unstructured.Unstructured) error {
	doc = doc.DeepCopy()
	now, err := client.Get(ctx, doc.GetName(), metav1.GetOptions{})
	if err == nil && fixed(now, doc) {
		if err := client.Delete(ctx, doc.GetName(), metav1.DeleteOptions{}); err != nil {
			return err
		}
		now, err = client.Get(ctx, doc.GetName(), metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, doc, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	doc.SetResourceVersion(now.GetResourceVersion())
	_, err = client.Update(ctx, doc, metav1.UpdateOptions{})
	return err
}

// fixed tells whether an object differs in something that the server does not let change.
func fixed(now, doc *unstructured.Unstructured) bool {
	differs := func(path ...string) bool {
		before, _, _ := unstructured.NestedFieldNoCopy(now.Object, path...)
		after, _, _ := unstructured.NestedFieldNoCopy(doc.Object, path...)
		return !reflect.DeepEqual(before, after)
	}
	switch doc.GetKind() {
	case "Node":
		return differs("spec", "podCIDRs")
	case "Service":
		_, given, _ := unstructured.NestedFieldNoCopy(doc.Object, "spec", "clusterIP")
		return given && differs("spec", "clusterIP")
	case "EndpointSlice":
		return differs("addressType")
	}
	return false
}

func replaceStatus(ctx context.Context, client dynamic.ResourceInterface, doc *unstructured.Unstructured) error {
	now, err := client.Get(ctx, doc.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	delete(now.Object, "status")
	if status, has := doc.Object["status"]; has {
		now.Object["status"] = status
	}
	_, err = client.UpdateStatus(ctx, now, metav1.UpdateOptions{})
	return err
}

func (k *Kube) createNamespace(name string) error {
	space := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	info, err := kindOf(space.GroupVersionKind())
	if err != nil {
		return err
	}
	return k.try("create namespace "+name, func(ctx context.Context) error {
		_, err := k.of(info, "").Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = k.of(info, "").Create(ctx, space, metav1.CreateOptions{})
		}
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// try does something, again and again while the server has only no time for it, or does
// not answer.
func (k *Kube) try(what string, do func(context.Context) error) error {
	var last error
	err := poll(func(ctx context.Context) (bool, error) {
		last = do(ctx)
		return last == nil || !passes(last), nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w (%v)", what, err, last)
	}
	if last != nil {
		return fmt.Errorf("%s: %w", what, last)
	}
	return nil
}

// passes tells whether an error may be gone the next time.
func passes(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true // no answer
	}
	return apierrors.IsTooManyRequests(err) || apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
}
