package backend

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// Apply makes the objects of a YAML text be in the server as they are there, with their
// status: each is created, or replaced. Objects without a namespace are in "default"; a
// namespace that is missing is created.
func (k *Kube) Apply(t testing.TB, yamlText string) {
	t.Helper()
	docs, err := parse(yamlText)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		if err := k.apply(doc); err != nil {
			t.Fatal(err)
		}
	}
}

// Delete removes an object, such as Delete(t, "v1/Node", "", "node-1"): its apiVersion and
// its kind, with a slash between them. It is no mistake when there is none.
func (k *Kube) Delete(t testing.TB, kind, namespace, name string) {
	t.Helper()
	slash := strings.LastIndex(kind, "/")
	if slash < 0 {
		t.Fatalf("the kind %q has no apiVersion before it", kind)
	}
	info, err := kindOf(schema.FromAPIVersionAndKind(kind[:slash], kind[slash+1:]))
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
		var content map[string]any
		if err := yaml.Unmarshal([]byte(text), &content); err != nil {
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

// apply creates or replaces one object, with its status. Other fields that the server has
// set are lost.
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
	status, has := doc.Object["status"]
	if err != nil || !has || !info.status {
		return err
	}
	return k.try(what+" with its status", func(ctx context.Context) error {
		now, err := client.Get(ctx, doc.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		now.Object["status"] = status
		_, err = client.UpdateStatus(ctx, now, metav1.UpdateOptions{})
		return err
	})
}

func replace(ctx context.Context, client dynamic.ResourceInterface, doc *unstructured.Unstructured) error {
	doc = doc.DeepCopy()
	now, err := client.Get(ctx, doc.GetName(), metav1.GetOptions{})
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
		if last != nil && !passes(last) {
			return false, last
		}
		return last == nil, nil
	})
	switch {
	case err == nil:
		return nil
	case err == last:
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w (%v)", what, err, last)
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
