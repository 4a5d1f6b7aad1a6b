package backend

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ServiceAccountToken returns a token for a service account, which is created when it is
// missing. The API server has signed it, and takes it for an hour.
func (k *Kube) ServiceAccountToken(t testing.TB, namespace, name string) string {
	t.Helper()
	account := object("v1", "ServiceAccount", name)
	account.SetNamespace(namespace)
	if err := k.apply(account); err != nil {
		t.Fatal(err)
	}
	info, err := kindOf(account.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	var token string
	err = k.try("request a token for "+name, func(ctx context.Context) error {
		request := object("authentication.k8s.io/v1", "TokenRequest", name)
		request.Object["spec"] = map[string]any{"expirationSeconds": int64(3600)}
		answer, err := k.of(info, namespace).Create(ctx, request, metav1.CreateOptions{}, "token")
		if err == nil {
			token, _, err = unstructured.NestedString(answer.Object, "status", "token")
		}
		return err
	})
	if err != nil || token == "" {
		t.Fatalf("the token of %s is %d bytes long: %v", name, len(token), err)
	}
	return token
}

// object returns one that has nothing but a name.
func object(apiVersion, kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetName(name)
	return o
}
