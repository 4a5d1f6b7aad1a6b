package calico

import "testing"

// Values that BIRD takes and that are hardly meant give warnings, and are used.
func TestDoubtfulValues(t *testing.T) {
	const config = "apiVersion: projectcalico.org/v3\nkind: BGPConfiguration\nmetadata: {name: default}\nspec: "
	const peer = "apiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata: {name: p}\nspec: "
	for _, tt := range []struct{ name, text, problem string }{
		{"every address as a service range", config + "{serviceExternalIPs: [{cidr: 0.0.0.0/0}]}",
			"in.yaml:4:29: warning: BGPConfiguration/default spec.serviceExternalIPs[0]: 0.0.0.0/0 is every address: all routes are announced, and none gets into the kernel [prefix]\n    hint: is the length missing?"},
		{"a peer that is its own gateway", peer + "{peerIP: 192.0.2.1, asNumber: 64501, reachableBy: 192.0.2.1}",
			"in.yaml:4:57: warning: BGPPeer/p spec.reachableBy: the peer is reached through itself; BIRD has no way to it [conflict]\n    hint: name the router on the way"},
		{"a loopback peer", peer + "{peerIP: 127.0.0.1, asNumber: 64501}",
			`in.yaml:4:16: warning: BGPPeer/p spec.peerIP: "127.0.0.1" is a loopback address; it is used all the same [address]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			objects, problems := Decode("in.yaml", []byte(tt.text))
			if len(objects) != 1 {
				t.Error("the object is left out")
			}
			if len(problems) != 1 || problems[0].String() != tt.problem {
				t.Errorf("problems are\n%v\nwant\n%s", problems, tt.problem)
			}
		})
	}
}

// What comes from outside can neither break a line nor steer a terminal.
func TestProblemIsPrintable(t *testing.T) {
	p := Problem{Severity: Error, Rule: RuleNodeUnknown, Resource: "Node/a\nb", Field: "spec\x1b", Message: "m\x1b[31m", Hint: "h\r",
		Position: Position{File: "we\nird.yaml", Line: 1}}
	const want = "we?ird.yaml:1: error: Node/a?b spec?: m?[31m [node-unknown]\n    hint: h?"
	if got := p.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
