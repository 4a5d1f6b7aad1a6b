package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/test/shared"
)

// headers lists the files on standard output.
func headers(stdout string) []string {
	var out []string
	for line := range strings.Lines(stdout) {
		if name, ok := strings.CutPrefix(line, "# ---------- "); ok {
			out = append(out, strings.TrimSuffix(name, " ----------\n"))
		}
	}
	return out
}

func TestInputs(t *testing.T) {
	dir := t.TempDir()
	documents := strings.Split(readFile(t, edge), "---\n")
	writeFile(t, filepath.Join(dir, "all", "rest.yaml"), strings.Join(documents[1:], "---\n"))
	writeFile(t, filepath.Join(dir, "all", "config.yml"), documents[0])
	writeFile(t, filepath.Join(dir, "all", "notes.txt"), "not: read")
	want := birdconfd(t, "render", "--node=edge-1", "--check=off", edge)
	want.want(t, 0)
	if diff := cmp.Diff([]string{"bird.cfg", "bird_aggr.cfg", "bird_ipam.cfg", "bird6.cfg", "bird6_aggr.cfg", "bird6_ipam.cfg"}, headers(want.stdout)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		rule  string
		paths []string
		stdin string
	}{
		{"a directory", []string{filepath.Join(dir, "all")}, ""},
		{"two files", []string{filepath.Join(dir, "all", "rest.yaml"), filepath.Join(dir, "all", "config.yml")}, ""},
		{"standard input", []string{"-"}, readFile(t, edge)},
		{"a file and standard input", []string{filepath.Join(dir, "all", "rest.yaml"), "-"}, documents[0]},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got := call{args: append([]string{"render", "--node=edge-1", "--check=off"}, tt.paths...), stdin: tt.stdin}.run(t)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFamily(t *testing.T) {
	for family, want := range map[string]string{"ipv4": "bird.cfg bird_aggr.cfg bird_ipam.cfg", "ipv6": "bird6.cfg bird6_aggr.cfg bird6_ipam.cfg"} {
		r := birdconfd(t, "render", "--node=edge-1", "--check=off", "--family="+family, edge)
		r.want(t, 0)
		if got := strings.Join(headers(r.stdout), " "); got != want {
			t.Errorf("%s: %s", family, got)
		}
	}
}

// The set for BIRD 2 has one daemon for both families. For one of them the other's files
// are there too, since the main file includes them.
func TestSetForBird2(t *testing.T) {
	// It may be a script that looks for the program beside itself, so a link is not enough.
	birds := t.TempDir()
	if err := os.WriteFile(filepath.Join(birds, "bird"), []byte("#!/bin/sh\nexec '"+birdtest.Bird2(t)+"' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	files := []string{"bird.cfg", "bird_ipv4.cfg", "bird_ipv4_aggr.cfg", "bird_ipv4_ipam.cfg", "bird_ipv6.cfg", "bird_ipv6_aggr.cfg", "bird_ipv6_ipam.cfg"}
	for family, sessions := range map[string][2]bool{"all": {true, true}, "ipv4": {true, false}, "ipv6": {false, true}} {
		r := birdconfd(t, "render", "--node=edge-1", "--set=bird2", "--check=require", "--bird-dir="+birds, "--family="+family, edge)
		r.want(t, 0, "birdconfd: node edge-1, bird accepted by BIRD 2.")
		if diff := cmp.Diff(files, headers(r.stdout)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", family, diff)
		}
		got := [2]bool{strings.Contains(r.stdout, "protocol bgp Mesh_192_0_2_12 "), strings.Contains(r.stdout, "protocol bgp Mesh_2001_db8__12 ")}
		if got != sessions {
			t.Errorf("%s has sessions of IPv4 and IPv6: %v", family, got)
		}
	}
	// Files for BIRD 2 are nothing for BIRD 1.6.
	birdconfd(t, "render", "--node=edge-1", "--set=bird2", "--check=require", "--bird-dir="+birdDir(t), edge).want(t, 1,
		"is BIRD 1.6.8, but the files are written for BIRD 2 or 3, so the files of bird cannot be checked")
}

// What cannot be read may be most of the cluster: nothing is rendered then.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, filepath.Join(dir, "file"), "")
	absent := filepath.Join(dir, "absent")
	for _, tt := range []struct {
		rule string
		args []string
		want string
	}{
		{"a path that is not there", []string{absent}, absent + ": error: cannot be read: no such file or directory [unreadable]"},
		{"an empty directory", []string{empty}, empty + ": error: there is no *.yaml, *.yml or *.json file in the directory [unreadable]"},
		{"a good path and a bad one", []string{edge, absent}, absent + ": error: cannot be read: no such file or directory [unreadable]"},
		{"standard input twice", []string{"-", "-"}, "<stdin>: error: standard input can be read only once [unreadable]"},
		{"no endpoint status where the flag says", []string{edge, "--endpoint-status=" + absent}, absent + ": error: there is no such directory [unreadable]"},
		{"no templates where the flag says", []string{edge, "--templates=" + absent}, absent + ": error: the directory of templates cannot be read: no such file or directory [unreadable]"},
		{"a file in place of the templates", []string{edge, "--templates=" + file}, file + ": error: the directory of templates cannot be read: not a directory [unreadable]"},
		{"no template in the directory", []string{edge, "--templates=" + filepath.Dir(file)}, filepath.Dir(file) + ": error: there is no template in the directory [unreadable]"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			r := birdconfd(t, append([]string{"render", "--node=edge-1", "--check=off", "--output=" + out}, tt.args...)...)
			r.want(t, 2, tt.want+"\n", "birdconfd: node edge-1, 1 error\n")
			if exists(out) || r.stdout != "" {
				t.Error("something was written")
			}
		})
	}
}

func TestUnreadableForItsMode(t *testing.T) {
	secret := writeFile(t, filepath.Join(t.TempDir(), "secret.yaml"), readFile(t, edge))
	if err := os.Chmod(filepath.Dir(secret), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(secret, 0); err != nil {
		t.Fatal(err)
	}
	shared.AsNobody(t, func() {
		birdconfd(t, "render", "--node=edge-1", "--check=off", secret).want(t, 2, "cannot be read: permission denied [unreadable]")
	})
}

// The directory of Calico's agent need not be there yet.
func TestEndpointStatus(t *testing.T) {
	prefix := t.TempDir()
	peers := writeFile(t, filepath.Join(prefix, "peers.yaml"), `
apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: guests}
spec: {node: edge-1, localWorkloadSelector: all(), asNumber: 64511}
`)
	args := []string{"render", "--node=edge-1", "--check=off", edge, peers}
	env := map[string]string{"CALICO_ENDPOINT_STATUS_PATH_PREFIX": prefix}
	r := call{args: args, env: env}.run(t)
	r.want(t, 0)
	if strings.Contains(r.stdout, "198.51.100.9") {
		t.Error("a workload from nowhere")
	}
	dir := filepath.Join(prefix, "endpoint-status")
	writeFile(t, filepath.Join(dir, "k8s guest eth0"), `{"ipv4Nets": ["198.51.100.9/32"], "bgpPeerName": "guests"}`)
	for _, r := range []result{call{args: args, env: env}.run(t), birdconfd(t, append(args, "--endpoint-status="+dir)...)} {
		r.want(t, 0)
		if !strings.Contains(r.stdout, "protocol bgp Local_Workload_198_51_100_9 ") {
			t.Errorf("no session with the workload:\n%s%s", r.stdout, r.stderr)
		}
	}
}

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		rule, more string
		node       string
		code       int
		want       string
	}{
		{"nothing to say", "", "edge-1", 0, "birdconfd: node edge-1\n"},
		{"a remark", "kind: BGPPeer\nmetadata: {name: mesh}\nspec: {node: edge-1, peerIP: 192.0.2.12, asNumber: 64500}", "edge-1", 0, "birdconfd: node edge-1, 1 remark\n"},
		{"a warning", "kind: BGPConfiguration\nmetadata: {name: node.edge-7}\nspec: {listenPort: 1790}", "edge-1", 0, "birdconfd: node edge-1, 1 warning\n"},
		{"an error in one resource", "kind: BGPPeer\nmetadata: {name: bad}\nspec: {peerIP: 192.0.2.300, asNumber: 64500}", "edge-1", 1, "birdconfd: node edge-1, 1 error\n"},
		{"broken YAML", "kind: [", "edge-1", 1, "birdconfd: node edge-1, 1 error\n"},
		{"an unknown node", "", "edge-11", 1, "birdconfd: node edge-11, 1 error\n"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			more := ""
			if tt.more != "" {
				more = "---\napiVersion: projectcalico.org/v3\n" + tt.more
			}
			r := call{args: []string{"render", "--check=off", "--node=" + tt.node, edge, "-"}, stdin: more}.run(t)
			r.want(t, tt.code, tt.want)
			if hasFiles := len(headers(r.stdout)) == 6; hasFiles != (tt.node == "edge-1") {
				t.Errorf("standard output:\n%s", r.stdout)
			}
		})
	}
}

