package keys

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// resource is a resource as templates see it.
type resource struct {
	Kind       string         `json:"kind"`
	APIVersion string         `json:"apiVersion"`
	Metadata   metadata       `json:"metadata"`
	Spec       any            `json:"spec"`
	Status     map[string]any `json:"status,omitempty"`
}

type metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// resources fills in /calico/resources/v3/projectcalico.org.
func (b *builder) resources(d *dir) {
	d.lazy(func(d *dir) {
		for _, n := range b.Cluster.Nodes {
			d.set(text(nodeResource(n)), n.Name)
		}
	}, "nodes")
	d.lazy(func(d *dir) {
		for _, p := range b.Cluster.Peers {
			d.set(text(verbatim(&p.Meta)), p.Name)
		}
	}, "bgppeers")
	d.lazy(func(d *dir) {
		for name, c := range b.Cluster.Configs {
			d.set(text(verbatim(&c.Meta)), name)
		}
	}, "bgpconfigurations")
	d.lazy(func(d *dir) {
		for name, f := range b.Cluster.Filters {
			d.set(text(filterResource(f)), name)
		}
	}, "bgpfilters")
}

func describe(m *calico.Meta, spec any) resource {
	return resource{Kind: m.Kind, APIVersion: "projectcalico.org/v3", Spec: spec,
		Metadata: metadata{Name: m.Name, Labels: m.Labels, Annotations: m.Annotations}}
}

// verbatim is a resource with the spec as it was read.
func verbatim(m *calico.Meta) resource {
	if m.Origin.Spec == nil {
		return describe(m, fields{})
	}
	return describe(m, json.RawMessage(m.Origin.Spec))
}

// filterResource is a BGPFilter without the rules that are left out because of an error: the
// functions that bgpFilterBIRDFuncs makes have not got them either, and templates decide by the
// rules which of these there are.
func filterResource(f *calico.BGPFilter) resource {
	r := verbatim(&f.Meta)
	var spec map[string][]any
	if json.Unmarshal(f.Origin.Spec, &spec) != nil {
		return describe(&f.Meta, fields{})
	}
	kept := fields{}
	for name, rules := range map[string][]calico.FilterRule{"importV4": f.ImportV4, "exportV4": f.ExportV4, "importV6": f.ImportV6, "exportV6": f.ExportV6} {
		var list []any
		for i, rule := range spec[name] {
			if slices.ContainsFunc(rules, func(r calico.FilterRule) bool { return r.Field == fmt.Sprintf("spec.%s[%d]", name, i) }) {
				list = append(list, rule)
			}
		}
		if list != nil {
			kept[name] = list
		}
	}
	r.Spec = kept
	return r
}

// fields are the fields of a resource that are set.
type fields map[string]any

// address and prefix set a field, unless there is none.
func (f fields) address(name string, a netip.Addr) {
	if a.IsValid() {
		f[name] = a.String()
	}
}

func (f fields) prefix(name string, p netip.Prefix) {
	if p.IsValid() {
		f[name] = p.String()
	}
}

// nodeResource has the fields of a node that birdconfd reads: nodes come by the thousands, and
// change with each heartbeat, so that nothing else is kept of them.
func nodeResource(n *calico.Node) resource {
	spec, own, tunnel := fields{}, fields{}, fields{}
	if n.ASNumber != 0 {
		own["asNumber"] = n.ASNumber
	}
	own.prefix("ipv4Address", n.IPv4)
	own.prefix("ipv6Address", n.IPv6)
	own.address("routeReflectorClusterID", n.ClusterID)
	tunnel.address("interfaceIPv4Address", n.WireguardIPv4)
	tunnel.address("interfaceIPv6Address", n.WireguardIPv6)
	for name, part := range map[string]fields{"bgp": own, "wireguard": tunnel} {
		if len(part) > 0 {
			spec[name] = part
		}
	}
	r := describe(&n.Meta, spec)
	r.Metadata.Annotations = nil // in Kubernetes they are what the other fields come from
	if len(n.PodCIDRs) > 0 {
		r.Status = map[string]any{"podCIDRs": n.PodCIDRs}
	}
	return r
}
