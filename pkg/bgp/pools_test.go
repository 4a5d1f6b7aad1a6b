package bgp_test

import (
	"fmt"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

func describeKernel(v *bgp.View) []string {
	var out []string
	for _, k := range v.Kernel {
		s := fmt.Sprintf("%s %s", k.Prefix, k.Action)
		if k.Tunnel != "" {
			s += " " + k.Tunnel
		}
		if k.Subnet.IsValid() {
			s += " outside " + k.Subnet.String()
		}
		out = append(out, s)
	}
	return out
}

const (
	pools4 = `---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: ipip}
spec: {cidr: 10.10.0.0/16, ipipMode: Always}
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: ipip-cross}
spec: {cidr: 10.12.0.0/16, ipipMode: CrossSubnet}
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: plain}
spec: {cidr: 10.14.0.0/16}
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: vxlan}
spec: {cidr: 10.16.0.0/16, vxlanMode: Always}
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: vxlan-cross}
spec: {cidr: 10.18.0.0/16, vxlanMode: CrossSubnet}
`
	pools6 = `---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: plain6}
spec: {cidr: "2001:db8:14::/48"}
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: vxlan6}
spec: {cidr: "2001:db8:16::/48", vxlanMode: Always}
`
)

// Who programs what: BIRD the pools that programClusterRoutes gives it, Felix the others,
// which BIRD must then keep out of the kernel.
func TestProgramClusterRoutes(t *testing.T) {
	me := node("a", "", `ipv4Address: 1.1.1.1/24, ipv6Address: "2001:db8::1/64"`)
	const vxlan, vxlanCross, vxlan6 = "10.16.0.0/16 reject", "10.18.0.0/16 reject", "2001:db8:16::/48 reject"
	const tunnel, cross = "10.10.0.0/16 tunnel tunl0", "10.12.0.0/16 cross-subnet tunl0 outside 1.1.1.0/24"
	felix := []string{"10.10.0.0/16 reject", "10.12.0.0/16 reject"}
	for value, c := range map[string]struct {
		ipip []string
		bird bool // programs plain pools
	}{
		"": {felix, true}, "EnabledNoEncapOnly": {felix, true}, "Disabled": {felix, false},
		"Enabled": {[]string{tunnel, cross}, true}, "EnabledIPIPOnly": {[]string{tunnel, cross}, false},
	} {
		t.Run("value "+value, func(t *testing.T) {
			text := me + pools4 + pools6
			if value != "" {
				text += config("programClusterRoutes: " + value)
			}
			r := compute(t, "a", text)
			wantProblems(t, r)
			plain, six := "10.14.0.0/16 accept", []string{vxlan6} // for IPv6 the filter accepts by default
			if !c.bird {
				plain, six = "10.14.0.0/16 reject", []string{"2001:db8:14::/48 reject", vxlan6}
			}
			wantEqual(t, "IPv4", describeKernel(r.IPv4), append(append([]string{}, c.ipip...), plain, vxlan, vxlanCross))
			wantEqual(t, "IPv6", describeKernel(r.IPv6), six)

			// Routes of Felix's tunnels are not given to internal peers.
			tunnels := []string{"*.cali", "*.calico"}
			if c.ipip[0] == felix[0] {
				tunnels = append(tunnels, "tunl0")
			}
			wantEqual(t, "IPv4 tunnels", r.IPv4.TunnelInterfaces, tunnels)
			wantEqual(t, "IPv6 tunnels", r.IPv6.TunnelInterfaces, tunnels)

			// What is exported does not depend on who programs, nor on the encapsulation.
			wantEqual(t, "IPv4 export", prefixes(r.IPv4.PoolAccepts),
				[]string{"10.10.0.0/16", "10.12.0.0/16", "10.14.0.0/16", "10.16.0.0/16", "10.18.0.0/16"})
			wantEqual(t, "IPv6 export", prefixes(r.IPv6.PoolAccepts), []string{"2001:db8:14::/48", "2001:db8:16::/48"})
		})
	}
}

func TestPools(t *testing.T) {
	me := node("a", "", `ipv4Address: 1.1.1.1/24, ipv6Address: "2001:db8::1/64"`)
	enabled := config("programClusterRoutes: Enabled")
	for _, c := range []struct {
		name, text               string
		kernel, accepts, rejects []string
		problems                 []string
	}{
		{name: "export is disabled for one pool; the kernel does not mind", text: me + pool("p", "cidr: 10.1.0.0/16, disableBGPExport: true"),
			kernel: []string{"10.1.0.0/16 accept"}, rejects: []string{"10.1.0.0/16"}},
		{name: "disabled pool counts like any other", text: me + pool("p", "cidr: 10.1.0.0/16, disabled: true"),
			kernel: []string{"10.1.0.0/16 accept"}, accepts: []string{"10.1.0.0/16"}},
		// As text 10.0.0.0/8 comes before 10.1.0.0/16, and the wider pool would decide (F-22).
		{name: "the longest of overlapping pools decides, otherwise the order of their text",
			text: me + pool("a", "cidr: 10.0.0.0/8") + pool("b", "cidr: 10.1.0.0/16, vxlanMode: Always") + pool("c", "cidr: 10.1.128.0/17") +
				pool("d", "cidr: 192.168.0.0/16") + pool("e", "cidr: 100.64.0.0/10") + pool("f", "cidr: 10.2.0.0/16"),
			kernel:  []string{"10.1.128.0/17 accept", "10.1.0.0/16 reject", "10.2.0.0/16 accept", "10.0.0.0/8 accept", "100.64.0.0/10 accept", "192.168.0.0/16 accept"},
			accepts: []string{"10.1.128.0/17", "10.1.0.0/16", "10.2.0.0/16", "10.0.0.0/8", "100.64.0.0/10", "192.168.0.0/16"}},
		// Calico's rejects come first, so that the pools inside would never be announced.
		{name: "exported pools inside one that is not are announced, and those inside them decide again",
			text: me + pool("a", "cidr: 10.0.0.0/8, disableBGPExport: true") + pool("b", "cidr: 10.1.0.0/16") +
				pool("c", "cidr: 10.1.2.0/24, disableBGPExport: true") + pool("d", "cidr: 10.1.2.128/26"),
			kernel:  []string{"10.1.2.128/26 accept", "10.1.2.0/24 accept", "10.1.0.0/16 accept", "10.0.0.0/8 accept"},
			accepts: []string{"10.1.2.128/26", "10.1.0.0/16"},
			rejects: []string{"10.1.2.0/24 except 10.1.2.128/26", "10.0.0.0/8 except 10.1.2.128/26 10.1.0.0/16"}},
		{name: "of pools with one CIDR the first by name counts", text: me + pool("b", "cidr: 10.1.0.0/16") + pool("a", "cidr: 10.1.0.0/16, vxlanMode: Always"),
			kernel: []string{"10.1.0.0/16 reject"}, accepts: []string{"10.1.0.0/16"},
			problems: []string{"warning duplicate-pool IPPool/b spec.cidr: IPPool/a has the same CIDR"}},
		// Calico drops all lines without an IPv4 network, the rejects too (F-23).
		{name: "node without IPv4 keeps all rules, and tunnels everything", text: node("a", "", `ipv6Address: "2001:db8::1/64"`) + enabled + pools4,
			kernel:  []string{"10.10.0.0/16 tunnel tunl0", "10.12.0.0/16 tunnel tunl0", "10.14.0.0/16 accept", "10.16.0.0/16 reject", "10.18.0.0/16 reject"},
			accepts: []string{"10.10.0.0/16", "10.12.0.0/16", "10.14.0.0/16", "10.16.0.0/16", "10.18.0.0/16"}},
		{name: "cross subnet on a node without a subnet tunnels everything", text: node4("a", "1.1.1.1") + enabled + pool("p", "cidr: 10.1.0.0/16, ipipMode: CrossSubnet"),
			kernel: []string{"10.1.0.0/16 cross-subnet tunl0 outside 1.1.1.1/32"}, accepts: []string{"10.1.0.0/16"},
			problems: []string{"warning tunnel-everything Node/a spec.bgp.ipv4Address: IPPool/p is encapsulated across subnets only, but this node's subnet is 1.1.1.1/32"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := computeWith(t, "a", bgp.Options{RouterID: "hash"}, c.text)
			wantProblems(t, r, c.problems...)
			wantEqual(t, "kernel", describeKernel(r.IPv4), c.kernel)
			wantEqual(t, "accepts", prefixes(r.IPv4.PoolAccepts), c.accepts)
			wantEqual(t, "rejects", describeRejects(r.IPv4), c.rejects)
			for _, k := range r.IPv4.Kernel {
				if k.Why == "" {
					t.Errorf("%s does not say where it comes from", k.Prefix)
				}
			}
		})
	}
}

func describeRejects(v *bgp.View) []string {
	var out []string
	for _, r := range v.PoolRejects {
		text := r.Prefix.String()
		for i, e := range r.Except {
			if i == 0 {
				text += " except"
			}
			text += " " + e.String()
		}
		out = append(out, text)
	}
	return out
}

func TestWireguard(t *testing.T) {
	wg := func(name, bgp, wireguard string) string {
		return object("Node", name, "", "bgp: {"+bgp+"}, wireguard: {"+wireguard+"}")
	}
	others := wg("c", `ipv4Address: 192.0.2.10/24, ipv6Address: "2001:db8::c/64"`, `interfaceIPv4Address: 198.51.100.3, interfaceIPv6Address: "2001:db8:1::3"`) +
		wg("b", "ipv4Address: 192.0.2.9/24", "interfaceIPv4Address: 198.51.100.2") +
		wg("d", `ipv6Address: "2001:db8::d/64"`, "interfaceIPv4Address: 198.51.100.4") + // no address that a route could come from
		node4("e", "192.0.2.5/24")
	for _, c := range []struct {
		name, text string
		v4, v6     []string
	}{
		{"this node runs none", node("a", "", `ipv4Address: 192.0.2.1/24, ipv6Address: "2001:db8::1/64"`) + others, nil, nil},
		{"the others that run it, in the order of their text",
			wg("a", `ipv4Address: 192.0.2.1/24, ipv6Address: "2001:db8::1/64"`, `interfaceIPv4Address: 198.51.100.1, interfaceIPv6Address: "2001:db8:1::1"`) + others,
			[]string{"192.0.2.10 Node/c", "192.0.2.9 Node/b"}, []string{"2001:db8::c Node/c"}},
		{"families are independent", wg("a", `ipv4Address: 192.0.2.1/24, ipv6Address: "2001:db8::1/64"`, `interfaceIPv6Address: "2001:db8:1::1"`) + others,
			nil, []string{"2001:db8::c Node/c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, "a", c.text)
			for f, want := range map[bgp.Family][]string{bgp.IPv4: c.v4, bgp.IPv6: c.v6} {
				var got []string
				for _, n := range r.Of(f).WireguardNextHops {
					got = append(got, n.Address.String()+" "+n.Why)
				}
				wantEqual(t, f.String(), got, want)
			}
		})
	}
}
