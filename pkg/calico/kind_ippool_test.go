package calico

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// poolDoc is an IPPool with its spec in one line, the fifth.
func poolDoc(spec string) string {
	return "apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata: {name: pods}\nspec:\n  {" + spec + "}\n"
}

func TestIPPool(t *testing.T) {
	v4, v6 := netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8::/64")
	const pool = "error: IPPool/pods spec."
	const doubt = "warning: IPPool/pods spec."
	const refused = "; an API server refuses that [conflict]"
	for _, tt := range []struct {
		name, spec string
		want       IPPool
		problems   []string
	}{
		{
			name: "all fields", spec: "cidr: 198.51.100.0/24, ipipMode: CrossSubnet, vxlanMode: Never, natOutgoing: true, disabled: false, disableBGPExport: true, blockSize: 26, nodeSelector: all(), namespaceSelector: '', allowedUses: [Workload, Tunnel], assignmentMode: Automatic",
			want: IPPool{CIDR: v4, IPIPMode: EncapCrossSubnet, VXLANMode: EncapNever, DisableBGPExport: true, NATOutgoing: true, AllowedUses: []string{"Workload", "Tunnel"}},
		},
		{name: "IPv6", spec: `cidr: "2001:db8::/64", vxlanMode: Always, blockSize: 122`, want: IPPool{CIDR: v6, IPIPMode: EncapNever, VXLANMode: EncapAlways}},
		{
			name: "modes of old releases", spec: "cidr: 198.51.100.0/24, ipipMode: always, vxlanMode: cross-subnet", want: IPPool{CIDR: v4, IPIPMode: EncapAlways, VXLANMode: EncapNever},
			problems: []string{
				`in.yaml:5:37: ` + doubt + `ipipMode: "always" is not spelled like Always; it counts as Always [enum]` + "\n    hint: write Always",
				`in.yaml:5:56: error: IPPool/pods spec.vxlanMode: "cross-subnet" is not one of Never, Always, CrossSubnet; it counts as Never [enum]` + "\n    hint: did you mean \"CrossSubnet\"?",
			},
		},
		{name: "no mode", spec: "cidr: 198.51.100.0/24, ipipMode: ''", want: IPPool{CIDR: v4, IPIPMode: EncapNever, VXLANMode: EncapNever}},
		{
			name: "both modes", spec: "cidr: 198.51.100.0/24, ipipMode: Always, vxlanMode: Always", want: IPPool{CIDR: v4, IPIPMode: EncapNever, VXLANMode: EncapAlways},
			problems: []string{"in.yaml:5:37: " + pool + "ipipMode: ipipMode and vxlanMode exclude each other; vxlanMode counts [conflict]\n    hint: set one of them to Never"},
		},
		{
			name: "IPIP on IPv6", spec: `cidr: "2001:db8::/64", ipipMode: Always`, want: IPPool{CIDR: v6, IPIPMode: EncapNever, VXLANMode: EncapNever},
			problems: []string{"in.yaml:5:37: " + pool + "ipipMode: IPIP carries IPv4 only; ipipMode counts as Never [family]\n    hint: use vxlanMode"},
		},
		{
			name: "host bits", spec: "cidr: 198.51.100.7/24", want: IPPool{CIDR: v4, IPIPMode: EncapNever, VXLANMode: EncapNever},
			problems: []string{`in.yaml:5:10: ` + doubt + `cidr: "198.51.100.7/24" has bits set beyond its length; it is taken for 198.51.100.0/24 [prefix-host-bits]` + "\n    hint: write 198.51.100.0/24"},
		},
		{
			name: "fields that BGP does not mind", spec: "cidr: 198.51.100.0/24, natOutgoing: 1, disabled: 1, blockSize: 8, nodeSelector: '=', namespaceSelector: global(), allowedUses: [Pods], assignmentMode: Auto", want: IPPool{CIDR: v4, IPIPMode: EncapNever, VXLANMode: EncapNever},
			problems: []string{
				"in.yaml:5:40: " + pool + "natOutgoing: a number stands where true or false belongs; the field counts as unset [wrong-type]",
				"in.yaml:5:53: " + pool + "disabled: a number stands where true or false belongs; the field counts as unset [wrong-type]",
				"in.yaml:5:67: " + pool + "blockSize: 8 is outside 20 to 128; the field counts as unset [range]",
				`in.yaml:5:84: ` + pool + `nodeSelector: not a selector: expected a label name at character 1, near "="; the field counts as unset [selector]`,
				"in.yaml:5:108: " + pool + "namespaceSelector: global() does not select anything of a pool; the field counts as unset [selector]",
				`in.yaml:5:132: ` + pool + `allowedUses[0]: "Pods" is not one of Workload, Tunnel, LoadBalancer; the entry is left out [enum]`,
				`in.yaml:5:155: ` + pool + `assignmentMode: "Auto" is not one of Automatic, Manual; the field counts as unset [enum]`,
			},
		},
		{
			name: "what an API server refuses", spec: "cidr: 169.254.0.0/28, blockSize: 26, ipipMode: Always, disableBGPExport: true, nodeSelector: has(a), namespaceSelector: has(b), allowedUses: [LoadBalancer, Tunnel]",
			want: IPPool{CIDR: netip.MustParsePrefix("169.254.0.0/28"), IPIPMode: EncapAlways, VXLANMode: EncapNever, DisableBGPExport: true, AllowedUses: []string{"LoadBalancer", "Tunnel"}},
			problems: []string{
				"in.yaml:5:10: " + doubt + "cidr: the pool is smaller than one block (/26)" + refused,
				"in.yaml:5:10: " + doubt + "cidr: the pool overlaps link-local addresses" + refused,
				"in.yaml:5:77: " + doubt + "disableBGPExport: a LoadBalancer pool cannot disable BGP export" + refused,
				"in.yaml:5:97: " + doubt + "nodeSelector: a LoadBalancer pool needs nodeSelector all()" + refused,
				"in.yaml:5:124: " + doubt + "namespaceSelector: the use Tunnel excludes a namespaceSelector" + refused,
				"in.yaml:5:145: " + doubt + "allowedUses: LoadBalancer excludes IPIP and VXLAN" + refused,
				"in.yaml:5:145: " + doubt + "allowedUses: LoadBalancer excludes all other uses" + refused,
			},
		},
		{
			name: "block size of the other family", spec: `cidr: "2001:db8::/64", blockSize: 26`, want: IPPool{CIDR: v6, IPIPMode: EncapNever, VXLANMode: EncapNever},
			problems: []string{
				"in.yaml:5:10: " + doubt + "cidr: the pool is smaller than one block (/26)" + refused,
				"in.yaml:5:38: " + doubt + "blockSize: a block size of this family is 116 to 128; an API server refuses that [range]",
			},
		},
		{name: "a disabled pool may be small", spec: `cidr: 198.51.100.0/31, disabled: true, assignmentMode: Manual`,
			want: IPPool{CIDR: netip.MustParsePrefix("198.51.100.0/31"), IPIPMode: EncapNever, VXLANMode: EncapNever, Disabled: true, ManualAssignment: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Meta.ID = ID{Kind: "IPPool", Name: "pods"}
			if diff := cmp.Diff(&tt.want, one[*IPPool](t, decodeTest(t, poolDoc(tt.spec), tt.problems...)), ignoreOrigin, netipComparer); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIPPoolLeftOut(t *testing.T) {
	const pool = "error: IPPool/pods spec."
	for _, tt := range []struct{ name, spec, problem string }{
		{"no cidr", "ipipMode: Always", "in.yaml:5:3: " + pool + "cidr: the field is required; the pool is left out [missing-field]"},
		{"bad cidr", "cidr: 198.51.100.0/33", `in.yaml:5:10: ` + pool + `cidr: "198.51.100.0/33" is not a CIDR; the pool is left out [prefix]`},
		{"bare address", "cidr: 198.51.100.0", `in.yaml:5:10: ` + pool + `cidr: "198.51.100.0" is an address without a prefix length; the pool is left out [prefix]` + "\n    hint: write 198.51.100.0/32 if this one address is meant"},
		{"IPv4 as IPv6", "cidr: '::ffff:198.51.100.0/120'", `in.yaml:5:10: ` + pool + `cidr: "::ffff:198.51.100.0/120" is IPv4 written as IPv6; the pool is left out [prefix]` + "\n    hint: write it as IPv4"},
		{"export", "cidr: 198.51.100.0/24, disableBGPExport: 'maybe'", "in.yaml:5:45: " + pool + "disableBGPExport: text stands where true or false belongs; the pool is left out [wrong-type]"},
		{"mode of the wrong type", "cidr: 198.51.100.0/24, ipipMode: true", "in.yaml:5:37: " + pool + "ipipMode: a boolean stands where text belongs; the pool is left out [wrong-type]\n    hint: put it in quotes: \"true\""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if objects := decodeTest(t, poolDoc(tt.spec), tt.problem); len(objects) > 0 {
				t.Error("the pool is there")
			}
		})
	}
}