// A failing template leaves no half files, and its place is named.
func TestFailingTemplate(t *testing.T) {
	dir := t.TempDir()
	local := writeFile(t, filepath.Join(dir, "local.tmpl"), "{{define \"hook-90-end\"}}\n{{range .Peers}}{{.Nmae}}{{end}}{{end}}")
	out := filepath.Join(dir, "out")
	old := writeFile(t, filepath.Join(out, "bird.cfg"), "old")
	r := birdconfd(t, "render", "--node=edge-1", "--check=off", "--templates="+dir, "--output="+out, edge)
	r.want(t, 1, local+":2:19: error: executing \"hook-90-end\" at <.Nmae>: can't evaluate field Nmae in type bgp.Peer [template]\n    hint: did you mean \"Name\"?\n",
		"birdconfd: files of bird and bird6 were not written: there are none\n")
	if readFile(t, old) != "old" || len(listing(t, out)) != 1 {
		t.Errorf("the directory has %v", listing(t, out))
	}
}

// Of two daemons one may be fine: its files are a set of their own.
func TestFailingTemplateOfOneTarget(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "local.tmpl"), `{{define "hook-90-end"}}{{if eq .Family 6}}{{.Nope}}{{end}}{{end}}`)
	out := filepath.Join(dir, "out")
	r := birdconfd(t, "render", "--node=edge-1", "--check=off", "--templates="+dir, "--output="+out, edge)
	r.want(t, 1, "birdconfd: files of bird6 were not written: there are none\n", ", 3 files written, 1 error\n")
	if diff := cmp.Diff([]string{"bird.cfg", "bird_aggr.cfg", "bird_ipam.cfg"}, listing(t, out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestStandardOutputFails(t *testing.T) {
	var stderr strings.Builder
	code := run(t.Context(), []string{"render", "--sample", "--check=off"}, environment{
		stdout: fullWriter{}, stderr: &stderr, lookup: func(string) (string, bool) { return "", false }})
	if want := "birdconfd: write to standard output: no space left on device\n"; code != 1 || stderr.String() != want {
		t.Errorf("exit code %d, standard error %q, want %q", code, stderr.String(), want)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("terminated"))
	out := filepath.Join(t.TempDir(), "out")
	r := call{ctx: ctx, args: []string{"render", "--sample", "--check=off", "--output=" + out}}.run(t)
	r.want(t, 1, "birdconfd: interrupted before anything was written: terminated\n")
	if exists(out) {
		t.Error("something was written")
	}
	// While it reads, too: what is cut short is no input that cannot be read.
	call{ctx: ctx, args: []string{"render", "--node=edge-1", edge}}.run(t).want(t, 1, "birdconfd: interrupted before anything was written: terminated\n")
}

// flaw is a resource with an error that costs one field only.
const flaw = `
---
apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: flawed}
spec: {peerIP: 198.51.100.250, asNumber: 64501, maxRestartTime: 1500ms}
`

// Any error costs as little as it can, unless that is not wanted.
func TestStrict(t *testing.T) {
	dir := t.TempDir()
	input := writeFile(t, filepath.Join(dir, "cluster.yaml"), readFile(t, edge)+flaw)
	out := filepath.Join(dir, "out")
	args := []string{"render", "--node=edge-1", "--check=off", "--output=" + out, input}
	birdconfd(t, append(args, "--strict")...).want(t, 1, "spec.maxRestartTime", "birdconfd: nothing was printed or written, because of errors\n")
	if exists(out) {
		t.Error("something was written")
	}
	birdconfd(t, args...).want(t, 1, "spec.maxRestartTime", "6 files written")
	if r := birdconfd(t, "render", "--node=edge-1", "--check=off", "--strict", input); r.stdout != "" {
		t.Errorf("standard output has\n%s", r.stdout)
	}
	if r := birdconfd(t, "render", "--node=edge-1", "--check=off", "--strict", edge); r.stdout == "" {
		t.Error("nothing was printed although there is no error")
	}
}
