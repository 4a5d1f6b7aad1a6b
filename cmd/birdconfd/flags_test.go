package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func variable(flag string) string {
	return "BIRDCONFD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// notReady is a Kubernetes Node that is not ready.
func notReady(name string) string {
	return "apiVersion: v1\nkind: Node\nmetadata: {name: " + name + "}\nstatus: {conditions: [{type: Ready, status: Unknown}]}\n"
}

// Every flag can be given as a variable, and then does the same.
func TestEveryFlagHasAVariable(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "templates", "local.tmpl"), `{{define "hook-90-end"}}# mine{{end}}`)
	flawed := writeFile(t, filepath.Join(dir, "flawed.yaml"), readFile(t, edge)+flaw)
	away := writeFile(t, filepath.Join(dir, "away.yaml"), readFile(t, edge)+"---\n"+notReady("edge-2"))
	ordinary := []string{edge, "--node=edge-1", "--check=off"}
	cases := map[string]struct {
		args  []string
		value string
	}{
		"datastore":       {[]string{"--node=edge-1", "--check=off"}, "kubernetes"},
		"calico-config":   {[]string{"--node=edge-1", "--check=off"}, filepath.Join(dir, "absent")},
		"timeout":         {ordinary, "-1s"},
		"node":            {[]string{edge, "--check=off"}, "edge-1"},
		"sample":          {[]string{"--check=off"}, "true"},
		"output":          {ordinary, filepath.Join(dir, "out")},
		"family":          {ordinary, "ipv6"},
		"set":             {ordinary, "bird2"},
		"phase":           {[]string{away, "--node=edge-1", "--check=off"}, "steady"},
		"confdir":         {ordinary, writeConfdir(t, filepath.Join(dir, "confd"), "router id 192.0.2.1;")},
		"calico-release":  {append(ordinary, "--confdir="+writeConfdir(t, filepath.Join(dir, "confd2"), "{{(getBGPConfig 4 .).PeerDebugMode}}")), "3.32"},
		"templates":       {ordinary, filepath.Join(dir, "templates")},
		"check":           {[]string{edge, "--node=edge-1", "--bird-dir=" + dir}, "require"},
		"bird-dir":        {[]string{edge, "--node=edge-1", "--check=require"}, dir},
		"endpoint-status": {ordinary, filepath.Join(dir, "absent")},
		"format":          {ordinary, "json"},
		"show-secrets":    {ordinary, "true"},
		"strict":          {[]string{flawed, "--node=edge-1", "--check=off"}, "true"},
	}
	renderCommand(environment{}).Flags().VisitAll(func(f *pflag.Flag) {
		t.Run(f.Name, func(t *testing.T) {
			c, ok := cases[f.Name]
			if !ok {
				t.Fatal("this test has no case for the flag")
			}
			outcome := func(args []string, env map[string]string) result {
				t.Helper()
				defer os.RemoveAll(filepath.Join(dir, "out"))
				r := call{args: append([]string{"render"}, args...), env: env}.run(t)
				r.stderr = strings.ReplaceAll(r.stderr, "environment variable "+variable(f.Name)+": ", "")
				return r
			}
			without := outcome(c.args, nil)
			byFlag := outcome(append(c.args, "--"+f.Name+"="+c.value), nil)
			byVariable := outcome(c.args, map[string]string{variable(f.Name): c.value})
			if without == byFlag {
				t.Errorf("the flag makes no difference:\n%s", without.stderr)
			}
			if diff := cmp.Diff(byFlag, byVariable, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("(-flag +variable):\n%s", diff)
			}
			if empty := outcome(c.args, map[string]string{variable(f.Name): ""}); empty != without {
				t.Errorf("an empty variable makes a difference:\n%s", empty.stderr)
			}
		})
	})
}

func TestFlagWinsOverVariable(t *testing.T) {
	env := map[string]string{"BIRDCONFD_NODE": "edge-2", "NODENAME": "edge-3", "BIRDCONFD_CHECK": "nonsense"}
	call{args: []string{"render", edge, "--node=edge-1", "--check=off"}, env: env}.run(t).want(t, 0, "birdconfd: node edge-1")
	env["BIRDCONFD_CHECK"] = "off"
	call{args: []string{"render", edge}, env: env}.run(t).want(t, 0, "birdconfd: node edge-2")
	delete(env, "BIRDCONFD_NODE")
	call{args: []string{"render", edge}, env: env}.run(t).want(t, 1, `there is no such node in the input`, "Node/edge-3")
}

