package calico

import (
	"fmt"
	"math"
)

var peerRoot = root(peerFields.section, skip[BGPPeer])

// Which peer, on which nodes, and how it is secured: without these a peer would be
// another one, or an open one. With anything else missing it still makes sense.
var peerFields = fields[BGPPeer]{
	"node":                  func(p *BGPPeer, v value) { p.Node = v.essential().nameOrEmpty() },
	"nodeSelector":          func(p *BGPPeer, v value) { p.NodeSelector = v.essential().selector() },
	"peerIP":                func(p *BGPPeer, v value) { p.PeerIP, p.PeerPort = v.essential().peerIP() },
	"peerSelector":          func(p *BGPPeer, v value) { p.PeerSelector = v.essential().selector() },
	"localWorkloadSelector": func(p *BGPPeer, v value) { p.LocalWorkloadSelector = v.essential().selector() },
	"asNumber":              func(p *BGPPeer, v value) { p.ASNumber, _ = v.essential().asNumberOrZero() },
	"localASNumber":         func(p *BGPPeer, v value) { p.LocalASNumber, _ = v.essential().asNumberOrZero() },
	"password":              func(p *BGPPeer, v value) { p.Password = v.essential().password() },
	"ttlSecurity": func(p *BGPPeer, v value) {
		n, _ := v.essential().integer(0, math.MaxUint8)
		p.TTLSecurity = uint8(n)
	},
	"reachableBy":         func(p *BGPPeer, v value) { p.ReachableBy = v.essential().gateway() },
	"keepOriginalNextHop": func(p *BGPPeer, v value) { p.KeepOriginalNextHop, _ = v.boolean() },
	"nextHopMode": func(p *BGPPeer, v value) {
		p.NextHopMode = NextHopMode(v.oneOf(string(NextHopAuto), string(NextHopSelf), string(NextHopKeep)))
	},
	"sourceAddress":  func(p *BGPPeer, v value) { p.NoSourceAddress = v.oneOf("UseNodeIP", "None") == "None" },
	"maxRestartTime": func(p *BGPPeer, v value) { p.MaxRestartTime = v.restartTime() },
	"keepaliveTime":  func(p *BGPPeer, v value) { p.KeepaliveTime = v.seconds(1, math.MaxUint16, "") },
	"numAllowedLocalASNumbers": func(p *BGPPeer, v value) {
		n, _ := v.integer(0, math.MaxInt32)
		p.NumAllowedLocalASNumbers = uint32(n)
	},
	"filters":        func(p *BGPPeer, v value) { p.Filters = v.filterNames() },
	"reversePeering": func(p *BGPPeer, v value) { p.ReversePeeringManual = v.oneOf("Auto", "Manual") == "Manual" },
}

func readBGPPeer(o *object, m mapping) Object {
	p := &BGPPeer{}
	peerRoot.readFrom(p, m)
	o.checkOwnAnnotations()
	// A bad field that decides what the peer is would make the checks below guess.
	if o.lost || !o.checkPeer(p) {
		return nil
	}
	p.Meta = o.meta
	return p
}

// checkPeer applies the rules between fields.
func (o *object) checkPeer(p *BGPPeer) bool {
	for _, r := range []struct {
		broken              bool
		rule, field, reason string
	}{
		{p.Node != "" && p.NodeSelector != nil, RuleConflict, "spec.nodeSelector", "node and nodeSelector exclude each other"},
		{p.PeerIP.IsValid() && p.PeerSelector != nil, RuleConflict, "spec.peerSelector", "peerIP and peerSelector exclude each other"},
		{p.LocalWorkloadSelector != nil && p.PeerIP.IsValid(), RuleConflict, "spec.localWorkloadSelector", "peerIP and localWorkloadSelector exclude each other"},
		{p.LocalWorkloadSelector != nil && p.PeerSelector != nil, RuleConflict, "spec.localWorkloadSelector", "peerSelector and localWorkloadSelector exclude each other"},
		{!p.PeerIP.IsValid() && p.PeerSelector == nil && p.LocalWorkloadSelector == nil, RuleMissingField, "spec", "one of peerIP, peerSelector and localWorkloadSelector is required"},
		{p.LocalWorkloadSelector != nil && p.ASNumber == 0, RuleMissingField, "spec.asNumber", "localWorkloadSelector needs an asNumber"},
		{p.ReachableBy.IsValid() && !p.PeerIP.IsValid(), RuleMissingField, "spec.reachableBy", "reachableBy needs a peerIP"},
		{p.ReachableBy.IsValid() && p.PeerIP.IsValid() && familyOf(p.ReachableBy) != familyOf(p.PeerIP), RuleFamily, "spec.reachableBy", "reachableBy and peerIP are not of one family"},
	} {
		if r.broken {
			o.reject(r.rule, r.field, r.reason, "")
		}
	}
	if o.lost {
		return false
	}
	if p.PeerSelector != nil && p.ASNumber != 0 {
		o.report(Error, RuleConflict, "spec.asNumber", fmt.Sprintf("the AS numbers of the nodes that peerSelector selects count; %d is ignored", p.ASNumber), "remove asNumber")
		p.ASNumber = 0
	}
	if p.ReachableBy.IsValid() && p.ReachableBy == p.PeerIP {
		o.report(Warning, RuleConflict, "spec.reachableBy", "the peer is reached through itself; BIRD has no way to it", "name the router on the way")
	}
	if p.KeepOriginalNextHop && p.NextHopMode != "" {
		o.report(Warning, RuleConflict, "spec.keepOriginalNextHop", fmt.Sprintf("nextHopMode %s counts; this older field is ignored", p.NextHopMode), "remove keepOriginalNextHop")
		p.KeepOriginalNextHop = false
	}
	return true
}

// nameOrEmpty is name where the empty text means none.
func (v value) nameOrEmpty() string {
	if v.node.Value == "" && v.typeName() == aText {
		return ""
	}
	return v.name()
}

// filterNames reads a list of BGPFilters. A bad entry becomes "", so that the others keep
// their places.
func (v value) filterNames() []string {
	var out []string
	for _, e := range v.entries() {
		out = append(out, e.or("the peer does without this filter, so routes it would have rejected are not").name())
	}
	return out
}
