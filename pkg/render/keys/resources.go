package keys

import (
	"net/netip"
	"time"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// resource is a resource as templates see it: the fields that birdconfd reads.
type resource struct {
	Kind       string         `json:"kind"`
	APIVersion string         `json:"apiVersion"`
	Metadata   metadata       `json:"metadata"`
	Spec       fields         `json:"spec"`
	Status     map[string]any `json:"status,omitempty"`
}

type metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// fields are the fields of a resource that are set.
type fields map[string]any

// put sets a field, unless the value is the one of a field that is not given.
func (f fields) put(name string, v any) {
	switch v := v.(type) {
	case string:
		if v == "" {
			return
		}
	case uint8, uint16, uint32:
		if v == uint8(0) || v == uint16(0) || v == uint32(0) {
			return
		}
	case bool:
		if !v {
			return
		}
	case netip.Addr:
		if !v.IsValid() {
			return
		}
		f[name] = v.String()
		return
	case netip.Prefix:
		if !v.IsValid() {
			return
		}
		f[name] = v.String()
		return
	case *time.Duration:
		if v == nil {
			return
		}
		f[name] = v.String()
		return
	case *bool:
		if v == nil {
			return
		}
	case *calico.Selector:
		if v == nil {
			return
		}
		f[name] = v.String()
		return
	case *calico.SecretKeyRef:
		if v == nil {
			return
		}
		f[name] = fields{"secretKeyRef": fields{"name": v.Name, "key": v.Key}}
		return
	case []string:
		if len(v) == 0 {
			return
		}
	case []any:
		if len(v) == 0 {
			return
		}
	case fields:
		if len(v) == 0 {
			return
		}
	}
	f[name] = v
}

// resources fills in /calico/resources/v3/projectcalico.org.
func (b *builder) resources(d *dir) {
	d.lazy(func(d *dir) {
		for _, n := range b.Cluster.Nodes {
			d.set(nodeResource(n), n.Name)
		}
	}, "nodes")
	d.lazy(func(d *dir) {
		for _, p := range b.Cluster.Peers {
			d.set(encode(&p.Meta, peerSpec(p)), p.Name)
		}
	}, "bgppeers")
	d.lazy(func(d *dir) {
		for name, c := range b.Cluster.Configs {
			d.set(encode(&c.Meta, configSpec(c)), name)
		}
	}, "bgpconfigurations")
	d.lazy(func(d *dir) {
		for name, f := range b.Cluster.Filters {
			d.set(encode(&f.Meta, filterSpec(f)), name)
		}
	}, "bgpfilters")
}

func encode(m *calico.Meta, spec fields) string { return text(describe(m, spec)) }

func describe(m *calico.Meta, spec fields) resource {
	return resource{Kind: m.Kind, APIVersion: "projectcalico.org/v3", Spec: spec,
		Metadata: metadata{Name: m.Name, Labels: m.Labels, Annotations: m.Annotations}}
}

func nodeResource(n *calico.Node) string {
	spec, own, tunnel := fields{}, fields{}, fields{}
	own.put("asNumber", n.ASNumber)
	own.put("ipv4Address", n.IPv4)
	own.put("ipv6Address", n.IPv6)
	own.put("routeReflectorClusterID", n.ClusterID)
	spec.put("bgp", own)
	tunnel.put("interfaceIPv4Address", n.WireguardIPv4)
	tunnel.put("interfaceIPv6Address", n.WireguardIPv6)
	spec.put("wireguard", tunnel)
	r := describe(&n.Meta, spec)
	r.Metadata.Annotations = nil // in Kubernetes they are what the other fields come from
	if len(n.PodCIDRs) > 0 {
		r.Status = map[string]any{"podCIDRs": n.PodCIDRs}
	}
	return text(r)
}

func peerSpec(p *calico.BGPPeer) fields {
	f := fields{}
	f.put("node", p.Node)
	f.put("nodeSelector", p.NodeSelector)
	f.put("peerSelector", p.PeerSelector)
	f.put("localWorkloadSelector", p.LocalWorkloadSelector)
	if p.PeerIP.IsValid() {
		f["peerIP"] = p.PeerIP.String()
		if p.PeerPort != 0 {
			f["peerIP"] = netip.AddrPortFrom(p.PeerIP, p.PeerPort).String()
		}
	}
	f.put("asNumber", p.ASNumber)
	f.put("localASNumber", p.LocalASNumber)
	f.put("keepOriginalNextHop", p.KeepOriginalNextHop)
	f.put("nextHopMode", string(p.NextHopMode))
	f.put("password", p.Password)
	if p.NoSourceAddress {
		f["sourceAddress"] = "None"
	}
	f.put("maxRestartTime", p.MaxRestartTime)
	f.put("keepaliveTime", p.KeepaliveTime)
	f.put("numAllowedLocalASNumbers", p.NumAllowedLocalASNumbers)
	f.put("ttlSecurity", p.TTLSecurity)
	f.put("reachableBy", p.ReachableBy)
	f.put("filters", p.Filters)
	if p.ReversePeeringManual {
		f["reversePeering"] = "Manual"
	}
	return f
}

func configSpec(c *calico.BGPConfiguration) fields {
	f := fields{}
	// Calico's words; debug and info are the two that stand for themselves.
	f.put("logSeverityScreen", map[calico.LogLevel]string{calico.LogDebug: "Debug", calico.LogInfo: "Info", calico.LogNone: "Error"}[c.LogLevel])
	f.put("nodeToNodeMeshEnabled", c.NodeToNodeMeshEnabled)
	f.put("asNumber", c.ASNumber)
	for _, of := range []struct {
		name string
		list []calico.ServiceRange
	}{{"serviceClusterIPs", c.ServiceClusterIPs}, {"serviceExternalIPs", c.ServiceExternalIPs}, {"serviceLoadBalancerIPs", c.ServiceLoadBalancerIPs}} {
		var list []any
		for _, r := range of.list {
			list = append(list, fields{"cidr": r.Prefix.String()})
		}
		f.put(of.name, list)
	}
	if c.ServiceAggregationDisabled {
		f["serviceLoadBalancerAggregation"] = "Disabled"
	}
	var adverts []any
	for _, p := range c.PrefixAdvertisements {
		communities := []string{}
		for _, of := range p.Communities {
			communities = append(communities, of.String())
		}
		adverts = append(adverts, fields{"cidr": p.Prefix.String(), "communities": communities})
	}
	f.put("prefixAdvertisements", adverts)
	f.put("listenPort", c.ListenPort)
	f.put("nodeMeshPassword", c.NodeMeshPassword)
	f.put("nodeMeshMaxRestartTime", c.NodeMeshMaxRestartTime)
	if c.BindToNodeIP {
		f["bindMode"] = "NodeIP"
	}
	f.put("ignoredInterfaces", c.IgnoredInterfaces)
	f.put("programClusterRoutes", string(c.ProgramClusterRoutes))
	f.put("ipv4NormalRoutePriority", c.IPv4NormalRoutePriority)
	f.put("ipv6NormalRoutePriority", c.IPv6NormalRoutePriority)
	f.put("gracefulRestartWait", c.GracefulRestartWait)
	f.put("gracefulRestartWaitFor", string(c.GracefulRestartWaitFor))
	return f
}

func filterSpec(b *calico.BGPFilter) fields {
	f := fields{}
	for _, of := range []struct {
		name  string
		rules []calico.FilterRule
	}{{"importV4", b.ImportV4}, {"exportV4", b.ExportV4}, {"importV6", b.ImportV6}, {"exportV6", b.ExportV6}} {
		var list []any
		for i := range of.rules {
			list = append(list, ruleFields(&of.rules[i]))
		}
		f.put(of.name, list)
	}
	return f
}

func ruleFields(r *calico.FilterRule) fields {
	f := fields{"action": "Reject"}
	if r.Accept {
		f["action"] = "Accept"
	}
	f.put("cidr", r.Prefix)
	f.put("matchOperator", string(r.Match))
	if r.HasLengths {
		f["prefixLength"] = fields{"min": r.MinLength, "max": r.MaxLength}
	}
	if r.RemotePeersOnly {
		f["source"] = "RemotePeers"
	}
	f.put("interface", r.Interface)
	f.put("peerType", string(r.PeerType))
	if r.Community != nil {
		f["communities"] = fields{"values": []string{r.Community.String()}}
	}
	if len(r.ASPathPrefix) > 0 {
		f["asPathPrefix"] = r.ASPathPrefix
	}
	f.put("priority", r.Priority)
	var operations []any
	for _, o := range r.Operations {
		switch {
		case o.AddCommunity != nil:
			operations = append(operations, fields{"addCommunity": fields{"value": o.AddCommunity.String()}})
		case o.SetPriority != 0:
			operations = append(operations, fields{"setPriority": fields{"value": o.SetPriority}})
		default:
			operations = append(operations, fields{"prependASPath": fields{"prefix": o.PrependASPath}})
		}
	}
	f.put("operations", operations)
	return f
}
