package bgp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// ranges is the common input of the examples.
const ranges = `serviceClusterIPs: [{cidr: 10.96.0.0/12}, {cidr: "fd00:96::/112"}],
  serviceExternalIPs: [{cidr: 203.0.113.0/24}, {cidr: 198.51.100.7/32}],
  serviceLoadBalancerIPs: [{cidr: 192.0.2.0/24}, {cidr: 192.0.3.9/32}]`

var workers = node("worker-1", "", `ipv4Address: 198.18.0.1/24, ipv6Address: "2001:db8::1/64"`) +
	node("worker-2", "", `ipv4Address: 198.18.0.2/24, ipv6Address: "2001:db8::2/64"`) +
	node("worker-3", "", `ipv4Address: 198.18.0.3/24, ipv6Address: "2001:db8::3/64"`) + config(ranges)

func service(name, spec, ingress string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Service\nmetadata: {namespace: shop, name: %s}\nspec: {%s}\nstatus: {loadBalancer: {ingress: [%s]}}\n", name, spec, ingress)
}

// slice writes an EndpointSlice; each endpoint is NODE or NODE! for one that is not ready.
func slice(name, service, addressType string, endpoints ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {namespace: shop, name: %s, labels: {kubernetes.io/service-name: %s}}\naddressType: %s\nendpoints:\n", name, service, addressType)
	for _, e := range endpoints {
		node, unready := strings.CutSuffix(e, "!")
		fmt.Fprintf(&b, "- {nodeName: %s, conditions: {ready: %t}}\n", node, !unready)
	}
	if len(endpoints) == 0 {
		b.WriteString("  []\n")
	}
	return b.String()
}

// announcement is what a node does about services, beyond whole ranges: the host routes it
// announces, and those of them that only the second kind of reject keeps out of the kernel.
func announcement(r result) (hosts, own []string) {
	for _, v := range []*bgp.View{r.IPv4, r.IPv6} {
		for _, route := range v.ServiceRoutes {
			if route.Prefix.IsSingleIP() {
				hosts = append(hosts, route.Prefix.Addr().String())
			}
		}
		for _, route := range v.OwnServiceRejects {
			own = append(own, route.Prefix.Addr().String())
		}
	}
	return hosts, own
}

func whole(v *bgp.View) []string {
	return prefixes(slices.DeleteFunc(slices.Clone(v.ServiceRoutes), func(r bgp.Route) bool { return r.Prefix.IsSingleIP() }))
}

var (
	whole4 = []string{"10.96.0.0/12", "192.0.2.0/24", "203.0.113.0/24"}
	whole6 = []string{"fd00:96::/112"}
)

const web = "type: LoadBalancer, externalTrafficPolicy: %s, clusterIP: 10.96.0.10, clusterIPs: [10.96.0.10], ipFamilies: [IPv4], externalIPs: [%s]"

func webService(policy, externalIPs, ingress string) string {
	return service("web", fmt.Sprintf(web, policy, externalIPs), ingress)
}

