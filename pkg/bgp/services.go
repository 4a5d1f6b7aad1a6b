package bgp

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// ExcludeLabel on a node keeps it from announcing service addresses.
const ExcludeLabel = "node.kubernetes.io/exclude-from-external-load-balancers"

// serviceRoutes is what Services and the configured ranges decide, for both families.
type serviceRoutes struct {
	routes, rejects []Route
	// reflected are the ranges a route reflector passes on, in the order of configuration.
	reflected []Route
}

// ranges are the three lists of service prefixes.
type ranges struct {
	cluster, external, loadBalancer []Route
}

// services works out which service prefixes this node announces. The set is a pure
// function of the ranges, the node's label, the Services and their EndpointSlices.
func (k *calculation) services() serviceRoutes {
	r := ranges{
		cluster:      k.clusterRanges(),
		external:     routesOf(k.config.ServiceExternalIPs, &k.config.Meta),
		loadBalancer: routesOf(k.config.ServiceLoadBalancerIPs, &k.config.Meta),
	}
	whole := slices.Concat(r.cluster, aggregates(r.external))
	out := serviceRoutes{
		// Ranges stay out of the kernel also when only single addresses in them are announced.
		rejects:   slices.Concat(whole, aggregates(r.loadBalancer)),
		reflected: slices.Concat(r.loadBalancer, r.external),
	}
	if k.me.Labels[ExcludeLabel] == "true" {
		return out
	}
	out.routes = whole
	if !k.config.ServiceAggregationDisabled {
		out.routes = slices.Clone(out.rejects)
	}
	if len(r.cluster)+len(r.external)+len(r.loadBalancer) == 0 {
		return out
	}
	k.wants.Services = true
	if len(k.Services) == 0 {
		k.report(k.config.Problem(calico.Info, calico.RuleServiceAddress, "",
			"there is no Service in the input, so only whole ranges are announced, no single service addresses", ""))
	}
	endpoints := k.endpointSlices()
	for _, s := range k.Services {
		if k.announced(s, r, endpoints[s.Namespace+"/"+s.Name]) {
			out.routes = append(out.routes, k.addressesOf(s, r)...)
		}
	}
	return out
}

// serviceView gives a View its family's part.
func (k *calculation) serviceView(v *View, s serviceRoutes) {
	only := func(routes []Route) []Route {
		return slices.DeleteFunc(slices.Clone(routes), func(r Route) bool { return familyOf(r.Prefix.Addr()) != v.Family })
	}
	v.ServiceRoutes = sortedRoutes(only(s.routes))
	v.ServiceRejects = sortedRoutes(only(s.rejects))
	if v.Node.ClusterID.IsValid() {
		v.ReflectedRanges = only(s.reflected)
	}
	for _, r := range v.ServiceRoutes {
		if !slices.ContainsFunc(v.ServiceRejects, func(o Route) bool {
			return o.Prefix.Bits() <= r.Prefix.Bits() && o.Prefix.Overlaps(r.Prefix)
		}) {
			v.OwnServiceRejects = append(v.OwnServiceRejects, r)
		}
	}
}

func routesOf(list []calico.ServiceRange, m *calico.Meta) []Route {
	var out []Route
	for _, r := range list {
		out = append(out, Route{Prefix: r.Prefix, Why: m.ID.String() + " " + strings.TrimPrefix(r.Field, "spec.")})
	}
	return out
}

// clusterRanges returns the ranges of cluster IPs: the environment's, else the configured ones.
func (k *calculation) clusterRanges() []Route {
	const variable = "CALICO_ADVERTISE_CLUSTER_IPS"
	if k.o.AdvertiseClusterIPs == "" {
		return routesOf(k.config.ServiceClusterIPs, &k.config.Meta)
	}
	var out []Route
	for text := range strings.SplitSeq(k.o.AdvertiseClusterIPs, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		p, err := netip.ParsePrefix(text)
		if a, errAddr := netip.ParseAddr(text); errAddr == nil && a.Zone() == "" {
			p, err = host(a), nil
		}
		if err != nil {
			k.report(calico.Problem{Severity: calico.Error, Rule: calico.RuleEnvironment,
				Message: fmt.Sprintf("%s: %.60q is not a CIDR; it is not announced", variable, text),
				Hint:    "write CIDRs such as 10.96.0.0/12, separated by commas"})
			continue
		}
		if p != p.Masked() {
			k.report(calico.Problem{Severity: calico.Warning, Rule: calico.RulePrefixHostBits,
				Message: fmt.Sprintf("%s: %s has bits set beyond its length; it is taken for %s", variable, p, p.Masked())})
		}
		out = append(out, Route{Prefix: p.Masked(), Why: variable})
	}
	return out
}

