package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/test/fromtext"
)

func TestA1RestartWaitIsGlobalAndRestartTimeIsTheMeshs(t *testing.T) {
	in := input(t, "A1")
	for node, r := range renderAll(t, in) {
		wantProblems(t, in, r)
		for name, f := range map[string]fromtext.File{"bird.cfg": bird(r), "bird6.cfg": bird6(r)} {
			if got := f.Begin("graceful restart"); len(got) != 1 || got[0] != "graceful restart wait 45;" {
				t.Errorf("%s of %s has %q outside of protocols", name, node, got)
			}
			text := r.Files[name]
			if strings.Count(text, "wait 45") != 1 || strings.Index(text, "graceful restart wait") > strings.Index(text, "\nprotocol") {
				t.Errorf("%s of %s does not say once, before the first protocol, how long to wait", name, node)
			}
		}
		sessions := bird(r).Sessions()
		if len(sessions) != 2 {
			t.Errorf("%s has the sessions %q", node, sessions)
		}
		for _, name := range sessions {
			s := bird(r).Session(t, name)
			wantStatements(t, s, "graceful restart time 60;")
			wantNone(t, s, "graceful restart wait")
		}
	}

	for value, line := range map[string]string{"0s": "graceful restart wait 0;", "1m30s": "graceful restart wait 90;"} {
		r := render(t, replace(t, in, "gracefulRestartWait: 45s", "gracefulRestartWait: "+value), "alpha")
		if got := bird(r).Begin("graceful restart"); len(got) != 1 || got[0] != line {
			t.Errorf("%s gives %q", value, got)
		}
	}

	r := render(t, replace(t, in, ", gracefulRestartWait: 45s", ""), "alpha")
	if files := anywhere(r, "restart wait"); len(files) > 0 {
		t.Errorf("without the field %q say how long to wait", files)
	}
}

func TestA2BadRestartWaitIsRefusedNotRounded(t *testing.T) {
	in := input(t, "A2")
	without := render(t, replace(t, in, ", gracefulRestartWait: 1500ms", ""), "alpha")
	for _, c := range []struct {
		value, rule string
	}{
		{"-5s", calico.RuleDuration},
		{"1500ms", calico.RuleDuration},
		{"400ms", calico.RuleDuration}, // Calico rounds this to 0, which means something else
		{`"90"`, calico.RuleDuration},
		{"90", calico.RuleDuration},
		{"60 s", calico.RuleDuration},
		{"1e3s", calico.RuleDuration},
		{`""`, calico.RuleDuration},
		// BIRD 1.6 takes it, and its timer overflows and never ends.
		{"2147483648s", calico.RuleRange},
		{"4294967296s", calico.RuleRange},
		{"18h1s", calico.RuleRange},
	} {
		t.Run(c.value, func(t *testing.T) {
			in := replace(t, in, "gracefulRestartWait: 1500ms", "gracefulRestartWait: "+c.value)
			r := render(t, in, "alpha")
			wantProblems(t, in, r, want{calico.Error, c.rule, "BGPConfiguration/default", "spec.gracefulRestartWait",
				c.value + "}", []string{"0s to 18h", "45s"}})
			sameFiles(t, "with a bad wait and without any", r, without)
		})
	}
}

func TestA3GlobalPeerThatIsANodeHasOnePassiveSide(t *testing.T) {
	in := input(t, "A3")
	all := renderAll(t, in)
	for _, r := range all {
		wantProblems(t, in, r)
	}
	wantSessions(t, bird(all["alpha"]), "Global_192_0_2_12")
	wantSessions(t, bird(all["charlie"]), "Global_192_0_2_12")
	wantSessions(t, bird(all["bravo"]), "Node_192_0_2_11", "Node_192_0_2_13")
	for _, r := range all {
		for _, name := range bird(r).Sessions() {
			wantStatements(t, bird(r).Session(t, name), "graceful restart time 90;")
		}
	}
	passive := map[string]bool{}
	for node, r := range all {
		for _, name := range bird(r).Sessions() {
			passive[node+" "+name] = bird(r).Session(t, name).Has("passive on;")
		}
	}
	for session, want := range map[string]bool{
		"alpha Global_192_0_2_12":   true, // .12 sorts after .11, and bravo does connect
		"bravo Node_192_0_2_11":     false,
		"bravo Node_192_0_2_13":     false,
		"charlie Global_192_0_2_12": false,
	} {
		if passive[session] != want {
			t.Errorf("%s: passive is %t", session, passive[session])
		}
	}
}

func TestA3WithoutTheWayBackNobodyIsPassive(t *testing.T) {
	in := replace(t, input(t, "A3"), "maxRestartTime: 90s", "maxRestartTime: 90s, reversePeering: Manual")
	all := renderAll(t, in)
	wantSessions(t, bird(all["bravo"]))
	wantNone(t, bird(all["alpha"]).Session(t, "Global_192_0_2_12"), "passive")
}

func TestA3MeshPasswordIsTheMeshs(t *testing.T) {
	in := with(replace(t, input(t, "A3"), "nodeToNodeMeshEnabled: false",
		"nodeToNodeMeshEnabled: true, nodeMeshMaxRestartTime: 30s, nodeMeshPassword: {secretKeyRef: {name: bgp, key: mesh}}"),
		`apiVersion: v1
kind: Secret
metadata: {name: bgp, namespace: kube-system}
stringData: {mesh: "s3cret-of-the-mesh"}
`)
	r := render(t, in, "alpha")
	wantSessions(t, bird(r), "Global_192_0_2_12", "Mesh_192_0_2_13")
	wantStatements(t, bird(r).Session(t, "Mesh_192_0_2_13"), `password "s3cret-of-the-mesh";`, "graceful restart time 30;")
	hub := bird(r).Session(t, "Global_192_0_2_12")
	wantStatements(t, hub, "graceful restart time 90;")
	wantNone(t, hub, "password")
}

func TestA4RestartTimeFitsTheProtocolsField(t *testing.T) {
	in := input(t, "A4")
	without := render(t, replace(t, in, ", maxRestartTime: 7200s", ""), "alpha")
	for value, rule := range map[string]string{
		"7200s": calico.RuleRange, "4096s": calico.RuleRange, "400ms": calico.RuleDuration, "-1s": calico.RuleRange,
	} {
		in := replace(t, in, "7200s", value)
		r := render(t, in, "alpha")
		wantProblems(t, in, r, want{calico.Error, rule, "BGPPeer/tor", "spec.maxRestartTime", value + "}", []string{"0s to 4095s"}})
		sameFiles(t, "with the restart time "+value+" and without any", r, without)
	}
	for value, seconds := range map[string]int{"4095s": 4095, "0s": 0, "1m": 60} {
		in := replace(t, in, "7200s", value)
		r := render(t, in, "alpha")
		wantProblems(t, in, r)
		wantStatements(t, bird(r).Session(t, "Global_192_0_2_1"), fmt.Sprintf("graceful restart time %d;", seconds))
	}
}
