package confd

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// between stands between the statements of a filter of a session.
const between = "\n    "

func importFilter(p bgp.Policy, v *bgp.View) string {
	lines := append(calls(p),
		fmt.Sprintf("if (defined(bgp_local_pref)&&(bgp_local_pref > %d)) then", v.NormalLocalPref()),
		"  preference = 200;", "accept;")
	return strings.Join(lines, between)
}

func exportFilter(p bgp.Policy, v *bgp.View) string {
	lines := append([]string{
		"if (defined(source) && source = RTS_BGP && defined(bgp_local_pref)) then {",
		fmt.Sprintf("  krt_metric = %d - bgp_local_pref;", bgp.MaxMetric),
		"} else {",
		fmt.Sprintf("  if (!defined(krt_metric)) then { krt_metric = %d; }", v.RoutePriority),
		fmt.Sprintf("  bgp_local_pref = %d - krt_metric;", bgp.MaxMetric),
		"}",
	}, calls(p)...)
	return strings.Join(append(lines, fmt.Sprintf("calico_export_to_bgp_peers(%t);", p.Internal), "reject;"), between)
}

// waitStatement begins the statement for gracefulRestartWait.
const waitStatement = "graceful restart wait"

// HasWait tells that a file has the statement for gracefulRestartWait, and WaitHint how a
// template gets it.
func HasWait(data []byte) bool { return bytes.Contains(data, []byte(waitStatement)) }

// WaitHint is for templates that have not got it.
const WaitHint = "write " + waitStatement + " N; beside router id, with N from the key graceful_restart_wait: see docs/migrating-from-confd.md"

// calls are the calls of a policy's BGPFilters.
func calls(p bgp.Policy) []string {
	var out []string
	for _, c := range p.Calls {
		argument := ""
		if c.HasPeerType {
			argument = fmt.Sprint(p.Internal)
		}
		out = append(out, fmt.Sprintf("'%s'(%s);", c.Function, argument))
	}
	return out
}

// line is a statement of a filter about a prefix, and where it comes from.
func line(prefix any, body, why string) string {
	return fmt.Sprintf("  if (net ~ %v) then { %s } # %s", prefix, body, oneLine(why))
}

// oneLine keeps a remark from ending its line.
func oneLine(s string) string { return strings.Map(printable, s) }

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}

// poolLines fills in what pools, route priorities and WireGuard decide.
func (r *run) poolLines(c *Config, v *bgp.View) {
	for _, p := range v.PoolRejects {
		condition := p.Prefix.String()
		for _, e := range p.Except {
			condition += fmt.Sprintf(" && !(net ~ %s)", e)
		}
		c.BGPExportFilterForDisabledIPPools = append(c.BGPExportFilterForDisabledIPPools, line(condition, "reject;", p.Why))
	}
	for _, p := range v.PoolAccepts {
		c.BGPExportFilterForEnabledIPPools = append(c.BGPExportFilterForEnabledIPPools, line(p.Prefix, "accept;", p.Why))
	}
	var patterns []string
	for _, p := range v.TunnelInterfaces {
		if strings.HasPrefix(p, "tunl") && r.template.Generation != From333 {
			continue // BIRD programs these routes itself
		}
		patterns = append(patterns, fmt.Sprintf("(ifname ~ %q)", p))
	}
	c.IBGPExportFilterForTunnelRoutes = []string{
		"  if (internal_peer) then {",
		"    if (defined(ifname)) then {",
		fmt.Sprintf("      if (%s) then { reject; }", strings.Join(patterns, " || ")),
		"    }",
		"  }",
	}
	c.SetMetricForBGPRoutes = []string{
		"  if (defined(source) && (source = RTS_BGP) && !defined(krt_metric)) then {",
		fmt.Sprintf("    krt_metric = %d;", v.RoutePriority),
		fmt.Sprintf("    if (defined(bgp_local_pref)) then { krt_metric = %d - bgp_local_pref; }", bgp.MaxMetric),
		fmt.Sprintf("    if (krt_metric < %d) then { preference = 200; }", v.RoutePriority),
		"  }",
	}
	for _, n := range v.WireguardNextHops {
		c.WireguardPeerKernelFilter = append(c.WireguardPeerKernelFilter,
			fmt.Sprintf("  if (defined(bgp_next_hop) && (bgp_next_hop = %s)) then { reject; } # %s", n.Address, oneLine(n.Why)))
	}
	for _, k := range r.kernelRules(v) {
		c.KernelFilterForIPPools = append(c.KernelFilterForIPPools, line(k.Prefix, kernelAction(k), k.Why))
	}
}

// kernelRules are the rules of the template's generation: in 3.32 BIRD programmed the routes
// of all pools unless told otherwise.
func (r *run) kernelRules(v *bgp.View) []bgp.KernelRule {
	if r.template.Generation == From333 {
		return v.Kernel
	}
	program := cmp.Or(r.data.Cluster.Default().ProgramClusterRoutes, calico.ProgramEnabled)
	return bgp.KernelRules(r.data.Cluster, v.Node.Name, v.Family, program)
}

func kernelAction(k bgp.KernelRule) string {
	switch k.Action {
	case bgp.KernelReject:
		return "reject;"
	case bgp.KernelTunnel:
		return fmt.Sprintf("krt_tunnel=%q; accept;", k.Tunnel)
	case bgp.KernelCrossSubnet:
		return fmt.Sprintf(`if (defined(bgp_next_hop)&&(bgp_next_hop ~ %s)) then krt_tunnel=""; else krt_tunnel=%q; accept;`, k.Subnet, k.Tunnel)
	}
	return "accept;"
}

// community is a community as a value.
func community(c calico.Community) (value, attribute string) {
	if c.Large {
		return fmt.Sprintf("(%d, %d, %d)", c.Parts[0], c.Parts[1], c.Parts[2]), "bgp_large_community"
	}
	return fmt.Sprintf("(%d, %d)", c.Parts[0], c.Parts[1]), "bgp_community"
}

func addCommunity(c calico.Community) string {
	value, attribute := community(c)
	return fmt.Sprintf("%s.add(%s)", attribute, value)
}
