package confd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render/keys"
)

// Config is what getBGPConfig returns: a bgp.View in the form that Calico's confd gives to
// templates, with BIRD 1.6 statements as text. Texts are empty for what is not set. The last
// fields are birdconfd's own.
type Config struct {
	NodeName, NodeIP, NodeIPv6 string
	ASNumber                   string
	RouterID                   string
	Peers                      []*Peer
	Filters                    map[string]string // reserved by Calico, always empty
	Communities                []CommunityRule
	LogLevel                   string
	// DebugMode is what follows the word debug in protocols other than BGP; PeerDebugMode is
	// the whole statement for BGP.
	DebugMode, PeerDebugMode string
	ListenAddress            string
	ListenPort               string
	DirectInterfaces         string
	ExternalIPs              []string
	LoadBalancerIPs          []string

	// Lines of filters.
	BGPExportFilterForDisabledIPPools []string
	IBGPExportFilterForTunnelRoutes   []string
	BGPExportFilterForEnabledIPPools  []string
	KernelFilterForIPPools            []string
	SetMetricForBGPRoutes             []string
	WireguardPeerKernelFilter         []string
	NormalRoutePriority               int

	// GracefulRestartWait is in seconds, for BIRD's graceful restart wait.
	GracefulRestartWait string
}

// Peer is one BGP session.
type Peer struct {
	Name, IP, Port          string
	ASNumber, LocalASNumber string
	Type                    string // mesh, global, node, local_workload
	// ImportFilter and ExportFilter are the bodies of filters.
	ImportFilter, ExportFilter string
	Password                   string
	TTLSecurity                string
	RouteReflector             bool
	RRClusterID                string
	SourceAddr                 string
	NextHopSelf, NextHopKeep   bool
	AddPaths                   string // reserved by Calico, always empty
	Passive                    bool
	GracefulRestart            string // seconds
	KeepaliveTime              string // seconds
	NumAllowLocalAs            string

	// GracefulRestartOff and Why are birdconfd's own: those of bgp.Peer.
	GracefulRestartOff bool
	Why                string
}

// CommunityRule adds communities to the routes inside a prefix.
type CommunityRule struct {
	CIDR          string
	AddStatements []string
}

// getBGPConfig is the template function.
func (r *run) getBGPConfig(version int, store any) (*Config, error) {
	if h, ok := store.(handle); !ok || h.r != r {
		return nil, errors.New("the last argument must be the dot of the template, which is $ inside range and with")
	}
	v, err := r.view(version)
	if err != nil {
		return nil, err
	}
	if c := r.configs[version]; c != nil {
		return c, nil
	}
	c := r.config(v)
	if r.configs == nil {
		r.configs = map[int]*Config{}
	}
	r.configs[version] = c
	return c, nil
}

// view returns the View of a version of IP.
func (r *run) view(version int) (*bgp.View, error) {
	f := bgp.Family(version)
	if f != bgp.IPv4 && f != bgp.IPv6 {
		return nil, fmt.Errorf("the version is 4 or 6, not %d", version)
	}
	v := r.data.Views.Of(f)
	if v == nil {
		return nil, fmt.Errorf("there is no %s configuration for the node %s, or it is not to be rendered", f, r.data.Node)
	}
	return v, nil
}

