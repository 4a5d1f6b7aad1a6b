package kube

import (
	"crypto/sha3"
	"encoding/base32"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resource is a list that is read and watched by itself.
type resource struct {
	// name is what people call it, plural what the server does.
	name, plural string
	// group is "" for those of the core.
	group string
	// namespace, labels and field restrict what is read.
	namespace, labels, field string
	// custom tells that it is one of Calico's.
	custom bool
	// young resources are lacking where Calico is old.
	young bool
	// optional resources do not keep the rest from being used.
	optional bool
	// without tells what goes wrong without it.
	without string
	// list tells how it comes from the server; nil for custom ones.
	list func(*clients) lister
}

// vital is for the BGPConfiguration with the settings of all nodes: without it there are other
// AS numbers, and a mesh.
func (r resource) vital() func(string) bool {
	if r.plural != "bgpconfigurations" {
		return nil
	}
	return func(key string) bool { return key == "default" }
}

// calicoResources are Calico's own.
func calicoResources(o Options) []resource {
	all := []resource{
		{name: "BGPConfigurations", plural: "bgpconfigurations", custom: true},
		{name: "BGPPeers", plural: "bgppeers", custom: true},
		{name: "BGPFilters", plural: "bgpfilters", custom: true, young: true},
		{name: "IPPools", plural: "ippools", custom: true},
	}
	if !o.UsePodCIDR {
		all = append(all, resource{name: "BlockAffinities", plural: "blockaffinities", custom: true, labels: hostnameLabel + "=" + hostnameHash(o.Node)})
	}
	return all
}

var nodes = resource{name: "Nodes", plural: "nodes", list: func(c *clients) lister {
	return known(c.core, "nodes", "", func() message { return &corev1.Node{} })
}}

const onlyRanges = "; only whole ranges are announced, no addresses of single Services"

var services = []resource{
	{name: "Services", plural: "services", optional: true, without: onlyRanges, list: func(c *clients) lister {
		return known(c.core, "services", "", func() message { return &corev1.Service{} })
	}},
	{name: "EndpointSlices", plural: "endpointslices", group: "discovery.k8s.io", optional: true, without: onlyRanges,
		labels: discoveryv1.LabelServiceName + ",!" + corev1.IsHeadlessService, list: func(c *clients) lister {
			return known(c.discovery, "endpointslices", "", func() message { return &discoveryv1.EndpointSlice{} })
		}},
}

// secret is the list that has one Secret, or none.
func secret(namespace, name string) resource {
	return resource{name: "Secret " + name, plural: "secrets", namespace: namespace, field: "metadata.name=" + name, optional: true,
		without: "; sessions that need its password are held back", list: func(c *clients) lister {
			return known(c.core, "secrets", namespace, func() message { return &corev1.Secret{} })
		}}
}

// hostnameLabel finds the block affinities of a node.
const hostnameLabel = "projectcalico.org/hostname-hash"

// hostnameHash is its value for a node.
func hostnameHash(node string) string {
	sum := sha3.Sum256([]byte(node))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
}

// groupVersion is where Calico's resources are.
type groupVersion = schema.GroupVersion

var (
	groupV1 = groupVersion{Group: "crd.projectcalico.org", Version: "v1"}
	groupV3 = groupVersion{Group: "projectcalico.org", Version: "v3"}
)
