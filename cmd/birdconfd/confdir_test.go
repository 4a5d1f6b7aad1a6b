package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/test/shared"
)

// writeConfdir makes a confd directory with one template, which makes bird.cfg.
func writeConfdir(t *testing.T, dir, template string) string {
	t.Helper()
	writeFile(t, filepath.Join(dir, "conf.d", "bird.toml"), `[template]
src = "bird.cfg.template"
dest = "/etc/calico/confd/config/bird.cfg"
prefix = "/calico/"
keys = ["/bgp/v1", "/bgpconfig"]
check_cmd = "bird -p -c {{.src}}"
reload_cmd = "sv hup bird || true"
`)
	writeFile(t, filepath.Join(dir, "templates", "bird.cfg.template"), template)
	return dir
}

// Templates for confd are tried like our own: files, problems, exit codes.
func TestRenderConfdir(t *testing.T) {
	dir := writeConfdir(t, t.TempDir(), "# {{getv \"/bgp/v1/global/as_num\"}}\nrouter id {{(getBGPConfig 4 .).RouterID}};\n")
	args := []string{"render", "--confdir=" + dir, "--node=edge-1", edge}
	r := birdconfd(t, append(args, "--check=off")...)
	r.want(t, 0, "birdconfd: node edge-1, 1 warning\n", "no template of target \"bird\" writes it")
	if want := "# ---------- bird.cfg ----------\n# 64500\nrouter id 192.0.2.11;\n\n"; r.stdout != want {
		t.Errorf("standard output is %q, want %q", r.stdout, want)
	}
	out := filepath.Join(t.TempDir(), "out")
	birdconfd(t, append(args, "--check=off", "--output="+out)...).want(t, 0, "1 file written")
	if got := readFile(t, filepath.Join(out, "bird.cfg")); !strings.HasSuffix(got, "router id 192.0.2.11;\n") {
		t.Errorf("the file is %q", got)
	}
	writeConfdir(t, dir, "x\n{{getv \"/bgp/v1/global/as_nun\"}}")
	birdconfd(t, append(args, "--check=off")...).want(t, 1, dir+`/templates/bird.cfg.template:2:3: error: `, `there is no key "/bgp/v1/global/as_nun" [template]`, `hint: did you mean "as_num"?`)
	writeConfdir(t, dir, "x\n{{getv}")
	birdconfd(t, append(args, "--check=off")...).want(t, 1, dir+"/templates/bird.cfg.template:2: error: ")
	birdconfd(t, "render", "--confdir="+filepath.Join(dir, "absent"), "--node=edge-1", edge).want(t, 2, "the directory cannot be read: no such file or directory [unreadable]")
}

// A directory that is not there is no empty one (P9), neither for the daemon.
func TestRunConfdirUsage(t *testing.T) {
	dir := writeConfdir(t, t.TempDir(), "x")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--confdir=" + filepath.Join(dir, "absent")}, "the configuration does not load"},
		{[]string{"--confdir=" + dir, "--conf=" + dir, "--output=" + dir}, "--conf, --output cannot be used with --confdir"},
		{[]string{"--output=" + dir, "--reload=command"}, "--reload and --calico-release are about --confdir"},
		{[]string{"--output=" + dir, "--calico-release=3.32"}, "--reload and --calico-release are about --confdir"},
		{[]string{"--confdir=" + dir, "--socket=bird9=/x"}, "there is a socket for target \"bird9\", but no such target; there is: bird"},
		{nil, "say where BIRD's files are, with --output, --conf or --confdir"},
	} {
		birdconfd(t, append([]string{"run", "--node=edge-1", edge}, tt.args...)...).want(t, 2, tt.want)
	}
}

// ready asks the daemons of a confd directory, whatever their templates are like.
func TestReadyConfdir(t *testing.T) {
	dir := writeConfdir(t, t.TempDir(), "{{broken")
	socket := filepath.Join(t.TempDir(), "none.ctl")
	birdconfd(t, "ready", "--confdir="+dir, "--socket=bird="+socket).want(t, 1, socket)
	writeFile(t, filepath.Join(dir, "conf.d", "other.toml"), "[template]\nmode = 1\n")
	birdconfd(t, "ready", "--confdir="+dir, "--socket=bird="+socket).want(t, 1, socket)
	birdconfd(t, "ready", "--confdir="+filepath.Join(dir, "absent")).want(t, 2, "the directory cannot be read")
}

// The sets for the three interfaces, with BIRD's own check of all files.
func TestRenderConfdirChecked(t *testing.T) {
	for _, release := range []string{"3.31", "3.32", "3.33"} {
		r := call{args: []string{"render", "--confdir=" + filepath.Join(shared.Root(t), "testdata", "confd", release), "--sample", "--check=require", "--bird-dir=" + filepath.Dir(birdtest.Bird(t))}}.run(t)
		r.want(t, 0, "bird accepted by BIRD 1.6", "bird6 accepted by BIRD 1.6")
	}
}
