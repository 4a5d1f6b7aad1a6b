package cases

import (
	"slices"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// TestEveryBlockOfTheLog holds all inputs, for all nodes, to what is expected of every
// case, those of later parts of the log too.
func TestEveryBlockOfTheLog(t *testing.T) {
	for id := range readLog(t) {
		if id == "A5" { // not resources, but texts of a BIRD that recovers
			continue
		}
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			in := input(t, id)
			for node, r := range renderAll(t, in) {
				for _, f := range []string{"bird.cfg", "bird6.cfg"} {
					data := r.Files[f]
					for _, bad := range []string{"router id ;", "<nil>", "invalid IP", "<no value>"} {
						if strings.Contains(data, bad) {
							t.Errorf("%s of %s holds %q", f, node, bad)
						}
					}
				}
			}
		})
	}
}

const brokenSecret = `apiVersion: v1
kind: Secret
metadata: {name: bgp-keys, namespace: %NAMESPACE%}
stringData: {tor: %VALUE%}
`

// F5 belongs to the reload, but what it renders to is decided here.
func TestF5SecretThatCannotBeUsedHoldsThePeerBack(t *testing.T) {
	base := input(t, "F5")
	secret := func(namespace, value string) string {
		return strings.NewReplacer("%NAMESPACE%", namespace, "%VALUE%", value).Replace(brokenSecret)
	}
	long := strings.Repeat("x", 81)
	for name, c := range map[string]struct{ documents, says string }{
		"no Secret":         {"", "there is no such Secret"},
		"another namespace": {secret("default", "hunter2hunter2"), "there is no such Secret"},
		"no such key":       {strings.Replace(secret("kube-system", "hunter2hunter2"), "tor:", "tar:", 1), "the Secret has no such key"},
		"empty":             {secret("kube-system", `""`), "is empty"},
		"quote":             {secret("kube-system", `'hunter2"; } protocol static { route 0.0.0.0/0 blackhole; }'`), "double quote"},
		"line break":        {secret("kube-system", `"hunter2\nprotocol"`), "line break"},
		"81 bytes":          {secret("kube-system", long), "81 bytes long, and at most 80"},
	} {
		t.Run(name, func(t *testing.T) {
			in := base
			if c.documents != "" {
				in = with(in, c.documents)
			}
			r := render(t, in, "alpha")
			wantProblems(t, in, r, want{calico.Error, calico.RulePassword, "BGPPeer/tor", "spec.password.secretKeyRef", "",
				[]string{c.says, "kube-system/bgp-keys", `"tor"`, "the peer is held back"}})
			wantSessions(t, bird(r), "Mesh_192_0_2_12", "Mesh_192_0_2_13")
			if files := anywhere(r, "hunter2"); len(files) > 0 {
				t.Errorf("%q hold a part of the password", files)
			}
		})
	}
	in := with(base, secret("kube-system", "hunter2hunter2"))
	r := render(t, in, "alpha")
	wantProblems(t, in, r)
	wantStatements(t, bird(r).Session(t, "Node_192_0_2_1"), `password "hunter2hunter2";`)
	if files := anywhere(r, "hunter2"); !slices.Equal(files, []string{"bird.cfg"}) {
		t.Errorf("%q hold the password", files)
	}
}
