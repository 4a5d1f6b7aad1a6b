package render

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

func TestStandalone(t *testing.T) {
	t.Chdir(tree(t, "own/a.tmpl", `{{define "pools"}}# mine{{end}}`))
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	c, problems := Standalone(StandaloneOptions{
		Templates: []string{"own"}, Directory: "out", BirdDir: "sbin", Check: CheckAuto,
		Sockets: map[string]string{"bird6": "/run/bird/bird6.ctl"},
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := []TargetConfig{{
		Target:  Target{Name: "bird", Families: []bgp.Family{bgp.IPv4}, Binary: filepath.Join(at, "sbin/bird"), Files: birdFiles},
		Version: "1.6", Check: CheckAuto, Directory: filepath.Join(at, "out"),
	}, {
		Target: Target{Name: "bird6", Families: []bgp.Family{bgp.IPv6}, Binary: filepath.Join(at, "sbin/bird6"),
			Files: []FileSpec{{Name: "bird6.cfg", Template: "main", Family: bgp.IPv6}, {Name: "bird6_aggr.cfg", Template: "aggregation", Family: bgp.IPv6}, {Name: "bird6_ipam.cfg", Template: "pools", Family: bgp.IPv6}}},
		Version: "1.6", Check: CheckAuto, Directory: filepath.Join(at, "out"), Socket: "/run/bird/bird6.ctl",
	}}
	if diff := cmp.Diff(want, c.Targets, plain); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := text(t, c.Targets[0].Set, views(t))["bird_ipam.cfg"]; got != "# mine\n" {
		t.Errorf("bird_ipam.cfg is %q", got)
	}
}

func TestStandaloneMakesOneFamilyAndRequiresTheCheck(t *testing.T) {
	c, problems := Standalone(StandaloneOptions{Directory: "/out", Families: []bgp.Family{bgp.IPv6}, Sockets: map[string]string{"bird6": ""}})
	if len(problems) > 0 || len(c.Targets) != 1 {
		t.Fatalf("config %v, problems %v", c, problems)
	}
	if got := c.Targets[0]; got.Name != "bird6" || got.Binary != "bird6" || got.Check != CheckRequire || got.Socket != "" || got.Reload != nil {
		t.Errorf("got %+v", got)
	}
}

func TestStandaloneProblems(t *testing.T) {
	for _, tt := range []struct {
		rule    string
		options StandaloneOptions
		want    []string
	}{
		{"no directory", StandaloneOptions{}, []string{"error: the directory for BIRD's files is not given [missing-field]"}},
		{"unknown set", StandaloneOptions{Set: "birds", Directory: "/out"}, []string{
			"error: there is no template set \"birds\"; there is: bird1, bird2 [template]\n    hint: did you mean \"bird1\"?"}},
		{"unknown check", StandaloneOptions{Check: "of", Directory: "/out"}, []string{
			"error: check is auto, require, off, not \"of\" [enum]\n    hint: did you mean \"off\"?"}},
		{"missing templates", StandaloneOptions{Templates: []string{"/nowhere"}, Directory: "/out"}, []string{
			"/nowhere: error: the directory of templates cannot be read: no such file or directory [unreadable]"}},
		{"sockets of unknown targets", StandaloneOptions{Directory: "/out", Sockets: map[string]string{"b": "/b", "a": "/a", "bird": "/c"}}, []string{
			`error: there is a socket for target "a", but no such target; there is: bird, bird6 [enum]`,
			`error: there is a socket for target "b", but no such target; there is: bird, bird6 [enum]`}},
		{"a socket of a family that is not made", StandaloneOptions{Directory: "/out", Sockets: map[string]string{"bird6": "/b"}, Families: []bgp.Family{bgp.IPv4}}, []string{
			`error: there is a socket for target "bird6", but no such target; there is: bird [enum]`}},
		{"no target at all", StandaloneOptions{Directory: "/out", Families: []bgp.Family{}}, []string{
			"error: no target is of the address families that are asked for [conflict]\n    hint: the set has bird, bird6"}},
		{"one socket for two", StandaloneOptions{Directory: "/out", Sockets: map[string]string{"bird": "/s", "bird6": "/s"}}, []string{
			"error: target \"bird6\": /s is the socket of target \"bird\" already [conflict]\n    hint: each daemon has a socket of its own"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			c, problems := Standalone(tt.options)
			if c != nil {
				t.Error("there is a Config all the same")
			}
			if diff := cmp.Diff(tt.want, texts(problems)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
