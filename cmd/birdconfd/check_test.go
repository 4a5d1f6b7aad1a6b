package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/templates"
)

// withTemp gives the check a place of its own for temporary files, which must be empty
// again at the end.
func withTemp(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		if left := listing(t, dir); len(left) > 0 {
			t.Errorf("temporary files are left: %v", left)
		}
	})
	return dir
}

// hooks is a directory with one file of templates.
func hooks(t *testing.T, text string) string {
	t.Helper()
	return filepath.Dir(writeFile(t, filepath.Join(t.TempDir(), "local.tmpl"), text))
}

func TestCheckAccepts(t *testing.T) {
	withTemp(t)
	birds := birdDir(t)
	for _, check := range []string{"--check=require", "--check=require", "--check=auto"} {
		r := birdconfd(t, "render", "--node=edge-1", "--format=json", "--bird-dir="+birds, check, edge)
		r.want(t, 0)
		got := parseJSON(t, r.stderr)
		if len(got.Checked) != 2 || got.Checked[0].Target != "bird" || !strings.HasPrefix(got.Checked[1].Bird, "1.6.") {
			t.Errorf("%s: %s", check, r.stderr)
		}
	}
	t.Setenv("PATH", birds)
	birdconfd(t, "render", "--node=edge-1", "--check=require", edge).want(t, 0, "bird accepted by BIRD 1.6.", "bird6 accepted by BIRD 1.6.")
	if got := birdconfd(t, "render", "--node=edge-1", "--check=off", edge).stderr; got != "birdconfd: node edge-1\n" {
		t.Errorf("got %q", got)
	}
}

func TestCheckWithoutBird(t *testing.T) {
	withTemp(t)
	// Programs of names that no machine has, since BIRD may be in a place that is always searched.
	own := t.TempDir()
	manifest, err := fs.ReadFile(templates.FS, "bird1/set.yaml")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(own, "set.yaml"), strings.ReplaceAll(string(manifest), "binary: bird", "binary: no-bird"))
	const hint = " [bird-check]\n    hint: install BIRD 1.6, or name its directory with --bird-dir\n"
	out := filepath.Join(t.TempDir(), "out")
	r := birdconfd(t, "render", "--node=edge-1", "--templates="+own, edge)
	r.want(t, 0)
	want := "warning: no-bird is not installed, so the files of bird are not checked" + hint +
		"warning: no-bird6 is not installed, so the files of bird6 are not checked" + hint +
		"birdconfd: node edge-1, 2 warnings\n"
	if diff := cmp.Diff(want, r.stderr); diff != "" || len(headers(r.stdout)) != 6 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Who requires the check gets nothing that was not checked.
	r = birdconfd(t, "render", "--node=edge-1", "--check=require", "--output="+out, "--templates="+own, edge)
	r.want(t, 1, "error: no-bird is not installed, so the files of bird cannot be checked"+hint,
		"error: no-bird6 is not installed, so the files of bird6 cannot be checked"+hint,
		"birdconfd: nothing was written to "+out+", because of bird and bird6\n")
	if exists(out) {
		t.Error("something was written")
	}
}

func TestCheckWithAnotherBird(t *testing.T) {
	withTemp(t)
	dir := t.TempDir()
	if err := os.Symlink(birdtest.Bird2(t), filepath.Join(dir, "bird")); err != nil {
		t.Fatal(err)
	}
	// Debian's BIRD may need the libraries that lie beside it.
	version, err := bird.ReadVersion(t.Context(), filepath.Join(dir, "bird"))
	if err != nil {
		writeFile(t, filepath.Join(dir, "new"), "#!/bin/sh\nexec '"+birdtest.Bird2(t)+"' \"$@\"\n")
		if err := errors.Join(os.Chmod(filepath.Join(dir, "new"), 0o755), os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "bird"))); err != nil {
			t.Fatal(err)
		}
		if version, err = bird.ReadVersion(t.Context(), filepath.Join(dir, "bird")); err != nil {
			t.Fatal(err)
		}
	}
	want := fmt.Sprintf("%s/bird is BIRD %s, but the files are written for BIRD 1.6, so the files of bird ", dir, version)
	birdconfd(t, "render", "--node=edge-1", "--family=ipv4", "--bird-dir="+dir, edge).want(t, 0, "warning: "+want+"are not checked")
	birdconfd(t, "render", "--node=edge-1", "--family=ipv4", "--bird-dir="+dir, "--check=require", edge).want(t, 1, "error: "+want+"cannot be checked")
}

