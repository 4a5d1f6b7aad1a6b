package bgp_test

import (
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

const keyRef = "{secretKeyRef: {name: s, key: k}}"

func TestPasswords(t *testing.T) {
	const session = "Global_192_0_2_254 as 64501 external source 192.0.2.1"
	tor := peer("p", "peerIP: 192.0.2.254, asNumber: 64501, password: "+keyRef)
	const held = "error password BGPPeer/p spec.password.secretKeyRef: "
	longest := strings.Repeat("p", 80)
	umlauts := strings.Repeat("ä", 40) // 80 bytes
	const trimmed = "warning password BGPPeer/p spec.password.secretKeyRef: ends in a line break, which is left out"
	for _, c := range []struct {
		name, secret string
		password     string // "" when the peer is held back
		problems     []string
	}{
		{"plain", secret("s", "k", "hunter2"), "hunter2", nil},
		{"blanks, a hash sign and a semicolon", secret("s", "k", "a #b; c {"), "a #b; c {", nil},
		{"80 bytes", secret("s", "k", longest), longest, nil},
		{"80 bytes in 40 letters", secret("s", "k", umlauts), umlauts, nil},
		{"81 bytes", secret("s", "k", longest+"p"), "", []string{held + "is 81 bytes long, and at most 80 are possible; the peer is held back"}},
		{"82 bytes in 41 letters", secret("s", "k", umlauts+"ä"), "", []string{held + "is 82 bytes long"}},
		{"80 bytes and a line break", secret("s", "k", longest+"\n"), longest, []string{trimmed}},
		{"line break at the end", secret("s", "k", "hunter2\n"), "hunter2", []string{trimmed}},
		{"CRLF at the end", secret("s", "k", "hunter2\r\n"), "hunter2", []string{trimmed}},
		{"two line breaks at the end", secret("s", "k", "hunter2\n\n"), "", []string{held + "contains a line break"}},
		{"only a line break", secret("s", "k", "\n"), "", []string{held + "is empty"}},
		{"line break inside", secret("s", "k", "hunt\ner2"), "", []string{held + "contains a line break or a NUL"}},
		{"carriage return at the end", secret("s", "k", "hunter2\r"), "", []string{held + "contains a line break or a NUL"}},
		{"double quote", secret("s", "k", `hunt"er2`), "", []string{held + "contains a double quote"}},
		{"empty", secret("s", "k", ""), "", []string{held + "is empty"}},
		{"no such Secret", "", "", []string{held + "there is no such Secret"}},
		{"no such key", secret("s", "other", "hunter2"), "", []string{held + "the Secret has no such key"}},
		{"Secret of another namespace", strings.Replace(secret("s", "k", "hunter2"), "kube-system", "default", 1), "", []string{held + "there is no such Secret"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compute(t, "a", meshless+tor+c.secret)
			wantProblems(t, r, c.problems...)
			if c.password == "" {
				wantPeers(t, r.IPv4)
			} else {
				wantPeers(t, r.IPv4, session+" password "+c.password)
			}
			for _, p := range r.problems {
				for _, part := range []string{"hunt", "er2", "ppp", "ää"} {
					if strings.Contains(p.String(), part) {
						t.Errorf("a problem holds a part of the password: %s", p)
					}
				}
			}
		})
	}
}

func TestSecretNamespace(t *testing.T) {
	text := meshless + peer("p", "peerIP: 192.0.2.254, asNumber: 64501, password: "+keyRef) +
		strings.Replace(secret("s", "k", "hunter2"), "kube-system", "calico-system", 1)
	r := computeWith(t, "a", bgp.Options{SecretNamespace: "calico-system"}, text)
	wantProblems(t, r)
	wantPeers(t, r.IPv4, "Global_192_0_2_254 as 64501 external source 192.0.2.1 password hunter2")
	wantProblems(t, compute(t, "a", text), "error password BGPPeer/p spec.password.secretKeyRef: Secret kube-system/s")
}

func TestMeshPassword(t *testing.T) {
	text := ab + config("nodeMeshPassword: "+keyRef)
	r := compute(t, "a", text+secret("s", "k", "hunter2"))
	wantProblems(t, r)
	wantPeers(t, r.IPv4, "Mesh_192_0_2_2 as 64512 source 192.0.2.1 password hunter2 passive is b")
	wantPeers(t, r.IPv6, "Mesh_2001_db8__2 as 64512 source 2001:db8::1 password hunter2 passive is b")

	// Without it there is no mesh at all; that is said once, and other peers stay.
	r = compute(t, "a", text+peer("p", "peerIP: 192.0.2.254, asNumber: 64501"))
	wantProblems(t, r, "error password BGPConfiguration/default spec.nodeMeshPassword.secretKeyRef: all mesh sessions are held back")
	wantPeers(t, r.IPv4, "Global_192_0_2_254 as 64501 external source 192.0.2.1")
	wantPeers(t, r.IPv6)

	r = compute(t, "a", ab+config("nodeToNodeMeshEnabled: true")+peer("p", "peerSelector: all(), password: "+keyRef))
	wantPeers(t, r.IPv4)
	wantPeers(t, r.IPv6)
	wantProblems(t, r, "error password BGPPeer/p spec.password.secretKeyRef: the peer is held back")
}

// A reference that is not complete asks for a password all the same.
func TestIncompletePasswordReference(t *testing.T) {
	objects, found := calico.Decode("input.yaml", []byte(ab+config("nodeMeshPassword: {secretKeyRef: {name: s}}")+secret("s", "k", "hunter2")))
	if len(found) != 1 || found[0].Rule != calico.RuleMissingField {
		t.Errorf("reading reports %v", found)
	}
	cluster, _ := calico.NewCluster(objects, nil)
	v, problems := bgp.Compute(cluster, "a", bgp.Options{})
	wantPeers(t, v.IPv4)
	wantProblems(t, result{v, problems}, "error password BGPConfiguration/default spec.nodeMeshPassword.secretKeyRef: the reference to a password is incomplete; all mesh sessions are held back")
}
