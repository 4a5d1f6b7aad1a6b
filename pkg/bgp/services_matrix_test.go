package bgp_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

// TestServiceMatrix goes through every kind of address, covering entry, aggregation and
// traffic policy. The address under test is the only one that could be announced.
func TestServiceMatrix(t *testing.T) {
	const clusterIP, externalIP, balancerIP = "10.96.0.10", "203.0.113.5", "192.0.2.44"
	const nothing, local, some, all = "nothing", "nodes with an endpoint", "every node, if there is an endpoint", "every node"
	// Who announces the host route, by policy; "" is the policy of a plain ClusterIP Service,
	// and has no entry where the combination is not possible.
	type by map[string]string
	for _, c := range []struct {
		address, list, entry string
		aggregation          []string
		hosts                by
		aggregate            bool // the entry itself is announced by every node
	}{
		{clusterIP, "serviceClusterIPs", "10.96.0.0/12", []string{"Enabled"}, by{"Local": local, "Cluster": nothing, "": nothing}, true},
		{clusterIP, "serviceClusterIPs", "10.96.0.0/12", []string{"Disabled"}, by{"Local": local, "Cluster": some, "": some}, true},
		{externalIP, "serviceExternalIPs", "203.0.113.0/24", []string{"Enabled"}, by{"Local": local, "Cluster": nothing}, true},
		{externalIP, "serviceExternalIPs", "203.0.113.0/24", []string{"Disabled"}, by{"Local": local, "Cluster": some}, true},
		{externalIP, "serviceExternalIPs", "203.0.113.5/32", []string{"Enabled", "Disabled"}, by{"Local": local, "Cluster": all}, false},
		{balancerIP, "serviceLoadBalancerIPs", "192.0.2.0/24", []string{"Enabled"}, by{"Local": local, "Cluster": nothing}, true},
		{balancerIP, "serviceLoadBalancerIPs", "192.0.2.0/24", []string{"Disabled"}, by{"Local": local, "Cluster": some}, false},
		{balancerIP, "serviceLoadBalancerIPs", "192.0.2.44/32", []string{"Enabled", "Disabled"}, by{"Local": local, "Cluster": all}, false},
		// No entry covers the address.
		{externalIP, "serviceExternalIPs", "198.51.100.0/24", []string{"Enabled", "Disabled"}, by{"Local": nothing, "Cluster": nothing}, true},
		{balancerIP, "serviceLoadBalancerIPs", "198.51.100.0/24", []string{"Enabled"}, by{"Local": nothing, "Cluster": nothing}, true},
		{clusterIP, "serviceExternalIPs", "198.51.100.0/24", []string{"Enabled", "Disabled"}, by{"Local": nothing, "Cluster": nothing, "": nothing}, true},
	} {
		for _, aggregation := range c.aggregation {
			for policy, who := range c.hosts {
				t.Run(fmt.Sprintf("%s in %s, aggregation %s, policy %q: %s", c.address, c.entry, aggregation, policy, who), func(t *testing.T) {
					kind := "LoadBalancer"
					if policy == "" {
						kind = "ClusterIP"
					}
					spec := fmt.Sprintf("type: %s, externalTrafficPolicy: %q, clusterIP: %s, clusterIPs: [%s], ipFamilies: [IPv4], externalIPs: [%s]", kind, policy, clusterIP, clusterIP, externalIP)
					text := node4("worker-1", "198.18.0.1/24") + node4("worker-2", "198.18.0.2/24") +
						config(fmt.Sprintf("%s: [{cidr: %s}], serviceLoadBalancerAggregation: %s", c.list, c.entry, aggregation)) +
						service("web", spec, "{ip: "+balancerIP+"}")
					for endpoint, wants := range map[string][2]bool{
						"worker-1":  {who != nothing, who == some || who == all},
						"worker-1!": {who == all, who == all}, // not ready
					} {
						for i, want := range wants {
							v := compute(t, fmt.Sprintf("worker-%d", i+1), text+slice("web", "web", "IPv4", endpoint)).IPv4
							routes := prefixes(v.ServiceRoutes)
							if got := slices.Contains(routes, c.address+"/32"); got != want {
								t.Errorf("endpoint %s, %s: announced is %t", endpoint, v.Node.Name, got)
							}
							if got := slices.Contains(routes, c.entry); got != c.aggregate && c.entry != c.address+"/32" {
								t.Errorf("endpoint %s, %s: the range is announced: %t", endpoint, v.Node.Name, got)
							}
						}
					}
				})
			}
		}
	}
}

