package backend

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// nodeAnnotations are where Kubernetes has the fields of Calico's Node.
var nodeAnnotations = []struct {
	annotation string
	path       []string
}{
	{"projectcalico.org/IPv4Address", []string{"spec", "bgp", "ipv4Address"}},
	{"projectcalico.org/IPv6Address", []string{"spec", "bgp", "ipv6Address"}},
	{"projectcalico.org/ASNumber", []string{"spec", "bgp", "asNumber"}},
	{"projectcalico.org/RouteReflectorClusterID", []string{"spec", "bgp", "routeReflectorClusterID"}},
	{"projectcalico.org/IPv4IPIPTunnelAddr", []string{"spec", "bgp", "ipv4IPIPTunnelAddr"}},
	{"projectcalico.org/IPv4VXLANTunnelAddr", []string{"spec", "ipv4VXLANTunnelAddr"}},
	{"projectcalico.org/IPv6VXLANTunnelAddr", []string{"spec", "ipv6VXLANTunnelAddr"}},
	{"projectcalico.org/VXLANTunnelMACAddr", []string{"spec", "vxlanTunnelMACAddr"}},
	{"projectcalico.org/VXLANTunnelMACAddrV6", []string{"spec", "vxlanTunnelMACAddrV6"}},
	{"projectcalico.org/IPv4WireguardInterfaceAddr", []string{"spec", "wireguard", "interfaceIPv4Address"}},
	{"projectcalico.org/IPv6WireguardInterfaceAddr", []string{"spec", "wireguard", "interfaceIPv6Address"}},
	{"projectcalico.org/WireguardPublicKey", []string{"status", "wireguardPublicKey"}},
	{"projectcalico.org/WireguardPublicKeyV6", []string{"status", "wireguardPublicKeyV6"}},
}

// nodeInKube returns the Node of Kubernetes that Calico makes this Node of.
func nodeInKube(doc *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	node := object("v1", "Node", doc.GetName())
	node.SetLabels(doc.GetLabels())
	notes := map[string]string{}
	maps.Copy(notes, doc.GetAnnotations())
	for _, n := range nodeAnnotations {
		value, has, err := unstructured.NestedFieldNoCopy(doc.Object, n.path...)
		if err != nil {
			return nil, err
		}
		if has {
			notes[n.annotation] = fmt.Sprint(value)
		}
	}
	node.SetAnnotations(notes)
	cidrs, has, err := unstructured.NestedStringSlice(doc.Object, "status", "podCIDRs")
	if err != nil {
		return nil, err
	}
	if has && len(cidrs) > 0 {
		node.Object["spec"] = map[string]any{"podCIDR": cidrs[0], "podCIDRs": anySlice(cidrs)}
	}
	return node, nil
}

func anySlice(texts []string) []any {
	var all []any
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}