// TestServiceExamples are the worked examples of the specification, by their numbers.
func TestServiceExamples(t *testing.T) {
	here := slice("web-x7k2p", "web", "IPv4", "worker-1", "worker-2!")
	const lb44 = "{ip: 192.0.2.44}, {hostname: lb.example.net}"
	for _, c := range []struct {
		name, text string
		// hosts by node, in the order of the workers.
		hosts [3]string
		own   string
	}{
		{"14.2 Local, endpoint here", webService("Local", "203.0.113.5, 8.8.8.8", lb44) + here,
			[3]string{"10.96.0.10 192.0.2.44 203.0.113.5"}, ""},
		{"14.3 Cluster, in ranges", webService("Cluster", "203.0.113.5, 8.8.8.8", lb44) + here, [3]string{}, ""},
		{"14.4 Cluster, single load balancer address, no endpoints", webService("Cluster", "203.0.113.5", "{ip: 192.0.3.9}"),
			[3]string{"10.96.0.10 192.0.3.9 203.0.113.5", "10.96.0.10 192.0.3.9 203.0.113.5", "10.96.0.10 192.0.3.9 203.0.113.5"}, "192.0.3.9"},
		{"14.4 by spec.loadBalancerIP alone, which is not announced itself", service("web", fmt.Sprintf(web, "Cluster", "")+", loadBalancerIP: 192.0.3.9", ""),
			[3]string{"10.96.0.10", "10.96.0.10", "10.96.0.10"}, ""},
		{"14.4 is for load balancers only", service("web", "type: NodePort, externalTrafficPolicy: Cluster, clusterIP: 10.96.0.10, clusterIPs: [10.96.0.10], loadBalancerIP: 192.0.3.9", ""), [3]string{}, ""},
		{"14.5 Local, single load balancer address", webService("Local", "", "{ip: 192.0.3.9}") + here, [3]string{"10.96.0.10 192.0.3.9"}, "192.0.3.9"},
		{"14.6 ClusterIP with single external address", service("web", "type: ClusterIP, externalTrafficPolicy: Cluster, clusterIP: 10.96.0.10, clusterIPs: [10.96.0.10], externalIPs: [198.51.100.7]", ""),
			[3]string{"10.96.0.10 198.51.100.7", "10.96.0.10 198.51.100.7", "10.96.0.10 198.51.100.7"}, "198.51.100.7"},
		{"14.8 dual stack, the only slice is IPv4", service("web", `type: LoadBalancer, externalTrafficPolicy: Local, clusterIP: 10.96.0.10, clusterIPs: [10.96.0.10, "fd00:96::10"], ipFamilies: [IPv4, IPv6]`, "") + here,
			[3]string{"10.96.0.10 fd00:96::10"}, ""},
		{"14.8 IPv6 Service with an IPv4 slice", service("web", `type: LoadBalancer, externalTrafficPolicy: Local, clusterIP: "fd00:96::10", clusterIPs: ["fd00:96::10"], ipFamilies: [IPv6]`, "") + here,
			[3]string{}, ""},
		{"14.11 two Services share an address", service("one", "type: NodePort, externalTrafficPolicy: Local, clusterIP: 10.96.0.1, ipFamilies: [IPv4], externalIPs: [203.0.113.5]", "") + slice("one", "one", "IPv4", "worker-1") +
			service("two", "type: NodePort, externalTrafficPolicy: Local, clusterIP: 10.96.0.2, ipFamilies: [IPv4], externalIPs: [203.0.113.5]", "") + slice("two", "two", "IPv4", "worker-1", "worker-2"),
			[3]string{"203.0.113.5", "203.0.113.5"}, ""},
		{"14.12 headless", service("web", "type: ClusterIP, externalTrafficPolicy: Local, clusterIP: None, clusterIPs: [None], ipFamilies: [IPv4], externalIPs: [203.0.113.5]", "") + here, [3]string{}, ""},
		{"14.13 cluster IP outside of the ranges", service("web", "type: NodePort, externalTrafficPolicy: Local, clusterIP: 172.30.9.9, clusterIPs: [172.30.9.9], ipFamilies: [IPv4]", "") + here,
			[3]string{"172.30.9.9"}, "172.30.9.9"},
		{"clusterIPs without clusterIP, as written by hand", service("web", "type: NodePort, externalTrafficPolicy: Local, clusterIPs: [10.96.0.10], ipFamilies: [IPv4]", "") + here,
			[3]string{"10.96.0.10"}, ""},
		{"no cluster IP yet", service("web", "type: NodePort, externalTrafficPolicy: Local, ipFamilies: [IPv4], externalIPs: [203.0.113.5]", "") + here, [3]string{}, ""},
		{"ExternalName", service("web", "type: ExternalName, externalTrafficPolicy: Local, clusterIP: 10.96.0.10, ipFamilies: [IPv4]", "") + here, [3]string{}, ""},
		{"no families, as written by hand: those of the cluster IPs", service("web", "type: NodePort, externalTrafficPolicy: Local, clusterIP: 10.96.0.10, clusterIPs: [10.96.0.10]", "") + here, [3]string{"10.96.0.10", "", ""}, ""},
		{"the slice is of another Service", service("web", "type: NodePort, externalTrafficPolicy: Local, clusterIP: 10.96.0.10, clusterIPs: [10.96.0.10], ipFamilies: [IPv4]", "") + slice("web-1", "other", "IPv4", "worker-1"),
			[3]string{}, ""},
		{"the last slice is empty", webService("Local", "203.0.113.5", "") + slice("web-1", "web", "IPv4"), [3]string{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, want := range c.hosts {
				r := compute(t, fmt.Sprintf("worker-%d", i+1), workers+c.text)
				hosts, own := announcement(r)
				wantEqual(t, r.IPv4.Node.Name, strings.Join(hosts, " "), want)
				if want == "" {
					own = nil
				} else {
					wantEqual(t, "kept from the kernel as own routes", strings.Join(own, " "), c.own)
				}
				wantEqual(t, "whole ranges", whole(r.IPv4), whole4)
				wantEqual(t, "whole ranges", whole(r.IPv6), whole6)
				wantEqual(t, "rejects", prefixes(r.IPv4.ServiceRejects), whole4)
				wantEqual(t, "rejects", prefixes(r.IPv6.ServiceRejects), whole6)
			}
		})
	}
}