// aggregates returns the ranges that are more than a single address.
func aggregates(routes []Route) []Route {
	return slices.DeleteFunc(slices.Clone(routes), func(r Route) bool { return r.Prefix.IsSingleIP() })
}

func single(r Route) bool { return r.Prefix.IsSingleIP() }

func within(a netip.Addr, routes []Route, which func(Route) bool) bool {
	return slices.ContainsFunc(routes, func(r Route) bool { return which(r) && r.Prefix.Contains(a) })
}

func anyRange(Route) bool { return true }

// endpointSlices groups slices by NAMESPACE/NAME of their Service.
func (k *calculation) endpointSlices() map[string][]*calico.EndpointSlice {
	out := map[string][]*calico.EndpointSlice{}
	for _, e := range k.EndpointSlices {
		key := e.Namespace + "/" + e.ServiceName
		out[key] = append(out[key], e)
	}
	return out
}

// announced tells whether this node announces a Service's single addresses.
func (k *calculation) announced(s *calico.Service, r ranges, endpoints []*calico.EndpointSlice) bool {
	switch s.Type {
	case "ClusterIP", "NodePort", "LoadBalancer":
	default:
		return false
	}
	// An API server fills in both clusterIP and clusterIPs; by hand one of them will do.
	if s.ClusterIP == "None" || (s.ClusterIP == "" && len(s.ClusterIPs) == 0) {
		return false
	}
	if s.ExternalTrafficPolicy == "Cluster" && usesSingle(s, r) {
		return true
	}
	local := s.ExternalTrafficPolicy == "Local"
	if !local && !k.config.ServiceAggregationDisabled {
		return false
	}
	families := ipFamilies(s)
	for _, e := range endpoints {
		if !slices.Contains(families, e.AddressType) {
			continue
		}
		for _, p := range e.Endpoints {
			if p.Ready && (!local || p.NodeName == k.o.KubernetesNode) {
				return true
			}
		}
	}
	return false
}

// ipFamilies are a Service's families. An API server always fills them in; what is written
// by hand has the families of its cluster IPs.
func ipFamilies(s *calico.Service) []string {
	if len(s.IPFamilies) > 0 {
		return s.IPFamilies
	}
	var out []string
	for _, a := range s.ClusterIPs {
		out = append(out, familyOf(a).String())
	}
	if a, err := netip.ParseAddr(s.ClusterIP); err == nil {
		out = append(out, familyOf(a).String())
	}
	return out
}

// usesSingle tells whether a Service has an address for which a range of just one address
// is configured. Every node announces these.
func usesSingle(s *calico.Service, r ranges) bool {
	if s.Type == "LoadBalancer" {
		for _, a := range append(slices.Clone(s.IngressIPs), s.LoadBalancerIP) {
			if a.IsValid() && within(a, r.loadBalancer, single) {
				return true
			}
		}
	}
	return slices.ContainsFunc(s.ExternalIPs, func(a netip.Addr) bool { return within(a, r.external, single) })
}

// addressesOf returns the host routes of an announced Service.
func (k *calculation) addressesOf(s *calico.Service, r ranges) []Route {
	var out []Route
	add := func(a netip.Addr, field string) {
		out = append(out, Route{Prefix: host(a), Why: s.ID.String() + " " + field})
	}
	if len(r.cluster) > 0 {
		for _, a := range s.ClusterIPs {
			add(a, "clusterIP")
		}
	}
	k.allowed(s, s.ExternalIPs, r.external, "spec.externalIPs", "serviceExternalIPs", func(a netip.Addr) { add(a, "externalIP") })
	k.allowed(s, s.IngressIPs, r.loadBalancer, "status.loadBalancer.ingress", "serviceLoadBalancerIPs", func(a netip.Addr) { add(a, "load balancer IP") })
	return out
}

// allowed passes on the addresses that lie in a range, and reports the others when there
// are ranges of that kind at all.
func (k *calculation) allowed(s *calico.Service, addrs []netip.Addr, routes []Route, field, list string, add func(netip.Addr)) {
	var refused []string
	for _, a := range addrs {
		if within(a, routes, anyRange) {
			add(a)
		} else {
			refused = append(refused, a.String())
		}
	}
	if len(refused) > 0 && len(routes) > 0 {
		k.report(s.Problem(calico.Info, calico.RuleServiceAddress, field,
			fmt.Sprintf("not announced, since no range of %s covers it: %s", list, abbreviate(refused, 5)), ""))
	}
}
