package calico

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// poolReader is an IPPool while it is read. Most fields have nothing to do with BGP; they
// are read to say what is wrong with them.
type poolReader struct {
	IPPool
	hasNamespaces bool
	blockSize     uint64
	nodes         *Selector
}

var poolRoot = root(poolFields.section, skip[poolReader])

var poolFields = fields[poolReader]{
	"cidr":              func(p *poolReader, v value) { p.CIDR = v.essential().prefix(0) },
	"ipipMode":          func(p *poolReader, v value) { p.IPIPMode = v.essential().encapMode() },
	"vxlanMode":         func(p *poolReader, v value) { p.VXLANMode = v.essential().encapMode() },
	"disableBGPExport":  func(p *poolReader, v value) { p.DisableBGPExport, _ = v.essential().boolean() },
	"natOutgoing":       func(p *poolReader, v value) { p.NATOutgoing, _ = v.boolean() },
	"disabled":          func(p *poolReader, v value) { p.Disabled, _ = v.boolean() },
	"blockSize":         func(p *poolReader, v value) { p.blockSize, _ = v.integer(20, 128) },
	"nodeSelector":      func(p *poolReader, v value) { p.nodes = v.poolSelector() },
	"namespaceSelector": func(p *poolReader, v value) { p.hasNamespaces = v.poolSelector() != nil },
	"allowedUses": func(p *poolReader, v value) {
		for _, e := range v.entries() {
			if use := e.oneOf("Workload", "Tunnel", "LoadBalancer"); use != "" {
				p.AllowedUses = append(p.AllowedUses, use)
			}
		}
	},
	"assignmentMode": func(p *poolReader, v value) { p.ManualAssignment = v.oneOf("Automatic", "Manual") == "Manual" },
}

func readIPPool(o *object, m mapping) Object {
	p := &poolReader{IPPool: IPPool{IPIPMode: EncapNever, VXLANMode: EncapNever}}
	poolRoot.readFrom(p, m)
	o.checkOwnAnnotations()
	if !o.lost && !p.CIDR.IsValid() {
		o.reject(RuleMissingField, "spec.cidr", "the field is required", "")
	}
	if o.lost {
		return nil
	}
	p.Meta = o.meta
	p.checkEncap(o)
	p.checkUnused(o)
	return &p.IPPool
}

// encapMode reads when a pool is encapsulated. Objects of old releases have other words,
// which Calico takes for Never.
func (v value) encapMode() EncapMode {
	s, ok := v.text()
	if !ok || s == "" {
		return EncapNever
	}
	words := []string{string(EncapNever), string(EncapAlways), string(EncapCrossSubnet)}
	for _, w := range words {
		if s == w {
			return EncapMode(w)
		}
		if strings.EqualFold(s, w) {
			v.doubt(s, &fault{RuleEnum, "is not spelled like " + w, "write " + w}, "it counts as "+w)
			return EncapMode(w)
		}
	}
	f := notOneOf(s, words)
	v.report(Error, f.rule, v.show(s)+" "+f.what+"; it counts as Never", f.hint)
	return EncapNever
}

func (v value) poolSelector() *Selector {
	sel := v.selector()
	if sel != nil && strings.Contains(sel.String(), "global(") {
		v.bad(RuleSelector, "global() does not select anything of a pool", "")
	}
	return sel
}

// checkEncap makes sure that at most one encapsulation is left.
func (p *poolReader) checkEncap(o *object) {
	if p.IPIPMode != EncapNever && p.VXLANMode != EncapNever {
		o.report(Error, RuleConflict, "spec.ipipMode", "ipipMode and vxlanMode exclude each other; vxlanMode counts", "set one of them to Never")
		p.IPIPMode = EncapNever
	}
	if p.IPIPMode != EncapNever && p.CIDR.Addr().Is6() {
		o.report(Error, RuleFamily, "spec.ipipMode", "IPIP carries IPv4 only; ipipMode counts as Never", "use vxlanMode")
		p.IPIPMode = EncapNever
	}
}

// checkUnused warns of what an API server refuses but BGP does not mind.
func (p *poolReader) checkUnused(o *object) {
	balancer := slices.Contains(p.AllowedUses, "LoadBalancer")
	smallest, largest, block := uint64(20), uint64(32), uint64(26)
	if p.CIDR.Addr().Is6() {
		smallest, largest, block = 116, 128, 122
	}
	if p.blockSize != 0 {
		block = p.blockSize
	}
	for _, c := range []struct {
		broken               bool
		rule, field, message string
	}{
		{block < smallest || block > largest, RuleRange, "spec.blockSize", fmt.Sprintf("a block size of this family is %d to %d", smallest, largest)},
		{!p.Disabled && uint64(p.CIDR.Bits()) > block, RuleConflict, "spec.cidr", fmt.Sprintf("the pool is smaller than one block (/%d)", block)},
		{linkLocal(p.CIDR), RuleConflict, "spec.cidr", "the pool overlaps link-local addresses"},
		{balancer && len(p.AllowedUses) > 1, RuleConflict, "spec.allowedUses", "LoadBalancer excludes all other uses"},
		{balancer && (p.IPIPMode != EncapNever || p.VXLANMode != EncapNever), RuleConflict, "spec.allowedUses", "LoadBalancer excludes IPIP and VXLAN"},
		{balancer && p.DisableBGPExport, RuleConflict, "spec.disableBGPExport", "a LoadBalancer pool cannot disable BGP export"},
		{balancer && p.nodes != nil && p.nodes.String() != "all()", RuleConflict, "spec.nodeSelector", "a LoadBalancer pool needs nodeSelector all()"},
		{slices.Contains(p.AllowedUses, "Tunnel") && p.hasNamespaces, RuleConflict, "spec.namespaceSelector", "the use Tunnel excludes a namespaceSelector"},
	} {
		if c.broken {
			o.report(Warning, c.rule, c.field, c.message+"; an API server refuses that", "")
		}
	}
}

func linkLocal(p netip.Prefix) bool {
	return p.Overlaps(netip.MustParsePrefix("169.254.0.0/16")) || p.Overlaps(netip.MustParsePrefix("fe80::/10"))
}
