package calico

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
)

// DecodeEndpointStatus reads one of the files in which Calico's agent says which
// workload on this node is a BGP peer. It returns nil for a workload that is none, and
// with a Problem for one that was to be a peer and cannot.
func DecodeEndpointStatus(file string, data []byte) (*WorkloadEndpoint, []Problem) {
	var status struct {
		IfaceName   string   `json:"ifaceName"`
		IPv4Nets    []string `json:"ipv4Nets"`
		IPv6Nets    []string `json:"ipv6Nets"`
		BGPPeerName string   `json:"bgpPeerName"`
	}
	fail := func(s Severity, field, message string) (*WorkloadEndpoint, []Problem) {
		return nil, []Problem{{Severity: s, Rule: RuleEndpointStatus, Field: field, Position: Position{File: file},
			Message: message + "; the workload is not a peer"}}
	}
	if json.Unmarshal(data, &status) != nil {
		return fail(Error, "", "the file does not hold an endpoint's status in JSON")
	}
	if status.BGPPeerName == "" {
		return nil, nil
	}
	if f := checkName(status.BGPPeerName); f != nil {
		return fail(Error, "bgpPeerName", quote(status.BGPPeerName)+" "+f.what)
	}
	if f := checkInterface(status.IfaceName); f != nil && status.IfaceName != "" || strings.Contains(status.IfaceName, "*") {
		return fail(Error, "ifaceName", quote(status.IfaceName)+" is not the name of an interface")
	}
	w := &WorkloadEndpoint{Position: Position{File: file}, Interface: status.IfaceName, BGPPeerName: status.BGPPeerName}
	for _, nets := range []struct {
		field  string
		list   []string
		family family
		addr   *netip.Addr
	}{{"ipv4Nets[0]", status.IPv4Nets, 4, &w.IPv4}, {"ipv6Nets[0]", status.IPv6Nets, 6, &w.IPv6}} {
		if len(nets.list) == 0 {
			continue
		}
		p, f := parsePrefix(nets.list[0], nets.family, true)
		if f == nil {
			f = checkPeerAddr(p.Addr())
		}
		if f != nil {
			return fail(Error, nets.field, fmt.Sprintf("%s %s", quote(nets.list[0]), f.what))
		}
		*nets.addr = p.Addr()
	}
	if !w.IPv4.IsValid() && !w.IPv6.IsValid() {
		return fail(Warning, "", "the workload has no address")
	}
	return w, nil
}
