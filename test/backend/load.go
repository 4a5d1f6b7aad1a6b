package backend

import (
	"crypto/sha3"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// calicoRoot is where Calico's resources are in etcd.
const calicoRoot = "/calico/resources/v3/projectcalico.org/"

// Clear removes all that Calico keeps.
func (e *Etcd) Clear(t testing.TB, c *clientv3.Client) {
	t.Helper()
	e.Delete(t, c, "/calico/", clientv3.WithPrefix())
}

// Load puts Calico's resources of a YAML text where Calico keeps them in etcd, and returns the
// others, which cannot be there.
func (e *Etcd) Load(t testing.TB, c *clientv3.Client, text string) (others string) {
	t.Helper()
	var rest []string
	for _, o := range documents(t, text) {
		switch {
		case !strings.Contains(o.GetAPIVersion(), "projectcalico.org"):
			rest = append(rest, encode(t, o))
		case o.GetKind() == "BlockAffinity":
			spec := o.Object["spec"].(map[string]any)
			cidr := spec["cidr"].(string)
			family := "ipv4"
			if strings.Contains(cidr, ":") {
				family = "ipv6"
			}
			deleted := fmt.Sprint(spec["deleted"]) == "true"
			value, _ := json.Marshal(map[string]any{"state": spec["state"], "deleted": deleted})
			e.Put(t, c, fmt.Sprintf("/calico/ipam/v2/host/%s/%s/block/%s", spec["node"], family, strings.Replace(cidr, "/", "-", 1)), string(value))
		default:
			o.SetAPIVersion("projectcalico.org/v3")
			e.Put(t, c, calicoRoot+plural(o.GetKind())+"/"+o.GetName(), encode(t, o))
		}
	}
	return strings.Join(rest, "\n---\n")
}

func encode(t testing.TB, o *unstructured.Unstructured) string {
	t.Helper()
	data, err := json.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Load puts the resources of a YAML text where they are in a Kubernetes cluster: Calico's in
// one of the groups, and its Nodes in the annotations of Nodes.
func (k *Kube) Load(t testing.TB, group, text string) {
	t.Helper()
	for _, o := range documents(t, text) {
		switch {
		case o.GetKind() == "Node" && strings.Contains(o.GetAPIVersion(), "projectcalico.org"):
			o = coreNode(o)
		case strings.Contains(o.GetAPIVersion(), "projectcalico.org"):
			intoGroup(t, group, o)
		case o.GetKind() == "Service":
			withPorts(o)
		}
		if err := k.apply(t, o); err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// coreNode writes a Calico Node as the annotations of a Kubernetes Node.
func coreNode(o *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node"}}
	out.SetName(o.GetName())
	out.SetLabels(o.GetLabels())
	annotations := map[string]string{}
	take := func(name string, path ...string) {
		if v, ok, _ := unstructured.NestedFieldNoCopy(o.Object, path...); ok {
			annotations["projectcalico.org/"+name] = fmt.Sprint(v)
		}
	}
	take("IPv4Address", "spec", "bgp", "ipv4Address")
	take("IPv6Address", "spec", "bgp", "ipv6Address")
	take("ASNumber", "spec", "bgp", "asNumber")
	take("RouteReflectorClusterID", "spec", "bgp", "routeReflectorClusterID")
	take("IPv4WireguardInterfaceAddr", "spec", "wireguard", "interfaceIPv4Address")
	take("IPv6WireguardInterfaceAddr", "spec", "wireguard", "interfaceIPv6Address")
	out.SetAnnotations(annotations)
	return out
}

// intoGroup writes one of Calico's resources as Calico itself does in a group.
func intoGroup(t testing.TB, group string, o *unstructured.Unstructured) {
	t.Helper()
	o.SetAPIVersion(group)
	if o.GetKind() == "BlockAffinity" {
		spec := o.Object["spec"].(map[string]any)
		deleted := fmt.Sprint(spec["deleted"]) == "true"
		spec["deleted"] = any(deleted)
		if group == GroupV1 {
			spec["deleted"] = fmt.Sprint(deleted)
		}
		sum := sha3.Sum256([]byte(fmt.Sprint(spec["node"])))
		o.SetLabels(map[string]string{"projectcalico.org/hostname-hash": base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])})
		return
	}
	if group != GroupV1 || len(o.GetLabels())+len(o.GetAnnotations()) == 0 {
		return
	}
	folded, err := json.Marshal(map[string]any{"labels": o.GetLabels(), "annotations": o.GetAnnotations()})
	if err != nil {
		t.Fatal(err)
	}
	o.SetLabels(nil)
	o.SetAnnotations(map[string]string{"projectcalico.org/metadata": string(folded)})
}

// withPorts gives a Service the port without which no API server takes it.
func withPorts(o *unstructured.Unstructured) {
	spec, _ := o.Object["spec"].(map[string]any)
	if spec != nil && spec["ports"] == nil && spec["type"] != "ExternalName" {
		spec["ports"] = []any{map[string]any{"port": int64(80)}}
	}
}