func (r *run) config(v *bgp.View) *Config {
	c := &Config{
		NodeName: v.Node.Name, ASNumber: fmt.Sprint(v.Node.ASNumber), RouterID: keys.Address(v.RouterID), Filters: map[string]string{},
		LogLevel: string(v.LogLevel), ListenAddress: keys.Address(v.Listen.Address), ListenPort: keys.Number(v.Listen.Port),
		DirectInterfaces: interfaces(v.IgnoredInterfaces), NormalRoutePriority: int(v.RoutePriority),
		GracefulRestartWait: keys.Seconds(v.GracefulRestartWait),
	}
	if n := r.data.Cluster.Node(v.Node.Name); n != nil {
		c.NodeIP, c.NodeIPv6 = keys.Address(n.IPv4.Addr()), keys.Address(n.IPv6.Addr())
	}
	c.DebugMode, c.PeerDebugMode = debugModes(v.LogLevel, r.template.Generation)
	settings := r.data.Cluster.Default()
	c.ExternalIPs, c.LoadBalancerIPs = texts(settings.ServiceExternalIPs), texts(settings.ServiceLoadBalancerIPs)
	for _, rule := range v.Communities {
		out := CommunityRule{CIDR: rule.Prefix.String()}
		for _, add := range rule.Communities {
			out.AddStatements = append(out.AddStatements, addCommunity(add)+";")
		}
		c.Communities = append(c.Communities, out)
	}
	r.poolLines(c, v)
	policies := map[string]bgp.Policy{}
	for _, p := range append(append([]bgp.Policy{}, v.ImportPolicies...), v.ExportPolicies...) {
		policies[p.Name] = p
	}
	imports, exports := map[string]string{}, map[string]string{}
	for i := range v.Peers {
		p := &v.Peers[i]
		if _, ok := imports[p.Import]; !ok {
			imports[p.Import] = importFilter(policies[p.Import], v)
		}
		if _, ok := exports[p.Export]; !ok {
			exports[p.Export] = exportFilter(policies[p.Export], v)
		}
		r.secret = r.secret || p.Password.IsSet() && r.template.Calls[".Password"]
		out := r.peer(p)
		out.ImportFilter, out.ExportFilter = imports[p.Import], exports[p.Export]
		c.Peers = append(c.Peers, out)
	}
	return c
}

func (r *run) peer(p *bgp.Peer) *Peer {
	out := &Peer{
		Name: p.Name, IP: p.Address.String(), Port: keys.Number(p.Port), ASNumber: fmt.Sprint(p.ASNumber), LocalASNumber: keys.Number(p.LocalASNumber),
		Type: strings.ToLower(string(p.Type)), Password: p.Password.Reveal(), TTLSecurity: "off", SourceAddr: keys.Address(p.SourceAddress),
		NextHopSelf: p.NextHopSelf, NextHopKeep: p.NextHopKeep, Passive: p.Passive, GracefulRestart: keys.Seconds(p.GracefulRestartTime),
		KeepaliveTime: keys.Seconds(p.KeepaliveTime), NumAllowLocalAs: keys.Number(p.AllowLocalAS),
		GracefulRestartOff: p.GracefulRestartOff, Why: p.Why,
	}
	if p.RouteReflectorClient {
		out.RouteReflector, out.RRClusterID = true, keys.Address(p.ClusterID)
	}
	old := r.template.Generation != From333
	switch {
	case p.Type == bgp.Mesh && old:
		out.TTLSecurity = ""
	case p.TTLSecurity > 0 && old:
		out.TTLSecurity = fmt.Sprintf("on;\n    multihop %d", p.TTLSecurity)
	case p.TTLSecurity > 0:
		out.TTLSecurity = keys.Number(p.TTLSecurity)
	}
	return out
}

// debugModes are what the level means in each place.
func debugModes(level calico.LogLevel, g Generation) (mode, peers string) {
	const states = "{ states }"
	switch level {
	case calico.LogNone:
		return "", ""
	case calico.LogDebug:
		mode, peers = "all", "all"
	default:
		mode, peers = states, "{ states, routes, filters, events }"
	}
	if g != From333 {
		peers = mode
	}
	return mode, "debug " + peers + ";"
}

// interfaces is the pattern list of the direct protocol.
func interfaces(ignored []string) string {
	var out strings.Builder
	for _, i := range append(append([]string{}, ignored...), "cali*", "kube-ipvs*") {
		out.WriteString(`-"` + i + `", `)
	}
	return out.String() + `"*"`
}

func texts(list []calico.ServiceRange) []string {
	var out []string
	for _, r := range list {
		out = append(out, r.Prefix.String())
	}
	return out
}
