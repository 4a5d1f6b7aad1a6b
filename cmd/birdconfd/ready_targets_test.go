package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/render"
)

// asked runs nothing, but tells which daemons a command line and variables lead to.
func asked(t *testing.T, env map[string]string, args ...string) []readyTarget {
	t.Helper()
	var o readyOptions
	e := environment{lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	f := readyCommand(e).Flags()
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := flagsFromEnvironment(f, e); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]*string{"bird": &o.bird, "bird6": &o.bird6, "conf": &o.conf, "output": &o.output, "state-dir": &o.stateDir} {
		*to = f.Lookup(name).Value.String()
	}
	var err error
	if o.sockets, err = f.GetStringToString("socket"); err != nil {
		t.Fatal(err)
	}
	targets, err := o.targets(e)
	if err != nil {
		t.Fatal(err)
	}
	return targets
}

func TestReadyTargets(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "conf.d")
	writeFile(t, filepath.Join(conf, "10.yaml"), "targets:\n  - {name: bird, directory: /etc/b, socket: /run/c/bird.ctl}\n  - {name: bird6, directory: /etc/b, socket: none}\n")
	target := func(name, socket, state string) readyTarget {
		return readyTarget{Name: name, Socket: socket, state: state}
	}
	for _, tt := range []struct {
		rule string
		args []string
		env  map[string]string
		want []readyTarget
	}{
		{"only a socket", []string{"--bird=/r/b"}, nil, []readyTarget{target("bird", "/r/b", "")}},
		{"both", []string{"--bird6=/r/6", "--bird=/r/b"}, nil, []readyTarget{target("bird", "/r/b", ""), target("bird6", "/r/6", "")}},
		{"a socket and where its files are", []string{"--bird=/r/b", "--output=/etc/b"}, nil, []readyTarget{target("bird", "/r/b", "/etc/b/.birdconfd/bird")}},
		{"a socket and a state directory", []string{"--bird=/r/b", "--state-dir=/var/s"}, nil, []readyTarget{target("bird", "/r/b", "/var/s/bird")}},
		{"as run with --output", []string{"--output=/etc/b", "--socket=bird6=/r/6", "--socket=bird=/r/b"}, nil,
			[]readyTarget{target("bird", "/r/b", "/etc/b/.birdconfd/bird"), target("bird6", "/r/6", "/etc/b/.birdconfd/bird6")}},
		{"the variables of run", nil, map[string]string{"BIRDCONFD_OUTPUT": "/etc/b", "BIRDCONFD_SOCKET": "bird=/r/b", "BIRDCONFD_STATE_DIR": "/var/s"},
			[]readyTarget{target("bird", "/r/b", "/var/s/bird")}},
		{"as run with --conf", []string{"--conf=" + conf}, nil, []readyTarget{target("bird", "/run/c/bird.ctl", "/etc/b/.birdconfd/bird")}},
		{"its variable", nil, map[string]string{"BIRDCONFD_CONF": conf}, []readyTarget{target("bird", "/run/c/bird.ctl", "/etc/b/.birdconfd/bird")}},
		{"a socket instead of that of --conf", []string{"--bird=/r/b"}, map[string]string{"BIRDCONFD_CONF": conf}, []readyTarget{target("bird", "/r/b", "/etc/b/.birdconfd/bird")}},
		{"a target without a socket", []string{"--output=/etc/b", "--socket=bird=/r/b,bird6="}, nil, []readyTarget{target("bird", "/r/b", "/etc/b/.birdconfd/bird")}},
		{"nothing", nil, nil, []readyTarget{target("bird", calicoDir+"/bird.ctl", render.DefaultDirectory+"/.birdconfd/bird")}},
		{"files but no socket", []string{"--output=/etc/b"}, nil, []readyTarget{target("bird", calicoDir+"/bird.ctl", "/etc/b/.birdconfd/bird")}},
	} {
		if (tt.rule == "nothing" || tt.rule == "files but no socket") && exists(calicoDir+"/bird6.ctl") {
			continue
		}
		if diff := cmp.Diff(tt.want, asked(t, tt.env, tt.args...), cmp.AllowUnexported(readyTarget{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.rule, diff)
		}
	}
}

func TestCalicosSockets(t *testing.T) {
	dir, files := t.TempDir(), t.TempDir()
	o := readyOptions{stateDir: "/var/s"}
	if got := o.calico(dir, files); len(got) != 1 || got[0].Socket != filepath.Join(dir, "bird.ctl") || got[0].state != "/var/s/bird" {
		t.Errorf("%+v", got)
	}
	writeFile(t, filepath.Join(files, "bird6.cfg"), "protocol device {}\n")
	if got := o.calico(dir, files); len(got) != 1 {
		t.Errorf("without sessions for IPv6: %+v", got)
	}
	writeFile(t, filepath.Join(files, "bird6.cfg"), "protocol bgp Mesh_2001_db8__1 {}\n")
	if got := o.calico(dir, files); len(got) != 2 {
		t.Errorf("with sessions for IPv6: %+v", got)
	}
	files = t.TempDir()
	writeFile(t, filepath.Join(dir, "bird6.ctl"), "")
	if got := o.calico(dir, files); len(got) != 2 || got[1].Name != "bird6" || got[1].Socket != filepath.Join(dir, "bird6.ctl") {
		t.Errorf("%+v", got)
	}
}

func TestReadyUsage(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "none", "10.yaml"), "targets:\n  - {name: bird, socket: none}\n")
	writeFile(t, filepath.Join(dir, "bad", "10.yaml"), "targets: 7\n")
	for _, tt := range []struct {
		rule, want string
		args       []string
	}{
		{"an argument", "unknown command", []string{"x"}},
		{"a limit that is none", "--timeout must be longer than 0s", []string{"--timeout=0s"}},
		{"an age that is none", "--readiness-max-age must be longer than 0s", []string{"--readiness-max-age=-1s"}},
		{"a time that is none", "--settled must not be negative", []string{"--settled=-1s"}},
		{"a form that is not known", "it is one of text, json", []string{"--format=xml"}},
		{"a directory without sockets", "no target in " + filepath.Join(dir, "none") + " has a control socket", []string{"--conf=" + filepath.Join(dir, "none")}},
		{"a directory that is not there", "the configuration does not load", []string{"--conf=" + filepath.Join(dir, "absent")}},
		{"a directory that cannot be read", "10.yaml:1: ", []string{"--conf=" + filepath.Join(dir, "bad")}},
	} {
		r := birdconfd(t, append([]string{"ready"}, tt.args...)...)
		if r.want(t, exitUsage, tt.want); r.stdout != "" {
			t.Errorf("%s: standard output has %q", tt.rule, r.stdout)
		}
	}
}

// What run keeps in its state directory is where ready looks for it.
func TestReadyLooksWhereRunKeeps(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "in", "c.yaml"), string(sampleCluster))
	r := birdconfd(t, "run", "--node", sampleNode, "--check=off", "--once", "--output", dir, filepath.Join(dir, "in"))
	r.want(t, exitFine)
	for _, target := range asked(t, nil, "--output="+dir, "--socket=bird=/r/b") {
		if _, err := os.Stat(filepath.Join(target.state, "record.json")); err != nil {
			t.Errorf("the record of %s is not there: %v", target.Name, err)
		}
	}
}
