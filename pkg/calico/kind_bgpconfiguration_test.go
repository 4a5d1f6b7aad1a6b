package calico

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// config is a BGPConfiguration with its spec in one line, the sixth.
func config(name, spec string) string {
	return "apiVersion: projectcalico.org/v3\nkind: BGPConfiguration\nmetadata:\n  name: " + name + "\nspec:\n  {" + spec + "}\n"
}

func at[T any](v T) *T { return &v }

func TestBGPConfigurationAllFields(t *testing.T) {
	c := one[*BGPConfiguration](t, decodeTest(t, config("default", `logSeverityScreen: debug, nodeToNodeMeshEnabled: true, asNumber: 4200000000,
  serviceClusterIPs: [{cidr: 10.96.0.0/12}, {}, {cidr: ""}, null, {cidr: "fd00:96::/112"}], serviceExternalIPs: [{cidr: 203.0.113.7}],
  serviceLoadBalancerIPs: [{cidr: "2001:db8::1"}], serviceLoadBalancerAggregation: Disabled, listenPort: 1790,
  communities: [{name: site, value: "64500:100"}, {name: large, value: "100:555:107"}],
  prefixAdvertisements: [{cidr: 198.51.100.0/24, communities: [site, "5663:12", large]}, {cidr: 203.0.113.1, communities: []}],
  nodeMeshPassword: {secretKeyRef: {name: bgp, key: mesh_key, optional: true}}, nodeMeshMaxRestartTime: 1m30s, bindMode: NodeIP,
  ignoredInterfaces: [eth0, "vlan.*"], localWorkloadPeeringIPV4: 169.254.1.1, localWorkloadPeeringIPV6: "fe80::1", programClusterRoutes: Enabled,
  ipv4NormalRoutePriority: 1, ipv6NormalRoutePriority: 2147483646, gracefulRestartWait: 0s, gracefulRestartWaitFor: AllPeers`)))
	want := &BGPConfiguration{
		Meta:                       Meta{ID: ID{Kind: "BGPConfiguration", Name: "default"}},
		LogLevel:                   LogDebug,
		NodeToNodeMeshEnabled:      at(true),
		ASNumber:                   4200000000,
		ServiceClusterIPs:          []ServiceRange{{netip.MustParsePrefix("10.96.0.0/12"), "spec.serviceClusterIPs[0]"}, {netip.MustParsePrefix("fd00:96::/112"), "spec.serviceClusterIPs[4]"}},
		ServiceExternalIPs:         []ServiceRange{{netip.MustParsePrefix("203.0.113.7/32"), "spec.serviceExternalIPs[0]"}},
		ServiceLoadBalancerIPs:     []ServiceRange{{netip.MustParsePrefix("2001:db8::1/128"), "spec.serviceLoadBalancerIPs[0]"}},
		ServiceAggregationDisabled: true,
		PrefixAdvertisements: []PrefixAdvertisement{
			{Prefix: netip.MustParsePrefix("198.51.100.0/24"), Communities: []Community{
				{Parts: [3]uint32{100, 555, 107}, Large: true}, {Parts: [3]uint32{5663, 12}}, {Parts: [3]uint32{64500, 100}},
			}},
			{Prefix: netip.MustParsePrefix("203.0.113.1/32"), Index: 1},
		},
		ListenPort:              1790,
		NodeMeshPassword:        &SecretKeyRef{"bgp", "mesh_key"},
		NodeMeshMaxRestartTime:  at(90 * time.Second),
		BindToNodeIP:            true,
		IgnoredInterfaces:       []string{"eth0", "vlan.*"},
		ProgramClusterRoutes:    ProgramEnabled,
		IPv4NormalRoutePriority: 1,
		IPv6NormalRoutePriority: 2147483646,
		GracefulRestartWait:     at(time.Duration(0)),
		GracefulRestartWaitFor:  WaitForAllPeers,
	}
	if diff := cmp.Diff(want, c, ignoreOrigin, netipComparer); diff != "" {
		t.Error(diff)
	}
}

