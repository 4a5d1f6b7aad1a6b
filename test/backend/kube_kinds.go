package backend

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The groups of Calico's CRDs, with the names that tests call them by.
var calicoGroups = map[string]schema.GroupVersion{
	"v1": {Group: "crd.projectcalico.org", Version: "v1"},
	"v3": {Group: "projectcalico.org", Version: "v3"},
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
	for _, gv := range calicoGroups {
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

func kindOf(gvk schema.GroupVersionKind) (kindInfo, error) {
	info, ok := kinds[gvk]
	if !ok {
		return info, fmt.Errorf("%s is not among the kinds that this package knows", gvk)
	}
	return info, nil
}

// kindNamed is kindOf for an apiVersion and a kind with a slash between them.
func kindNamed(name string) (kindInfo, error) {
	slash := strings.LastIndex(name, "/")
	if slash < 0 {
		return kindInfo{}, fmt.Errorf("the kind %q has no apiVersion before it", name)
	}
	return kindOf(schema.FromAPIVersionAndKind(name[:slash], name[slash+1:]))
}
