package backend

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// The two groups in which Calico's resources may be, with their versions.
const (
	GroupV1 = "crd.projectcalico.org/v1"
	GroupV3 = "projectcalico.org/v3"
)

// Groups are both.
var Groups = []string{GroupV1, GroupV3}

// CalicoPlurals are the resources of the groups.
var CalicoPlurals = []string{"bgpconfigurations", "bgppeers", "bgpfilters", "ippools", "blockaffinities"}

// groupVersion takes a group apart.
func groupVersion(group string) (schema.GroupVersion, error) {
	if !slices.Contains(Groups, group) {
		return schema.GroupVersion{}, fmt.Errorf("the group %q is neither %s nor %s", group, GroupV1, GroupV3)
	}
	return schema.ParseGroupVersion(group)
}

// calicoPlurals are the kinds that there are CRDs for.
var calicoPlurals = map[string]string{
	"BGPConfiguration": "bgpconfigurations",
	"BGPPeer":          "bgppeers",
	"BGPFilter":        "bgpfilters",
	"IPPool":           "ippools",
	"BlockAffinity":    "blockaffinities",
}

// kindInfo is how the API server has a kind.
type kindInfo struct {
	resource   schema.GroupVersionResource
	namespaced bool
	status     bool // its status is written by itself
}

// kinds are those that tests put into an API server.
var kinds = knownKinds()

func knownKinds() map[schema.GroupVersionKind]kindInfo {
	known := map[schema.GroupVersionKind]kindInfo{}
	add := func(gv schema.GroupVersion, kind, plural string, namespaced, status bool) {
		known[gv.WithKind(kind)] = kindInfo{gv.WithResource(plural), namespaced, status}
	}
	for _, group := range Groups {
		gv, _ := schema.ParseGroupVersion(group) // they are good
		for kind, plural := range calicoPlurals {
			add(gv, kind, plural, false, false)
		}
	}
	core := schema.GroupVersion{Version: "v1"}
	add(core, "Node", "nodes", false, true)
	add(core, "Namespace", "namespaces", false, false)
	add(core, "Service", "services", true, true)
	add(core, "Secret", "secrets", true, false)
	add(core, "ServiceAccount", "serviceaccounts", true, false)
	add(core, "ConfigMap", "configmaps", true, false)
	add(schema.GroupVersion{Group: "discovery.k8s.io", Version: "v1"}, "EndpointSlice", "endpointslices", true, false)
	add(schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}, "CustomResourceDefinition", "customresourcedefinitions", false, false)
	rbac := schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	add(rbac, "Role", "roles", true, false)
	add(rbac, "RoleBinding", "rolebindings", true, false)
	add(rbac, "ClusterRole", "clusterroles", false, false)
	add(rbac, "ClusterRoleBinding", "clusterrolebindings", false, false)
	return known
}

// Resource returns the administrator's client for a kind, in a namespace if it has any.
func (k *Kube) Resource(t testing.TB, apiVersion, kind, namespace string) dynamic.ResourceInterface {
	t.Helper()
	info, err := kindOf(schema.FromAPIVersionAndKind(apiVersion, kind))
	if err != nil {
		t.Fatal(err)
	}
	return k.of(info, namespace)
}

func kindOf(gvk schema.GroupVersionKind) (kindInfo, error) {
	info, ok := kinds[gvk]
	if !ok {
		return info, fmt.Errorf("%s is not among the kinds that this package knows", gvk)
	}
	return info, nil
}