func TestCheckWithSomethingElse(t *testing.T) {
	withTemp(t)
	for _, tt := range []struct {
		rule, script string
		mode         os.FileMode
		want         string
	}{
		{"a program that is not BIRD", "#!/bin/sh\necho GNU bird\n", 0o755, `error: no BIRD version in "GNU bird", so the files of bird cannot be checked`},
		{"a program that fails", "#!/bin/sh\nexit 3\n", 0o755, "error: ask for BIRD's version: bird --version: exit status 3, so the files of bird cannot be checked"},
		{"a file that is no program", "", 0o644, "permission denied, so the files of bird cannot be checked"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			path := writeFile(t, filepath.Join(t.TempDir(), "bird"), tt.script)
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			birdconfd(t, "render", "--node=edge-1", "--family=ipv4", "--check=require", "--bird-dir="+filepath.Dir(path), edge).want(t, 1, tt.want)
		})
	}
}

func TestRefusals(t *testing.T) {
	withTemp(t)
	birds := birdDir(t)
	for _, tt := range []struct{ rule, overlay, more, want string }{
		{"a peer", `{{define "hook-40-peer"}}{{if .Address.Is4}}` + "\n  hold tine 30;{{end}}{{end}}", "",
			"error: Node/edge-2: BIRD refuses the file: syntax error (at or before: hold tine 30;) [bird-check]\n"},
		{"a number out of its range", `{{define "hook-40-peer"}}{{if .Password.IsSet}}` + "\n  hold time 99999999999;{{end}}{{end}}", "",
			"error: BGPPeer/tor: BIRD refuses the file: Number out of range (at or before: hold time 99999999999;) [bird-check]\n"},
		{"an error that shows on the next line", `{{define "hook-40-peer"}}{{if .Password.IsSet}}` + "\n  hold time 30{{end}}{{end}}", "",
			"error: BGPPeer/tor: BIRD refuses the file: syntax error (at or before: }) [bird-check]\n"},
		{"a password's own line", `{{define "hook-40-peer"}}{{if .Password.IsSet}}` + "\n  pasword {{quote .Password}}; # password{{end}}{{end}}", "",
			"error: BGPPeer/tor: BIRD refuses the file: syntax error [bird-check]\n"},
		{"a password on a line that does not say so", `{{define "hook-40-peer"}}{{if .Password.IsSet}}` + "\n  psswd {{quote .Password}};{{end}}{{end}}", "",
			"error: BGPPeer/tor: BIRD refuses the file: syntax error (at or before: psswd \"********\";) [bird-check]\n"},
		{"no resource is to blame", `{{define "hook-10-top"}}` + "\nscan time 10;{{end}}", "",
			": error: BIRD refuses the file: syntax error (at or before: scan time 10;) [bird-check]\n"},
		{"a brace that is not closed", `{{define "hook-90-end"}}` + "protocol static {{print \"{\"}}{{end}}", "",
			"bird.cfg: error: BIRD refuses the file: syntax error [bird-check]\n    hint: BIRD read to the end of the file: a closing brace is missing somewhere\n"},
		{"an included file", `{{define "pools"}}` + "filter calico_kernel_programming {\n{{range .PoolAccepts}}  if ( net ~ {{.Prefix}}} ) then { accept; } {{comment .Why}}\n{{end}}}{{end}}", "",
			"bird_ipam.cfg:2:29: error: IPPool/pods: BIRD refuses the file: syntax error (at or before: if ( net ~ 198.51.100.0/24} ) then { accept; } # IPPool/pods) [bird-check]\n"},
		{"an include that is not there", `{{define "hook-10-top"}}` + "\ninclude \"local.cfg\";{{end}}", "",
			"error: BIRD refuses the file: Unable to open included file local.cfg: No such file or directory (at or before: include \"local.cfg\";) [bird-check]\n"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			old := writeFile(t, filepath.Join(out, "bird.cfg"), "old")
			r := birdconfd(t, "render", "--node=edge-1", "--family=ipv4", "--bird-dir="+birds, "--templates="+hooks(t, tt.overlay), "--output="+out, edge)
			r.want(t, 1, tt.want, "birdconfd: nothing was written to "+out+", because of bird\n", "birdconfd: node edge-1, 1 error\n")
			if readFile(t, old) != "old" || len(listing(t, out)) != 1 {
				t.Errorf("the directory has %v", listing(t, out))
			}
		})
	}
}

// An operator may include a file of their own, which has its full name in the message.
func TestRefusalOfAnIncludeElsewhere(t *testing.T) {
	withTemp(t)
	extra := writeFile(t, filepath.Join(t.TempDir(), "extra.cfg"), "\nscan tine 10;\n")
	birdconfd(t, "render", "--node=edge-1", "--family=ipv4", "--bird-dir="+birdDir(t),
		"--templates="+hooks(t, `{{define "hook-10-top"}}include "`+extra+`";{{end}}`), edge).want(t, 1,
		extra+":2:1: error: BIRD refuses the file: syntax error [bird-check]\n")
}

