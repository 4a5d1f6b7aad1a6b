package keys

import (
	"fmt"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// peer is the value of a peering. AS numbers are text, since templates turn numbers of JSON
// into floating-point ones.
type peer struct {
	IP              string   `json:"ip"`
	ASNumber        string   `json:"as_num"`
	LocalASNumber   string   `json:"local_as_num"`
	RRClusterID     string   `json:"rr_cluster_id"`
	Password        *string  `json:"password"`
	SourceAddr      string   `json:"source_addr"`
	RestartTime     string   `json:"restart_time"`
	KeepaliveTime   string   `json:"keepalive_time"`
	Port            uint16   `json:"port"`
	KeepNextHop     bool     `json:"keep_next_hop"`
	CalicoNode      bool     `json:"calico_node"`
	NumAllowLocalAS uint32   `json:"num_allow_local_as"`
	TTLSecurity     uint8    `json:"ttl_security"`
	Filters         []string `json:"filters"`
	ReachableBy     string   `json:"reachable_by"`
	PassiveMode     bool     `json:"passive_mode"`
	LocalBGPPeer    bool     `json:"local_bgp_peer"`
	NextHopMode     string   `json:"next_hop_mode"`
}

// peers returns what fills in the peerings of a node and a family, which of a node that is
// not there are none.
func (b *builder) peers(n *calico.Node, f bgp.Family, global bool) func(*dir) {
	return func(d *dir) {
		if n == nil {
			return
		}
		for _, p := range b.peerings.Of(n, global) {
			if p.Address.Is4() != (f == bgp.IPv4) {
				continue
			}
			name := p.Address.String()
			if p.Port != 0 {
				name += fmt.Sprintf("-%d", p.Port)
			}
			d.set(text(value(p)), name)
		}
	}
}

func value(p bgp.Peering) peer {
	out := peer{IP: p.Address.String(), ASNumber: fmt.Sprint(p.ASNumber), LocalASNumber: fmt.Sprint(p.LocalASNumber),
		RRClusterID: Address(p.ClusterID), SourceAddr: "None", Port: p.Port, KeepNextHop: p.KeepNextHop, CalicoNode: p.CalicoNode,
		NumAllowLocalAS: p.AllowLocalAS, TTLSecurity: p.TTLSecurity, Filters: p.Filters, ReachableBy: Address(p.ReachableBy),
		PassiveMode: p.LocalWorkload, LocalBGPPeer: p.LocalWorkload, NextHopMode: string(p.NextHopMode)}
	if p.Password.IsSet() {
		password := p.Password.Reveal()
		out.Password = &password
	}
	if p.NodeAddress {
		out.SourceAddr = "UseNodeIP"
	}
	if !p.LocalWorkload {
		out.RestartTime, out.KeepaliveTime = Seconds(p.From.MaxRestartTime), Seconds(p.From.KeepaliveTime)
	}
	return out
}