func TestBadVariables(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"BIRDCONFD_CHECK", "maybe", `invalid argument "maybe" for "--check" flag: it is one of auto, require, off`},
		{"BIRDCONFD_FAMILY", "6", `invalid argument "6" for "--family" flag: it is one of all, ipv4, ipv6`},
		{"BIRDCONFD_FORMAT", "xml", `invalid argument "xml" for "--format" flag: it is one of text, json`},
		{"BIRDCONFD_SET", "bird9", `invalid argument "bird9" for "--set" flag: it is one of bird1, bird2`},
		{"BIRDCONFD_SAMPLE", "perhaps", `invalid argument "perhaps" for "--sample" flag: strconv.ParseBool: parsing "perhaps": invalid syntax`},
	} {
		r := call{args: []string{"render", edge, "--node=edge-1"}, env: map[string]string{tt.name: tt.value}}.run(t)
		r.want(t, 2)
		if want := "birdconfd: environment variable " + tt.name + ": " + tt.want + " (see birdconfd render --help)\n"; r.stderr != want || r.stdout != "" {
			t.Errorf("got  %swant %s", r.stderr, want)
		}
	}
	r := call{args: []string{"render", edge, "--node=edge-1", "--check=off"}, env: map[string]string{"USE_POD_CIDR": "perhaps"}}.run(t)
	r.want(t, 2)
	if want := "birdconfd: environment variable USE_POD_CIDR: \"perhaps\" is neither true nor false (see birdconfd render --help)\n"; r.stderr != want {
		t.Errorf("got  %swant %s", r.stderr, want)
	}
}

func TestWrongUsage(t *testing.T) {
	for _, tt := range []struct {
		rule string
		args []string
		want string
	}{
		{"an unknown flag", []string{"render", "--nodes=x"}, "unknown flag: --nodes"},
		{"a flag without its value", []string{"render", "--node"}, "flag needs an argument: --node"},
		{"no paths", []string{"render", "--node=edge-1"}, "name the files or directories to read, - for standard input, --sample, or a --datastore"},
		{"paths and a server", []string{"render", "--node=edge-1", "--datastore=etcd", edge}, "PATHs are read with --datastore file, not with --datastore etcd"},
		{"paths and how to reach a server", []string{"render", "--node=edge-1", "--calico-config=x", edge}, "--calico-config says how to reach a server, and PATHs are files: choose one of the two"},
		{"the sample and a server", []string{"render", "--sample", "--datastore=etcd"}, "--sample is read from no datastore"},
		{"a server that nothing is said about", []string{"render", "--node=edge-1", "--datastore=etcd"}, "nothing says where etcd is: set ETCD_ENDPOINTS or ETCD_DISCOVERY_SRV"},
		{"no node", []string{"render", edge}, "name the node to render for, with --node or the variable NODENAME"},
		{"the sample with paths", []string{"render", "--sample", edge}, "--sample takes no paths"},
		{"an empty output", []string{"render", "--sample", "--output="}, "--output is empty: give a directory, or - for standard output"},
		{"a bad check", []string{"render", "--sample", "--check=maybe"}, `invalid argument "maybe" for "--check" flag: it is one of auto, require, off`},
		{"a check without its value", []string{"render", "--sample", "--check"}, "flag needs an argument: --check"},
		{"confd's templates and ours", []string{"render", "--sample", "--confdir=/nowhere", "--templates=/nowhere", "--set=bird1"}, "--set, --templates cannot be used with --confdir, whose conf.d says what to render, and where to"},
		{"an unknown set", []string{"render", "--sample", "--set=bird9"}, `invalid argument "bird9" for "--set" flag: it is one of bird1, bird2`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			r := birdconfd(t, tt.args...)
			r.want(t, 2)
			if want := "birdconfd: " + tt.want + " (see birdconfd render --help)\n"; r.stderr != want || r.stdout != "" {
				t.Errorf("standard output %q, standard error %q, want %q", r.stdout, r.stderr, want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	r := birdconfd(t, "version")
	r.want(t, 0)
	if !strings.HasPrefix(r.stdout, "birdconfd ") || strings.Count(r.stdout, "\n") != 1 || r.stderr != "" {
		t.Errorf("got %+v", r)
	}
}
