package confd

import (
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render/keys"
)

const cluster = `
apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {name: default}
spec:
  asNumber: 64500
  listenPort: 1790
  bindMode: NodeIP
  ignoredInterfaces: [eth9, "vlan*"]
  gracefulRestartWait: 30s
  serviceExternalIPs: [{cidr: 203.0.113.0/24}, {cidr: "2001:db8:5::/64"}]
  serviceLoadBalancerIPs: [{cidr: 198.51.100.128/25}]
  communities: [{name: large, value: "64500:5:6"}]
  prefixAdvertisements: [{cidr: 10.1.0.0/16, communities: [large, "5663:12"]}]
---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: a, labels: {rack: one}}
spec: {bgp: {ipv4Address: 192.0.2.1/24, ipv6Address: "2001:db8::1/64"}, wireguard: {interfaceIPv4Address: 10.9.0.1}}
---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: b}
spec: {bgp: {ipv4Address: 192.0.2.2/24, asNumber: 64502}, wireguard: {interfaceIPv4Address: 10.9.0.2}}
---
apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: tor}
spec: {node: a, peerIP: "198.51.100.1:1179", asNumber: 65010, ttlSecurity: 3, filters: [f], keepaliveTime: 20s, maxRestartTime: 90s, numAllowedLocalASNumbers: 2, nextHopMode: Self, localASNumber: 64999}
---
apiVersion: projectcalico.org/v3
kind: BGPFilter
metadata: {name: f}
spec:
  importV4:
  - {cidr: 10.2.0.0/16, matchOperator: In, prefixLength: {min: 24, max: 28}, peerType: iBGP, priority: 512, action: Accept, operations: [{setPriority: {value: 256}}, {prependASPath: {prefix: [65001, 65002]}}]}
  - {action: Reject}
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: tunnel}
spec: {cidr: 10.3.0.0/16, ipipMode: Always}
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: near}
spec: {cidr: 10.4.0.0/16, ipipMode: CrossSubnet}
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: plain}
spec: {cidr: 10.5.0.0/16}
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: inner}
spec: {cidr: 10.6.0.0/16, vxlanMode: Always, disableBGPExport: true}
`

// dataOf is what node a's templates are executed with.
func dataOf(t *testing.T, text string) *Data {
	t.Helper()
	objects, problems := calico.Decode("in.yaml", []byte(text))
	c, more := calico.NewCluster(objects, nil)
	if problems = append(problems, more...); calico.HasErrors(problems) {
		t.Fatal(problems)
	}
	views, _ := bgp.Compute(c, "a", bgp.Options{})
	environment := map[string]string{"SET": "x", "EMPTY": "", "NODENAME": "another"}
	return &Data{Source: keys.Source{Cluster: c, Node: "a", Views: views},
		Getenv: func(name string) (string, bool) { v, ok := environment[name]; return v, ok }}
}

// everything lets a template see all keys, without their common beginning.
var everything = Spec{Label: "t.tmpl", Resource: "t.toml", Prefix: "/calico", Keys: []string{"/"}}

// execute executes a template that sees all keys.
func execute(t *testing.T, d *Data, text string) (string, error) {
	t.Helper()
	tmpl, err := Parse(everything, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := tmpl.Execute(d)
	return string(out.Data), err
}

func must(t *testing.T, d *Data, text string) string {
	t.Helper()
	out, err := execute(t, d, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// lines joins lines, as templates print a list with range.
func lines(l ...string) string { return strings.Join(l, "\n") }