func TestBothTargetsAreChecked(t *testing.T) {
	withTemp(t)
	birds := birdDir(t)
	out := filepath.Join(t.TempDir(), "out")
	r := birdconfd(t, "render", "--node=edge-1", "--bird-dir="+birds, "--templates="+hooks(t, `{{define "hook-10-top"}}nonsense;{{end}}`), "--output="+out, edge)
	r.want(t, 1, "bird.cfg:", "bird6.cfg:", "because of bird and bird6\n", ", 2 errors\n")
	// When only one is refused the other is said to be fine, but not written either.
	r = birdconfd(t, "render", "--node=edge-1", "--bird-dir="+birds, "--templates="+hooks(t, `{{define "hook-10-top"}}{{if eq .Family 4}}nonsense;{{end}}{{end}}`), "--output="+out, edge)
	r.want(t, 1, "birdconfd: nothing was written to "+out+", because of bird\n", "birdconfd: node edge-1, bird6 accepted by BIRD 1.6.")
	if exists(out) {
		t.Error("something was written")
	}
	// On standard output one can see what was refused.
	r = birdconfd(t, "render", "--node=edge-1", "--bird-dir="+birds, "--templates="+hooks(t, `{{define "hook-10-top"}}nonsense;{{end}}`), edge)
	if r.want(t, 1); !strings.Contains(r.stdout, "nonsense;") {
		t.Error("the refused files are not on standard output")
	}
}

// Only Calico's own BIRD can set a route's tunnel.
func TestTunnelHint(t *testing.T) {
	withTemp(t)
	pool := "apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata: {name: tunnels}\nspec: {cidr: 198.51.100.128/25, blockSize: 28, ipipMode: Always}\n---\n"
	input := strings.Replace(pool+readFile(t, edge), "asNumber: 64500, grace", "programClusterRoutes: Enabled, asNumber: 64500, grace", 1)
	call{args: []string{"render", "--node=edge-1", "--family=ipv4", "--bird-dir=" + birdDir(t), "-"}, stdin: input}.run(t).want(t, 1,
		"error: IPPool/tunnels: BIRD refuses the file: You may set only variables. (at or before: if ( net ~ 198.51.100.128/25 ) then { krt_tunnel = \"tunl0\"; accept; } # IPPool/tunnels) [bird-check]\n"+
			"    hint: only Calico's own BIRD knows krt_tunnel: check with that one, or let Felix program the routes of IPIP pools, as it does with programClusterRoutes: EnabledNoEncapOnly\n")
}

func TestNoPlaceToStage(t *testing.T) {
	birds := birdDir(t)
	absent := filepath.Join(t.TempDir(), "absent")
	t.Setenv("TMPDIR", absent)
	out := filepath.Join(t.TempDir(), "out")
	birdconfd(t, "render", "--node=edge-1", "--family=ipv4", "--bird-dir="+birds, "--output="+out, edge).want(t, 1,
		"error: the files of bird cannot be checked: stat "+absent+": no such file or directory [bird-check]\n    hint: the variable TMPDIR names another place for temporary files\n")
	if exists(out) {
		t.Error("something was written")
	}
}

// slowBird is a BIRD that looks at its files and then never ends. It says so in a pipe.
func slowBird(t *testing.T) (dir, fifo string) {
	t.Helper()
	dir = t.TempDir()
	fifo = filepath.Join(dir, "fifo")
	path := writeFile(t, filepath.Join(dir, "bird"), "#!/bin/sh\n[ \"$1\" = --version ] && { echo BIRD version 1.6.8; exit; }\n"+
		"stat -c '%a %n' \"$3\" \"$(dirname \"$3\")\" >"+fifo+"\nexec sleep 1000\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, fifo
}

// The directory of the check is readable by its owner only, and gone when the run is cut short.
func TestCheckCutShort(t *testing.T) {
	temp := withTemp(t)
	birds, fifo := slowBird(t)
	out := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	seen := make(chan string, 1)
	go func() {
		data, _ := os.ReadFile(fifo)
		seen <- string(data)
		cancel(errors.New("terminated"))
	}()
	r := call{ctx: ctx, args: []string{"render", "--node=edge-1", "--family=ipv4", "--bird-dir=" + birds, "--output=" + out, edge}}.run(t)
	r.want(t, 1, "birdconfd: interrupted before anything was written: terminated\n")
	// If BIRD was never started, this ends the wait for it.
	if w, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		w.Close()
	}
	modes := strings.Fields(<-seen)
	if len(modes) != 4 || modes[0] != "600" || modes[2] != "700" || !strings.HasPrefix(modes[3], temp+"/birdconfd-check-") {
		t.Errorf("the check's files were %v", modes)
	}
	if exists(out) {
		t.Error("something was written")
	}
}