// ctl#2277: values that people tried.
func TestGracefulRestartWait(t *testing.T) {
	for text, want := range map[string]time.Duration{"45s": 45 * time.Second, "0s": 0, "1m30s": 90 * time.Second, "18h": 18 * time.Hour, "64800s": 18 * time.Hour, "1h0m1s": time.Hour + time.Second} {
		c := one[*BGPConfiguration](t, decodeTest(t, config("node.a", "gracefulRestartWait: "+text)))
		if c.GracefulRestartWait == nil || *c.GracefulRestartWait != want {
			t.Errorf("%s is read as %v", text, c.GracefulRestartWait)
		}
	}
	const form = `is not a duration of whole hours, minutes and seconds from 0s to 18h; the field counts as unset [duration]`
	const bounds = `is outside 0s to 18h; the field counts as unset [range]`
	for _, tt := range []struct{ text, problem string }{
		{"-5s", `"-5s" ` + form},
		{"1500ms", `"1500ms" ` + form},
		{`"90"`, `"90" ` + form},
		{"90", `90 ` + form},
		{"90.5", `90.5 ` + form},
		{"60 s", `"60 s" ` + form},
		{"1e3s", `"1e3s" ` + form},
		{"1.5h", `"1.5h" ` + form},
		{`""`, `"" ` + form},
		{"30s1m", `"30s1m" ` + form},
		{"+5s", `"+5s" ` + form},
		{"18h1s", `"18h1s" ` + bounds},
		{"64801s", `"64801s" ` + bounds},
		{"2147483648s", `"2147483648s" ` + bounds},
		{"4294967296s", `"4294967296s" ` + bounds},
		{"99999999999999999999s", `"99999999999999999999s" ` + bounds},
	} {
		c := one[*BGPConfiguration](t, decodeTest(t, config("default", "asNumber: 64500, gracefulRestartWait: "+tt.text),
			"in.yaml:6:42: error: BGPConfiguration/default spec.gracefulRestartWait: "+tt.problem+"\n    hint: write for example 45s or 1m30s"))
		if c.GracefulRestartWait != nil || c.ASNumber != 64500 {
			t.Errorf("%s is read as %v", tt.text, c.GracefulRestartWait)
		}
	}
	decodeTest(t, config("default", "gracefulRestartWait: {}"),
		"in.yaml:6:25: error: BGPConfiguration/default spec.gracefulRestartWait: a mapping stands where text belongs; the field counts as unset [wrong-type]")
}

func TestGracefulRestartAnnotations(t *testing.T) {
	annotated := func(version, annotations, spec string) string {
		return "apiVersion: " + version + "\nkind: BGPConfiguration\nmetadata:\n  name: node.a\n  annotations:\n    " + annotations + "\nspec: {" + spec + "}\n"
	}
	const path = "BGPConfiguration/node.a metadata.annotations[birdconfd/graceful-restart-wait"
	for _, tt := range []struct {
		name, version, annotations, spec string
		wait                             *time.Duration
		waitFor                          WaitFor
		problems                         []string
	}{
		{name: "instead of the fields", version: calicoV3, annotations: "{birdconfd/graceful-restart-wait: 45s, birdconfd/graceful-restart-wait-for: AllPeers}", wait: at(45 * time.Second), waitFor: WaitForAllPeers},
		{name: "the same as the fields", version: calicoV3, annotations: "{birdconfd/graceful-restart-wait: 60s, birdconfd/graceful-restart-wait-for: AllPeers}", spec: "gracefulRestartWait: 1m, gracefulRestartWaitFor: AllPeers", wait: at(time.Minute), waitFor: WaitForAllPeers},
		{
			name: "the field wins", version: calicoV3, annotations: "{birdconfd/graceful-restart-wait: 45s, birdconfd/graceful-restart-wait-for: AllPeers}", spec: "gracefulRestartWait: 1m, gracefulRestartWaitFor: ReadyNodes",
			wait: at(time.Minute), waitFor: WaitForReadyNodes,
			problems: []string{
				"in.yaml:6:39: warning: " + path + `]: "45s" is not what spec.gracefulRestartWait says; the field counts [annotation]` + "\n    hint: remove the annotation, or make it say the same",
				"in.yaml:6:81: warning: " + path + `-for]: "AllPeers" is not what spec.gracefulRestartWaitFor says; the field counts [annotation]` + "\n    hint: remove the annotation, or make it say the same",
			},
		},
		{
			name: "bad ones", version: calicoV3, annotations: "{birdconfd/graceful-restart-wait: 90, birdconfd/graceful-restart-wait-for: allpeers}", spec: "",
			problems: []string{
				"in.yaml:6:39: error: " + path + "]: a number stands where text belongs; the entry is left out [wrong-type]\n    hint: put it in quotes: \"90\"",
				"in.yaml:6:80: error: " + path + "-for]: \"allpeers\" is not one of ReadyNodes, AllPeers; the annotation is ignored [enum]\n    hint: did you mean \"AllPeers\"?",
			},
		},
		{
			name: "inside the metadata of v1", version: calicoV1, annotations: `projectcalico.org/metadata: '{"annotations":{"birdconfd/graceful-restart-wait":"45s"}}'`, wait: at(45 * time.Second),
		},
		{
			name: "a bad one inside the metadata of v1", version: calicoV1, annotations: `projectcalico.org/metadata: '{"annotations":{"birdconfd/graceful-restart-wait":"45"}}'`,
			problems: []string{"in.yaml:6:33: error: " + path + `]: "45" is not a duration of whole hours, minutes and seconds from 0s to 18h; the annotation is ignored [duration]` + "\n    hint: write for example 45s or 1m30s"},
		},
		{
			name: "a slip", version: calicoV3, annotations: "{birdconfd/gracefull-restart-wait: 45s, birdconfd/x: y, other/x: y}",
			problems: []string{
				"in.yaml:6:40: warning: BGPConfiguration/node.a metadata.annotations[birdconfd/gracefull-restart-wait]: the annotation means nothing here; it is ignored [annotation]\n    hint: did you mean \"birdconfd/graceful-restart-wait\"?",
				"in.yaml:6:58: warning: BGPConfiguration/node.a metadata.annotations[birdconfd/x]: the annotation means nothing here; it is ignored [annotation]",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := one[*BGPConfiguration](t, decodeTest(t, annotated(tt.version, tt.annotations, tt.spec), tt.problems...))
			if diff := cmp.Diff(tt.wait, c.GracefulRestartWait); diff != "" || c.GracefulRestartWaitFor != tt.waitFor {
				t.Errorf("%v %s", diff, c.GracefulRestartWaitFor)
			}
		})
	}
}