func TestServiceRangesAlone(t *testing.T) { // 14.1
	r := compute(t, "worker-1", workers)
	wantProblems(t, r, "info service-address BGPConfiguration/default: no Service in the input")
	for _, v := range []*bgp.View{r.IPv4, r.IPv6} {
		want := whole4
		if v.Family == bgp.IPv6 {
			want = whole6
		}
		wantEqual(t, "routes", prefixes(v.ServiceRoutes), want)
		wantEqual(t, "rejects", prefixes(v.ServiceRejects), want)
		wantEqual(t, "blackholes", prefixes(v.Blackholes), want)
		wantEqual(t, "own rejects", prefixes(v.OwnServiceRejects), nil)
		wantEqual(t, "reflected", prefixes(v.ReflectedRanges), nil)
	}
	wantEqual(t, "where it comes from", r.IPv4.ServiceRoutes[0].Why, "BGPConfiguration/default serviceClusterIPs[0]")
}

func TestServiceAddressOutsideOfRangesIsTold(t *testing.T) { // 14.2
	r := compute(t, "worker-1", workers+webService("Local", "203.0.113.5, 8.8.8.8", "{ip: 192.0.9.9}")+slice("web", "web", "IPv4", "worker-1"))
	wantProblems(t, r,
		"info service-address Service/shop/web spec.externalIPs: no range of serviceExternalIPs covers it: 8.8.8.8",
		"info service-address Service/shop/web status.loadBalancer.ingress: no range of serviceLoadBalancerIPs covers it: 192.0.9.9")
}

func TestServiceAggregationDisabled(t *testing.T) { // 14.7
	disabled := strings.Replace(workers, ranges, ranges+", serviceLoadBalancerAggregation: Disabled", 1)
	cluster := webService("Cluster", "", "{ip: 192.0.2.44}")
	plain := service("plain", "type: ClusterIP, clusterIP: 10.96.77.7, clusterIPs: [10.96.77.7], ipFamilies: [IPv4]", "")
	for _, c := range []struct{ name, text, hosts string }{
		{"no Services", "", ""},
		{"Cluster, an endpoint anywhere", cluster + slice("web", "web", "IPv4", "worker-2"), "10.96.0.10 192.0.2.44"},
		{"Cluster, no endpoint is ready", cluster + slice("web", "web", "IPv4", "worker-2!"), ""},
		{"plain cluster IP, an endpoint anywhere", plain + slice("plain", "plain", "IPv4", "worker-2"), "10.96.77.7"},
		{"plain cluster IP, no endpoint", plain, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, "worker-1", disabled+c.text)
			hosts, own := announcement(r)
			wantEqual(t, "hosts", strings.Join(hosts, " "), c.hosts)
			wantEqual(t, "own rejects", own, nil)
			wantEqual(t, "whole ranges", whole(r.IPv4), []string{"10.96.0.0/12", "203.0.113.0/24"})
			// Calico drops the load balancers' range here, and BIRD programs what others announce (F-30).
			wantEqual(t, "rejects", prefixes(r.IPv4.ServiceRejects), whole4)
		})
	}
}

func TestExcludedNode(t *testing.T) { // 14.9
	services := webService("Local", "203.0.113.5", "{ip: 192.0.2.44}") + slice("web", "web", "IPv4", "worker-1")
	for label, excluded := range map[string]bool{`"true"`: true, `"false"`: false, `""`: false, `"True"`: false} {
		text := strings.Replace(workers, "metadata: {name: worker-1, labels: {}}", "metadata: {name: worker-1, labels: {"+bgp.ExcludeLabel+": "+label+"}}", 1)
		r := compute(t, "worker-1", text+services)
		wantEqual(t, label+": announces nothing", len(r.IPv4.ServiceRoutes) == 0 && len(r.IPv4.Blackholes) == 0, excluded)
		wantEqual(t, label+": rejects", prefixes(r.IPv4.ServiceRejects), whole4)
	}
}

func TestBadServiceRangeSpoilsOnlyItself(t *testing.T) { // 14.10: Calico announces neither
	text := strings.Replace(workers, ranges, "serviceExternalIPs: [{cidr: 203.0.113.0/24}, {cidr: 010.0.0.0/8}]", 1)
	objects, problems := calico.Decode("input.yaml", []byte(text))
	if len(problems) != 1 || problems[0].Field != "spec.serviceExternalIPs[1].cidr" {
		t.Errorf("problems are %v", problems)
	}
	c, _ := calico.NewCluster(objects, nil)
	v, _ := bgp.Compute(c, "worker-1", bgp.Options{})
	wantEqual(t, "routes", prefixes(v.IPv4.ServiceRoutes), []string{"203.0.113.0/24"})
}
