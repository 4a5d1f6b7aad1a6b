package keys

import (
	"net/netip"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// pool is the value of an IP pool. Names are as Calico has them.
type pool struct {
	CIDR             string   `json:"cidr"`
	IPIP             string   `json:"ipip"`
	IPIPMode         string   `json:"ipip_mode"`
	VXLANMode        string   `json:"vxlan_mode"`
	Masquerade       bool     `json:"masquerade"`
	IPAM             bool     `json:"ipam"`
	Disabled         bool     `json:"disabled"`
	DisableBGPExport bool     `json:"disableBGPExport"`
	AssignmentMode   string   `json:"assignment_mode"`
	AllowedUses      []string `json:"allowed_uses,omitempty"`
}

// modes are Calico's words for encapsulation in this place.
var modes = map[calico.EncapMode]string{calico.EncapAlways: "always", calico.EncapCrossSubnet: "cross-subnet"}

// pools fills in /calico/v1/ipam. Of pools with the same prefix the first by name counts.
func (b *builder) pools(d *dir) {
	for _, p := range b.Cluster.Pools {
		v := pool{CIDR: p.CIDR.String(), IPIPMode: modes[p.IPIPMode], VXLANMode: modes[p.VXLANMode], Masquerade: p.NATOutgoing,
			IPAM: !p.Disabled, Disabled: p.Disabled, DisableBGPExport: p.DisableBGPExport, AssignmentMode: "Automatic", AllowedUses: p.AllowedUses}
		if v.IPIPMode != "" {
			v.IPIP = "tunl0"
		}
		if p.ManualAssignment {
			v.AssignmentMode = "Manual"
		}
		if at := d.make(familyOf(p.CIDR), "pool", dashed(p.CIDR)); at.value == nil {
			at.set(text(v))
		}
	}
}

func familyOf(p netip.Prefix) string {
	if p.Addr().Is4() {
		return suffix(bgp.IPv4)
	}
	return suffix(bgp.IPv6)
}

// dashed is a prefix as part of a path.
func dashed(p netip.Prefix) string { return strings.Replace(p.String(), "/", "-", 1) }

// affinity is the value of a block.
type affinity struct {
	State   string `json:"state"`
	Deleted bool   `json:"deleted"`
}

// blocks fills in /calico/ipam/v2/host.
func (b *builder) blocks(d *dir) {
	add := func(node string, p netip.Prefix, state calico.AffinityState) {
		d.set(text(affinity{State: string(state)}), node, "ip"+familyOf(p), "block", dashed(p))
	}
	if b.Options.UsePodCIDR {
		for _, n := range b.Cluster.Nodes {
			for _, p := range n.PodCIDRs {
				add(n.Name, p, calico.AffinityConfirmed)
			}
		}
		return
	}
	for _, a := range b.Cluster.Affinities {
		add(a.Node, a.CIDR, a.State)
	}
}

// services fills in what this node announces of a family, and what is kept out of the kernel.
func (b *builder) services(top *dir, f bgp.Family) {
	v := b.Views.Of(f)
	if v == nil {
		return
	}
	end := ""
	if f == bgp.IPv6 {
		end = "v6"
	}
	for _, of := range []struct {
		name   string
		routes []bgp.Route
	}{{"staticroutes" + end, v.ServiceRoutes}, {"rejectcidrs" + end, v.ServiceRejects}} {
		for _, r := range of.routes {
			top.set(r.Prefix.String(), of.name, dashed(r.Prefix))
		}
	}
}