func TestBGPConfigurationBadFields(t *testing.T) {
	const field = "error: BGPConfiguration/default spec."
	for _, tt := range []struct{ name, spec, problem string }{
		{"severity", "logSeverityScreen: verbose", `in.yaml:6:23: ` + field + `logSeverityScreen: "verbose" is not one of Trace, Debug, Info, Warning, Error, Fatal; the field counts as unset [enum]`},
		{"boolean misspelt", `nodeToNodeMeshEnabled: flase`, `in.yaml:6:27: ` + field + `nodeToNodeMeshEnabled: text stands where true or false belongs; the field counts as unset [wrong-type]`},
		{"AS 0", "asNumber: 0", `in.yaml:6:14: ` + field + `asNumber: 0 is outside 1 to 4294967295; the field counts as unset [range]`},
		{"AS too large", "asNumber: 4294967296", `in.yaml:6:14: ` + field + `asNumber: 4294967296 is outside 1 to 4294967295; the field counts as unset [range]`},
		{"AS too large by far", "asNumber: 42949672960000000000000", `in.yaml:6:14: ` + field + `asNumber: 42949672960000000000000 is outside 1 to 4294967295; the field counts as unset [range]`},
		{"AS negative", "asNumber: -1", `in.yaml:6:14: ` + field + `asNumber: -1 is outside 1 to 4294967295; the field counts as unset [range]`},
		{"AS dotted without quotes", "asNumber: 1.10", `in.yaml:6:14: ` + field + `asNumber: 1.10 is not an AS number: without quotes it is a fraction; the field counts as unset [wrong-type]` + "\n    hint: put it in quotes: \"1.10\""},
		{"AS as a word", "asNumber: private", `in.yaml:6:14: ` + field + `asNumber: "private" is not an AS number; the field counts as unset [wrong-type]` + "\n    hint: write 1 to 4294967295, or in quotes two numbers up to 65535 with a dot, as in \"1.10\""},
		{"AS as a list", "asNumber: [1]", `in.yaml:6:14: ` + field + `asNumber: a list stands where an AS number belongs; the field counts as unset [wrong-type]`},
		{"AS octal", "asNumber: 0123", `in.yaml:6:14: ` + field + `asNumber: 0123 is not an AS number; the field counts as unset [wrong-type]` + "\n    hint: write 1 to 4294967295, or in quotes two numbers up to 65535 with a dot, as in \"1.10\""},
		{"port in quotes", `listenPort: "179"`, `in.yaml:6:16: ` + field + `listenPort: text stands where a number belongs; the field counts as unset [wrong-type]` + "\n    hint: write it without quotes"},
		{"port too large", "listenPort: 65536", `in.yaml:6:16: ` + field + `listenPort: 65536 is outside 1 to 65535; the field counts as unset [range]`},
		{"port hexadecimal", "listenPort: 0x6ff", `in.yaml:6:16: ` + field + `listenPort: 0x6ff is not a whole decimal number; the field counts as unset [wrong-type]`},
		{"list of ranges", "serviceClusterIPs: 10.96.0.0/12", `in.yaml:6:23: ` + field + `serviceClusterIPs: text stands where a list belongs; the field counts as unset [wrong-type]`},
		{"range as text", "serviceClusterIPs: [10.96.0.0/12]", `in.yaml:6:24: ` + field + `serviceClusterIPs[0]: text stands where a mapping belongs; the entry is left out [wrong-type]`},
		{"range with leading zeros", "serviceClusterIPs: [{cidr: 010.0.0.0/8}]", `in.yaml:6:31: ` + field + `serviceClusterIPs[0].cidr: "010.0.0.0/8" is not a CIDR; the entry is left out [prefix]`},
		{"interface", "ignoredInterfaces: ['eth0; drop']", `in.yaml:6:24: ` + field + `ignoredInterfaces[0]: "eth0; drop" is not an interface pattern: letters, digits and _ . * -, at most 15 of them; the entry is left out [interface]`},
		{"all interfaces", "ignoredInterfaces: ['*']", `in.yaml:6:24: ` + field + `ignoredInterfaces[0]: "*" would ignore all interfaces; the entry is left out [interface]`},
		{"bind mode", "bindMode: nodeip", `in.yaml:6:14: ` + field + `bindMode: "nodeip" is not one of None, NodeIP; the field counts as unset [enum]` + "\n    hint: did you mean \"NodeIP\"?"},
		{"priority", "ipv4NormalRoutePriority: 2147483647", `in.yaml:6:29: ` + field + `ipv4NormalRoutePriority: 2147483647 is outside 1 to 2147483646; the field counts as unset [range]`},
		{"family of an address", `localWorkloadPeeringIPV4: "fd00::1"`, `in.yaml:6:30: ` + field + `localWorkloadPeeringIPV4: "fd00::1" is IPv6 where IPv4 belongs; the field counts as unset [family]`},
		{"restart time", "nodeMeshMaxRestartTime: 4096s", `in.yaml:6:28: ` + field + `nodeMeshMaxRestartTime: "4096s" is outside 0s to 4095s (RFC 4724); the field counts as unset [range]`},
		{"restart time without unit", "nodeMeshMaxRestartTime: 90", `in.yaml:6:28: ` + field + `nodeMeshMaxRestartTime: 90 is not a duration in whole seconds from 0s to 4095s (RFC 4724); the field counts as unset [duration]` + "\n    hint: write for example 90s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := one[*BGPConfiguration](t, decodeTest(t, config("default", tt.spec), tt.problem))
			want := &BGPConfiguration{Meta: Meta{ID: ID{Kind: "BGPConfiguration", Name: "default"}}}
			if diff := cmp.Diff(want, c, ignoreOrigin, netipComparer); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBGPConfigurationDoubtful(t *testing.T) {
	for _, tt := range []struct {
		name, spec string
		problems   []string
	}{
		{"host bits", "serviceClusterIPs: [{cidr: 10.96.1.1/12}]", []string{`in.yaml:6:31: warning: BGPConfiguration/default spec.serviceClusterIPs[0].cidr: "10.96.1.1/12" has bits set beyond its length; it is taken for 10.96.0.0/12 [prefix-host-bits]` + "\n    hint: write 10.96.0.0/12"}},
		{"interface twice", "ignoredInterfaces: [eth0, eth0]", []string{`in.yaml:6:30: warning: BGPConfiguration/default spec.ignoredInterfaces[1]: "eth0" stands in the list already [interface]`}},
		{"mesh settings without mesh", "nodeToNodeMeshEnabled: no, nodeMeshMaxRestartTime: 60s, nodeMeshPassword: {secretKeyRef: {name: a, key: b}}", []string{
			"in.yaml:6:55: warning: BGPConfiguration/default spec.nodeMeshMaxRestartTime: the field has no effect: the mesh is switched off [ignored-field]",
			"in.yaml:6:78: warning: BGPConfiguration/default spec.nodeMeshPassword: the field has no effect: the mesh is switched off [ignored-field]",
		}},
		{"communities without advertisements", `communities: [{name: a, value: "1:2"}]`, []string{"in.yaml:6:17: warning: BGPConfiguration/default spec.communities: the field has no effect: there are no prefixAdvertisements [ignored-field]"}},
		{"more communities than an API server takes", `prefixAdvertisements: [{cidr: 198.51.100.0/24, communities: [` + strings.Repeat(`"1:2", `, 51) + `]}]`, []string{"in.yaml:6:64: warning: BGPConfiguration/default spec.prefixAdvertisements[0].communities: 51 communities where an API server takes at most 50; all are used [range]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			one[*BGPConfiguration](t, decodeTest(t, config("default", tt.spec), tt.problems...))
		})
	}
}

func TestBGPConfigurationOfOneNode(t *testing.T) {
	const ignored = ": the field has no effect for one node; it is ignored [ignored-field]\n    hint: set it in the BGPConfiguration named default"
	c := one[*BGPConfiguration](t, decodeTest(t, config("node.a", `asNumber: x, bindMode: NodeIP, listenPort: 1790, logSeverityScreen: Info, serviceLoadBalancerAggregation: Enabled,
  communities: [{name: a, value: "1:2"}], prefixAdvertisements: [{cidr: 198.51.100.0/24, communities: [a]}]`),
		"in.yaml:6:14: warning: BGPConfiguration/node.a spec.asNumber"+ignored,
		"in.yaml:6:27: warning: BGPConfiguration/node.a spec.bindMode"+ignored))
	if c.ASNumber != 0 || c.BindToNodeIP || c.ListenPort != 1790 || c.LogLevel != LogInfo || len(c.PrefixAdvertisements) != 1 {
		t.Errorf("%+v", c)
	}
	decodeTest(t, config("node.a", "serviceLoadBalancerAggregation: Disabled"), "in.yaml:6:36: warning: BGPConfiguration/node.a spec.serviceLoadBalancerAggregation"+ignored)
	for name, hint := range map[string]string{"defualt": "\n    hint: did you mean \"default\"?", "node-a": "", "node": ""} {
		if objects := decodeTest(t, config(name, "asNumber: x"), fmt.Sprintf("in.yaml:4:9: warning: BGPConfiguration/%s metadata.name: only default and node.NAME have an effect; this one is ignored [ignored-name]%s", name, hint)); len(objects) > 0 {
			t.Errorf("%s is kept", name)
		}
	}
}

func TestCommunities(t *testing.T) {
	for _, tt := range []struct {
		name, communities, use string
		want                   string
		problems               []string
	}{
		{name: "one is there once (confd#345)", communities: `{name: site, value: "64500:100"}`, use: `site, "64500:100", site`, want: "64500:100"},
		{
			name: "an undefined one (c#3049)", communities: `{name: site, value: "64500:100"}`, use: `stie, "64500:200"`, want: "64500:200",
			problems: []string{`in.yaml:6:114: error: BGPConfiguration/default spec.prefixAdvertisements[0].communities[0]: "stie" is not defined in spec.communities; the community is left out [undefined-community]` + "\n    hint: did you mean \"site\"?"},
		},
		{name: "the first of two definitions counts", communities: `{name: a, value: "1:1"}, {name: a, value: "2:2"}`, use: "a", want: "1:1"},
		{name: "sorted as text", communities: ``, use: `"5663:12", "100:6532", "100:555:107"`, want: "100:555:107 100:6532 5663:12"},
		{name: "leading zeros", communities: ``, use: `"00100:05"`, want: "100:5"},
		{
			name: "values out of range", communities: `{name: big, value: "65536:1"}`, use: `"1:65536", "1:2:4294967296", "1:2:3:4", big`,
			problems: []string{
				`in.yaml:6:37: error: BGPConfiguration/default spec.communities[0].value: "65536:1" is not a community of 2 numbers up to 65535; the entry is left out [community]`,
				`in.yaml:6:111: error: BGPConfiguration/default spec.prefixAdvertisements[0].communities[0]: "1:65536" is not a community of 2 numbers up to 65535; the community is left out [community]`,
				`in.yaml:6:122: error: BGPConfiguration/default spec.prefixAdvertisements[0].communities[1]: "1:2:4294967296" is not a community of 3 numbers up to 4294967295; the community is left out [community]`,
				`in.yaml:6:140: error: BGPConfiguration/default spec.prefixAdvertisements[0].communities[2]: "1:2:3:4" is not a community; the community is left out [community]` + "\n    hint: write two numbers as in 64500:100, or three as in 64500:1:2",
			},
		},
		{
			name: "incomplete definitions", communities: `{name: a}, {value: "1:2"}, {name: A_, value: "1:2"}`, use: `"1:1"`, want: "1:1",
			problems: []string{
				"in.yaml:6:18: error: BGPConfiguration/default spec.communities[0].value: the field is required; the entry is left out [missing-field]",
				"in.yaml:6:29: error: BGPConfiguration/default spec.communities[1].name: the field is required; the entry is left out [missing-field]",
				`in.yaml:6:52: error: BGPConfiguration/default spec.communities[2].name: "A_" is not a name: small letters, digits, - and ., at most 253 of them; the entry is left out [name]`,
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := one[*BGPConfiguration](t, decodeTest(t, config("default", "communities: ["+tt.communities+"], prefixAdvertisements: [{cidr: 198.51.100.0/24, communities: ["+tt.use+"]}]"), tt.problems...))
			var got []string
			for _, community := range c.PrefixAdvertisements[0].Communities {
				got = append(got, community.String())
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("communities %v, want %s", got, tt.want)
			}
		})
	}
	t.Run("bad advertisements", func(t *testing.T) {
		c := one[*BGPConfiguration](t, decodeTest(t, config("default", `prefixAdvertisements: [{communities: ["1:1"]}, {cidr: x, communities: ["1:1"]}, {cidr: 198.51.100.0/24}, {cidr: 198.51.100.0/24, communities: ["1:1"]}]`),
			"in.yaml:6:27: error: BGPConfiguration/default spec.prefixAdvertisements[0].cidr: the field is required; the entry is left out [missing-field]",
			`in.yaml:6:58: error: BGPConfiguration/default spec.prefixAdvertisements[1].cidr: "x" is not a CIDR; the entry is left out [prefix]`,
			"in.yaml:6:84: error: BGPConfiguration/default spec.prefixAdvertisements[2].communities: the field is required; the entry is left out [missing-field]"))
		if len(c.PrefixAdvertisements) != 1 || c.PrefixAdvertisements[0].Index != 3 {
			t.Errorf("%+v", c.PrefixAdvertisements)
		}
	})
}

func TestMeshPasswordIsNeverLost(t *testing.T) {
	const held = "; the mesh is held back, as it must not run without its password "
	const path = "error: BGPConfiguration/default spec.nodeMeshPassword"
	for _, tt := range []struct {
		spec     string
		problems []string
	}{
		{"text", []string{"in.yaml:6:22: " + path + ": text stands where a mapping belongs" + held + "[wrong-type]"}},
		{"{}", []string{"in.yaml:6:22: " + path + ".secretKeyRef: the field is required" + held + "[missing-field]"}},
		{"{secretKeyRef: {}}", []string{
			"in.yaml:6:37: " + path + ".secretKeyRef.key: the field is required" + held + "[missing-field]",
			"in.yaml:6:37: " + path + ".secretKeyRef.name: the field is required" + held + "[missing-field]",
		}},
		{"{secretKeyRef: {name: Bgp, key: 'a b'}}", []string{
			"in.yaml:6:44: " + path + ".secretKeyRef.name: the value is not a name: small letters, digits, - and ., at most 253 of them" + held + "[name]",
			"in.yaml:6:54: " + path + ".secretKeyRef.key: the value is not the name of a key in a Secret" + held + "[name]",
		}},
	} {
		c := one[*BGPConfiguration](t, decodeTest(t, config("default", "nodeMeshPassword: "+tt.spec), tt.problems...))
		if c.NodeMeshPassword == nil || *c.NodeMeshPassword != (SecretKeyRef{}) {
			t.Errorf("%s is read as %v", tt.spec, c.NodeMeshPassword)
		}
	}
	if c := one[*BGPConfiguration](t, decodeTest(t, config("default", "nodeMeshPassword: null"))); c.NodeMeshPassword != nil {
		t.Error("a null is a password")
	}
}

// What is meant is plain, and without the value the mesh would be on.
func TestBooleanInQuotes(t *testing.T) {
	objects, problems := Decode("in.yaml", []byte("apiVersion: projectcalico.org/v3\nkind: BGPConfiguration\nmetadata: {name: default}\nspec: {nodeToNodeMeshEnabled: \"false\"}\n"))
	if len(problems) != 1 || problems[0].String() != `in.yaml:4:31: warning: BGPConfiguration/default spec.nodeToNodeMeshEnabled: "false" is text where true or false belongs; it is taken for false [wrong-type]`+"\n    hint: remove the quotes" {
		t.Errorf("problems are %v", problems)
	}
	if on := objects[0].(*BGPConfiguration).NodeToNodeMeshEnabled; on == nil || *on {
		t.Errorf("the mesh is %v", on)
	}
}