func TestReflectedRanges(t *testing.T) {
	rr := node("worker-1", "", `ipv4Address: 198.18.0.1/24, ipv6Address: "2001:db8::1/64", routeReflectorClusterID: 192.0.2.255`) +
		config(`serviceClusterIPs: [{cidr: 10.96.0.0/12}], serviceExternalIPs: [{cidr: 203.0.113.0/24}, {cidr: 198.51.100.7/32}, {cidr: "2001:db8:e::/64"}],
  serviceLoadBalancerIPs: [{cidr: 192.0.2.0/24}]`)
	r := compute(t, "worker-1", rr)
	// Single addresses too, and the load balancers' before the external ones; cluster IPs
	// pass by the range that every node announces.
	wantEqual(t, "IPv4", prefixes(r.IPv4.ReflectedRanges), []string{"192.0.2.0/24", "203.0.113.0/24", "198.51.100.7/32"})
	wantEqual(t, "IPv6", prefixes(r.IPv6.ReflectedRanges), []string{"2001:db8:e::/64"})
}

func TestClusterRangesOfTheEnvironment(t *testing.T) {
	const unset = "info service-address BGPConfiguration/default: no Service in the input"
	for _, c := range []struct {
		name, variable string
		v4, v6         []string
		problems       []string
	}{
		{"takes the place of the list", "10.0.0.0/16", []string{"10.0.0.0/16", "192.0.2.0/24", "203.0.113.0/24"}, nil, []string{unset}},
		{"both families", "10.0.0.0/16, fd00::/112", []string{"10.0.0.0/16", "192.0.2.0/24", "203.0.113.0/24"}, []string{"fd00::/112"}, []string{unset}},
		{"host bits are masked, as BIRD refuses them", "10.0.1.2/16", []string{"10.0.0.0/16", "192.0.2.0/24", "203.0.113.0/24"}, nil,
			[]string{unset, "warning prefix-host-bits: CALICO_ADVERTISE_CLUSTER_IPS: 10.0.1.2/16 has bits set beyond its length; it is taken for 10.0.0.0/16"}},
		{"bare address and nothing after the last comma", "10.0.0.1,", []string{"10.0.0.1/32", "192.0.2.0/24", "203.0.113.0/24"}, nil, []string{unset}},
		{"bad", "10.0.0.0/40", []string{"192.0.2.0/24", "203.0.113.0/24"}, nil,
			[]string{unset, `error environment: CALICO_ADVERTISE_CLUSTER_IPS: "10.0.0.0/40" is not a CIDR; it is not announced`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := computeWith(t, "worker-1", bgp.Options{AdvertiseClusterIPs: c.variable}, workers)
			wantProblems(t, r, c.problems...)
			wantEqual(t, "IPv4", prefixes(r.IPv4.ServiceRoutes), c.v4)
			wantEqual(t, "IPv6", prefixes(r.IPv6.ServiceRoutes), c.v6)
		})
	}
}

func TestKubernetesNodeName(t *testing.T) {
	text := workers + webService("Local", "203.0.113.5", "") + slice("web", "web", "IPv4", "k8s-1")
	hosts, _ := announcement(compute(t, "worker-1", text))
	wantEqual(t, "under Calico's name", hosts, nil)
	hosts, _ = announcement(computeWith(t, "worker-1", bgp.Options{KubernetesNode: "k8s-1"}, text))
	wantEqual(t, "under Kubernetes's", hosts, []string{"10.96.0.10", "203.0.113.5"})
}
