package calico

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBlockAffinity(t *testing.T) {
	doc := func(version, spec string) string {
		return "apiVersion: " + version + "\nkind: BlockAffinity\nmetadata: {name: x, labels: {a: b}}\nspec: {" + spec + "}\n"
	}
	block := func(state AffinityState) *BlockAffinity {
		return &BlockAffinity{Meta: Meta{ID: ID{Kind: "BlockAffinity", Name: "x"}}, Node: "alpha", CIDR: netip.MustParsePrefix("198.51.100.16/28"), State: state}
	}
	const head = "node: alpha, cidr: 198.51.100.16/28, "
	const out = "; the affinity is left out "
	const affinity = "error: BlockAffinity/x spec."
	for _, tt := range []struct {
		name, version, spec string
		want                *BlockAffinity
		problem             string
	}{
		{name: "confirmed (c#2624)", version: calicoV1, spec: head + `state: confirmed, deleted: "false"`, want: block(AffinityConfirmed)},
		{name: "confirmed in v3", version: calicoV3, spec: head + "state: confirmed, deleted: false, type: host", want: block(AffinityConfirmed)},
		{name: "an empty state counts as confirmed", version: calicoV1, spec: head + `state: "", deleted: ""`, want: block(AffinityConfirmed)},
		{name: "so does none", version: calicoV3, spec: head, want: block(AffinityConfirmed)},
		{name: "pending deletion", version: calicoV3, spec: head + "state: pendingDeletion", want: block(AffinityPendingDeletion)},
		{name: "pending is dropped", version: calicoV1, spec: head + `state: pending, deleted: "false"`},
		{name: "deleted is dropped", version: calicoV1, spec: head + `state: confirmed, deleted: "true"`},
		{name: "deleted is dropped in v3", version: calicoV3, spec: head + "state: confirmed, deleted: true"},
		{name: "virtual is dropped", version: calicoV3, spec: "node: load-balancer, cidr: 198.51.100.16/28, type: virtual"},
		{name: "another state", version: calicoV3, spec: head + "state: Confirmed", problem: `in.yaml:4:52: ` + affinity + `state: "Confirmed" is not one of confirmed, pending, pendingDeletion` + out + "[enum]\n    hint: did you mean \"confirmed\"?"},
		{name: "another type", version: calicoV3, spec: head + "type: pod", problem: `in.yaml:4:51: ` + affinity + `type: "pod" is not one of host, virtual` + out + "[enum]"},
		{name: "boolean in v1", version: calicoV1, spec: head + "deleted: false", problem: `in.yaml:4:54: ` + affinity + `deleted: a boolean stands where text belongs` + out + "[wrong-type]\n    hint: put it in quotes: \"false\""},
		{name: "text in v3", version: calicoV3, spec: head + `deleted: "no"`, problem: `in.yaml:4:54: ` + affinity + `deleted: text stands where true or false belongs` + out + "[wrong-type]"},
		{name: "no cidr", version: calicoV3, spec: "node: alpha", problem: "in.yaml:1:1: " + affinity + "cidr: the field is required" + out + "[missing-field]"},
		{name: "no node", version: calicoV3, spec: "cidr: 198.51.100.16/28, node: ''", problem: "in.yaml:1:1: " + affinity + "node: the field is required" + out + "[missing-field]"},
		{name: "bad cidr", version: calicoV3, spec: "node: alpha, cidr: 198.51.100.16", problem: `in.yaml:4:27: ` + affinity + `cidr: "198.51.100.16" is an address without a prefix length` + out + "[prefix]\n    hint: write 198.51.100.16/32 if this one address is meant"},
		{name: "bad node", version: calicoV3, spec: "node: Alpha, cidr: 198.51.100.16/28", problem: `in.yaml:4:14: ` + affinity + `node: "Alpha" is not a name: small letters, digits, - and ., at most 253 of them` + out + "[name]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var problems []string
			if tt.problem != "" {
				problems = append(problems, tt.problem)
			}
			objects := decodeTest(t, doc(tt.version, tt.spec), problems...)
			if tt.want == nil {
				if len(objects) > 0 {
					t.Error("the affinity is there")
				}
				return
			}
			if diff := cmp.Diff(tt.want, one[*BlockAffinity](t, objects), ignoreOrigin, netipComparer); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestService(t *testing.T) {
	addrs := func(texts ...string) (out []netip.Addr) {
		for _, s := range texts {
			out = append(out, netip.MustParseAddr(s))
		}
		return out
	}
	meta := func(namespace string) Meta { return Meta{ID: ID{Kind: "Service", Namespace: namespace, Name: "web"}} }
	for _, tt := range []struct {
		name, text string
		want       *Service
		problems   []string
	}{
		{
			name: "all that counts", text: `{name: web, namespace: shop, labels: {a: b}, unknown: 1}
spec: {type: LoadBalancer, externalTrafficPolicy: Local, clusterIP: 10.96.0.10, clusterIPs: [10.96.0.10, "fd00:96::10"], ipFamilies: [IPv4, IPv6], externalIPs: [203.0.113.5, "::ffff:8.8.8.8"], loadBalancerIP: 192.0.2.44, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.44, ipMode: VIP}, {hostname: lb.example.net}]}, conditions: []}
unknown: {}`,
			want: &Service{
				Meta: meta("shop"), Type: "LoadBalancer", ClusterIP: "10.96.0.10", ClusterIPs: addrs("10.96.0.10", "fd00:96::10"), ExternalIPs: addrs("203.0.113.5", "8.8.8.8"), LoadBalancerIP: netip.MustParseAddr("192.0.2.44"),
				IngressIPs: addrs("192.0.2.44"), ExternalTrafficPolicy: "Local", IPFamilies: []string{"IPv4", "IPv6"},
			},
		},
		{name: "defaults", text: "{name: web}\n", want: &Service{Meta: meta("default"), Type: "ClusterIP"}},
		{name: "headless", text: "{name: web}\nspec: {clusterIP: None, clusterIPs: [None]}\n", want: &Service{Meta: meta("default"), Type: "ClusterIP", ClusterIP: "None"}},
		{
			name: "bad parts", text: "{name: web}\nspec: {clusterIPs: [x, 10.96.0.10], externalIPs: 203.0.113.5, externalTrafficPolicy: Both, ipFamilies: [ipv4]}\nstatus: {loadBalancer: {ingress: [{ip: y}]}}\n",
			want: &Service{Meta: meta("default"), Type: "ClusterIP", ClusterIPs: addrs("10.96.0.10")},
			problems: []string{
				`in.yaml:4:21: error: Service/default/web spec.clusterIPs[0]: "x" is not an IP address; the entry is left out [address]`,
				"in.yaml:4:50: error: Service/default/web spec.externalIPs: text stands where a list belongs; the field counts as unset [wrong-type]",
				`in.yaml:4:86: error: Service/default/web spec.externalTrafficPolicy: "Both" is not one of Cluster, Local; the field counts as unset [enum]`,
				`in.yaml:4:105: error: Service/default/web spec.ipFamilies[0]: "ipv4" is not one of IPv4, IPv6; the entry is left out [enum]` + "\n    hint: did you mean \"IPv4\"?",
				`in.yaml:5:40: error: Service/default/web status.loadBalancer.ingress[0].ip: "y" is not an IP address; the entry is left out [address]`,
			},
		},
		{
			name: "a type that does not exist", text: "{name: web, namespace: shop}\nspec: {type: Clusterip}\n",
			problems: []string{`in.yaml:4:14: error: Service/shop/web spec.type: "Clusterip" is not one of ClusterIP, NodePort, LoadBalancer, ExternalName; the Service is left out [enum]` + "\n    hint: did you mean \"ClusterIP\"?"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			objects := decodeTest(t, "apiVersion: v1\nkind: Service\nmetadata: "+tt.text, tt.problems...)
			if tt.want == nil {
				if len(objects) > 0 {
					t.Error("the Service is there")
				}
				return
			}
			if diff := cmp.Diff(tt.want, one[*Service](t, objects), ignoreOrigin, netipComparer); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEndpointSlice(t *testing.T) {
	s := one[*EndpointSlice](t, decodeTest(t, `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-x, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints:
- {addresses: [10.244.1.9], nodeName: worker-1, conditions: {ready: true, serving: true}}
- {addresses: [10.244.2.3], nodeName: worker-2, conditions: {ready: false}}
- {addresses: [10.244.2.4], nodeName: null, conditions: {ready: null}}
- {addresses: [10.244.2.5], nodeName: worker-3}
- {nodeName: worker-4, conditions: {ready: maybe}}
ports: [{port: 80}]
`, "in.yaml:10:44: error: EndpointSlice/shop/web-x endpoints[4].conditions.ready: text stands where true or false belongs; the endpoint counts as not ready [wrong-type]"))
	want := &EndpointSlice{
		Meta: Meta{ID: ID{Kind: "EndpointSlice", Namespace: "shop", Name: "web-x"}}, ServiceName: "web", AddressType: "IPv4",
		Endpoints: []Endpoint{{"worker-1", true}, {"worker-2", false}, {"", true}, {"worker-3", true}, {"worker-4", false}},
	}
	if diff := cmp.Diff(want, s, ignoreOrigin); diff != "" {
		t.Error(diff)
	}
}

func TestSecret(t *testing.T) {
	s := one[*Secret](t, decodeTest(t, `apiVersion: v1
kind: Secret
metadata: {name: bgp, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"a":"hunter2"}}'}}
type: Opaque
data: {a: aHVudGVyMg==, b: '!!', c: , d: 7}
stringData: {a: "clear\n"}
`,
		"in.yaml:5:28: error: Secret/default/bgp data.b: the value is not base64; the key is left out [secret-value]\n    hint: put clear text into stringData",
		"in.yaml:5:42: error: Secret/default/bgp data.d: a number stands where text belongs; the key is left out [wrong-type]"))
	want := &Secret{Meta: Meta{ID: ID{Kind: "Secret", Namespace: "default", Name: "bgp"}}, Data: map[string][]byte{"a": []byte("clear\n"), "c": nil}}
	if diff := cmp.Diff(want, s, ignoreOrigin); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeEndpointStatus(t *testing.T) {
	const file = `{"ifaceName":"cali97e1defe654","mac":"ee:ee:ee:ee:ee:ee","ipv4Nets":["192.168.162.134/32","x"],"ipv6Nets":["fd00::86/128"],"bgpPeerName":"tor-vm"}`
	w, problems := DecodeEndpointStatus("k8s default%2Fpod-1 eth0", []byte(file))
	want := &WorkloadEndpoint{Position: Position{File: "k8s default%2Fpod-1 eth0"}, Interface: "cali97e1defe654", IPv4: netip.MustParseAddr("192.168.162.134"), IPv6: netip.MustParseAddr("fd00::86"), BGPPeerName: "tor-vm"}
	if diff := cmp.Diff(want, w, netipComparer); diff != "" || len(problems) > 0 {
		t.Error(diff, problems)
	}
	for _, none := range []string{`{}`, `{"ipv4Nets":["x"]}`, `{"bgpPeerName":""}`} {
		if w, problems := DecodeEndpointStatus("f", []byte(none)); w != nil || problems != nil {
			t.Errorf("%s: %v %v", none, w, problems)
		}
	}
	const out = "; the workload is not a peer [endpoint-status]"
	for _, tt := range []struct{ text, problem string }{
		{"", "f: error: the file does not hold an endpoint's status in JSON" + out},
		{`{"bgpPeerName":"a`, "f: error: the file does not hold an endpoint's status in JSON" + out},
		{`{"bgpPeerName":5}`, "f: error: the file does not hold an endpoint's status in JSON" + out},
		{`{"bgpPeerName":"A b"}`, `f: error: bgpPeerName: "A b" is not a name: small letters, digits, - and ., at most 253 of them` + out},
		{`{"bgpPeerName":"a","ifaceName":"cali\"; x"}`, `f: error: ifaceName: "cali\"; x" is not the name of an interface` + out},
		{`{"bgpPeerName":"a","ipv4Nets":["x"],"ipv6Nets":["fd00::1/128"]}`, `f: error: ipv4Nets[0]: "x" is not a CIDR` + out},
		{`{"bgpPeerName":"a","ipv4Nets":["fd00::1/128"]}`, `f: error: ipv4Nets[0]: "fd00::1/128" is IPv6 where IPv4 belongs` + out},
		{`{"bgpPeerName":"a","ipv6Nets":["fe80::1/128"]}`, `f: error: ipv6Nets[0]: "fe80::1/128" is link-local, which BIRD refuses with multihop` + out},
		{`{"bgpPeerName":"a","ipv4Nets":[]}`, "f: warning: the workload has no address" + out},
	} {
		w, problems := DecodeEndpointStatus("f", []byte(tt.text))
		if w != nil || len(problems) != 1 || problems[0].String() != tt.problem {
			t.Errorf("%s:\n%v %s\nwant %s", tt.text, w, fmt.Sprint(problems), tt.problem)
		}
	}
}
