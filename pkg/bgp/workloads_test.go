package bgp_test

import (
	"testing"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// workload reads an endpoint-status file as Calico's agent writes it.
func workload(t *testing.T, file, content string) calico.WorkloadEndpoint {
	t.Helper()
	w, problems := calico.DecodeEndpointStatus(file, []byte(content))
	if w == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	return *w
}

func TestLocalWorkloads(t *testing.T) {
	both := workload(t, "vm7", `{"ifaceName": "cali7", "ipv4Nets": ["198.51.100.7/32"], "ipv6Nets": ["2001:db8:100::7/128"], "bgpPeerName": "vm-peers"}`)
	four := workload(t, "vm8", `{"ifaceName": "cali8", "ipv4Nets": ["198.51.100.8/32"], "bgpPeerName": "vm-peers"}`)
	const vm = "localWorkloadSelector: has(vm), asNumber: 65200, localASNumber: 65100"
	const first = "Local_Workload_198_51_100_7 as 65200 local 65100 external passive"
	for _, c := range []struct {
		name, text string
		workloads  []calico.WorkloadEndpoint
		v4, v6     []string
		problems   []string
	}{
		{name: "external, passive, without source address, in both families", text: peer("vm-peers", vm),
			workloads: []calico.WorkloadEndpoint{four, both},
			v4:        []string{first, "Local_Workload_198_51_100_8 as 65200 local 65100 external passive"},
			v6:        []string{"Local_Workload_2001_db8_100__7 as 65200 local 65100 external passive"}},
		{name: "internal when the AS numbers are equal", text: peer("vm-peers", "node: a, localWorkloadSelector: has(vm), asNumber: 64512"),
			workloads: []calico.WorkloadEndpoint{four}, v4: []string{"Local_Workload_198_51_100_8 as 64512 passive"}},
		{name: "filters count", text: peer("vm-peers", vm+", filters: [f]") + filter("f", "importV4: [{action: Reject}]"),
			workloads: []calico.WorkloadEndpoint{four}, v4: []string{"Local_Workload_198_51_100_8 as 65200 local 65100 external passive"}},
		{name: "resource of another node", text: peer("vm-peers", "node: b, "+vm), workloads: []calico.WorkloadEndpoint{four}},
		{name: "no workload", text: peer("vm-peers", vm),
			problems: []string{"info unknown-workload BGPPeer/vm-peers spec.localWorkloadSelector: there are no endpoint-status files in the input"}},
		{name: "workload of an unknown resource", text: peer("vm-peers", vm),
			workloads: []calico.WorkloadEndpoint{both, workload(t, "vm9", `{"ipv4Nets": ["198.51.100.9/32"], "bgpPeerName": "vm-pers"}`)},
			v4:        []string{first}, v6: []string{"Local_Workload_2001_db8_100__7 as 65200 local 65100 external passive"},
			problems: []string{"warning unknown-workload BGPPeer/vm-pers: none with a localWorkloadSelector; it gets no session"}},
		{name: "workload of a resource that selects no workloads", text: peer("vm-peers", "peerIP: 192.0.2.254, asNumber: 64501"),
			workloads: []calico.WorkloadEndpoint{four}, v4: []string{"Global_192_0_2_254 as 64501 external source 192.0.2.1"},
			problems: []string{"warning unknown-workload BGPPeer/vm-peers: it gets no session"}},
		{name: "fields without effect are reported, once for all workloads",
			text:      peer("vm-peers", vm+", maxRestartTime: 60s, keepaliveTime: 9s, ttlSecurity: 1, nextHopMode: Self, numAllowedLocalASNumbers: 1"),
			workloads: []calico.WorkloadEndpoint{four, both},
			v4:        []string{first, "Local_Workload_198_51_100_8 as 65200 local 65100 external passive"},
			v6:        []string{"Local_Workload_2001_db8_100__7 as 65200 local 65100 external passive"},
			problems: []string{"warning ignored-field BGPPeer/vm-peers spec.maxRestartTime", "warning ignored-field BGPPeer/vm-peers spec.keepaliveTime",
				"warning ignored-field BGPPeer/vm-peers spec.ttlSecurity", "warning ignored-field BGPPeer/vm-peers spec.nextHopMode",
				"warning ignored-field BGPPeer/vm-peers spec.numAllowedLocalASNumbers"}},
		// Calico leaves the password out, and so has an open session where one was asked
		// to be closed.
		{name: "a password counts", text: peer("vm-peers", vm+", password: "+keyRef) + secret("s", "k", "hunter2"),
			workloads: []calico.WorkloadEndpoint{four}, v4: []string{"Local_Workload_198_51_100_8 as 65200 local 65100 external password hunter2 passive"}},
		{name: "a missing password holds back", text: peer("vm-peers", vm+", password: "+keyRef), workloads: []calico.WorkloadEndpoint{four},
			problems: []string{"error password BGPPeer/vm-peers spec.password.secretKeyRef: the peer is held back"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, "a", meshless+c.text, c.workloads...)
			wantProblems(t, r, c.problems...)
			wantPeers(t, r.IPv4, c.v4...)
			wantPeers(t, r.IPv6, c.v6...)
			for _, p := range append(r.IPv4.Peers, r.IPv6.Peers...) {
				if p.NodeName != "" {
					t.Errorf("%s is taken for the node %s", p.Name, p.NodeName)
				}
			}
		})
	}
}
