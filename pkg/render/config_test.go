package render

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

// tree writes files, given as pairs of path and text, below a new directory. A path that
// ends in / is a directory, a text that begins with -> a link.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(root, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, link := strings.CutPrefix(files[i+1], "->"); link {
			err = os.Symlink(to, path)
		} else if strings.HasSuffix(files[i], "/") {
			err = os.Mkdir(path, 0o700)
		} else {
			err = os.WriteFile(path, []byte(files[i+1]), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// config loads the directory conf.d below root, which must be fine.
func config(t *testing.T, root string) *Config {
	t.Helper()
	c, problems := loadConfig(filepath.Join(root, "conf.d"), stubAccounts)
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	return c
}

// complaints loads the directory conf.d below root, which must fail, and returns what is
// said, with paths relative to root.
func complaints(t *testing.T, root string) []string {
	t.Helper()
	c, problems := loadConfig(filepath.Join(root, "conf.d"), stubAccounts)
	if c != nil {
		t.Error("there is a Config all the same")
	}
	var out []string
	for _, s := range texts(problems) {
		out = append(out, strings.ReplaceAll(s, root+"/", ""))
	}
	return out
}

// plain compares targets without their templates.
var plain = cmpopts.IgnoreFields(TargetConfig{}, "Set")

var birdFiles = []FileSpec{{Name: "bird.cfg", Template: "main", Family: bgp.IPv4}, {Name: "bird_aggr.cfg", Template: "aggregation", Family: bgp.IPv4}, {Name: "bird_ipam.cfg", Template: "pools", Family: bgp.IPv4}}

func TestConfigDefaultsAreThoseOfCalicoNode(t *testing.T) {
	c := config(t, tree(t, "conf.d/a.yaml", "targets: [{name: bird}, {name: bird6}]\n"))
	want := []TargetConfig{{
		Target:  Target{Name: "bird", Families: []bgp.Family{bgp.IPv4}, Binary: "bird", Files: birdFiles},
		Version: "1.6", Check: CheckRequire, Directory: "/etc/calico/confd/config", Socket: "/var/run/calico/bird.ctl",
	}, {
		Target: Target{Name: "bird6", Families: []bgp.Family{bgp.IPv6}, Binary: "bird6",
			Files: []FileSpec{{Name: "bird6.cfg", Template: "main", Family: bgp.IPv6}, {Name: "bird6_aggr.cfg", Template: "aggregation", Family: bgp.IPv6}, {Name: "bird6_ipam.cfg", Template: "pools", Family: bgp.IPv6}}},
		Version: "1.6", Check: CheckRequire, Directory: "/etc/calico/confd/config", Socket: "/var/run/calico/bird6.ctl",
	}}
	if diff := cmp.Diff(want, c.Targets, plain); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.Targets[0].Set == nil || c.Targets[0].Set != c.Targets[1].Set {
		t.Error("the targets of one file do not share a Set")
	}
}

func TestConfigTakesEveryField(t *testing.T) {
	c := config(t, tree(t, "conf.d/a.yaml", `
set: bird1
templates: [../one, ../two]
targets:
  - name: edge
    family: IPv6
    binary: /opt/bird/bird
    version: 2
    check: off
    directory: /etc/bird/
    socket: none
    mode: 0640
    owner: bird:routers
    files: [{name: edge.conf, template: first}, {name: more.conf, template: second}]
    reload:
      command: [sv, hup, "the bird", 1]
      timeout: 1m30s
  - name: bird
    version: any
    check: auto
    owner: "1000"
    reload: {signal: {pid_file: /run//bird.pid}}
  - name: bird6
    socket: ""
    reload: {signal: {process: bird6, name: SIGUSR1}}
`, "one/a.tmpl", `{{define "first"}}{{template "second" .}}{{end}}{{define "second"}}{{end}}`,
		"two/a.tmpl", `{{define "second"}}# two{{end}}`))
	want := []TargetConfig{{
		Target: Target{Name: "edge", Families: []bgp.Family{bgp.IPv6}, Binary: "/opt/bird/bird",
			Files: []FileSpec{{Name: "edge.conf", Template: "first", Family: bgp.IPv6}, {Name: "more.conf", Template: "second", Family: bgp.IPv6}}},
		Version: "2", Check: CheckOff, Directory: "/etc/bird", Mode: 0o640, Owner: &Owner{104, 200},
		Reload: &ReloadConfig{Command: []string{"sv", "hup", "the bird", "1"}, Timeout: 90 * time.Second},
	}, {
		Target: Target{Name: "bird", Families: []bgp.Family{bgp.IPv4}, Binary: "bird", Files: birdFiles},
		Check:  CheckAuto, Directory: "/etc/calico/confd/config", Owner: &Owner{1000, -1},
		Reload: &ReloadConfig{Signal: &SignalReload{PIDFile: "/run/bird.pid", Signal: "HUP"}, Timeout: 30 * time.Second},
	}, {
		Target: Target{Name: "bird6", Families: []bgp.Family{bgp.IPv6}, Binary: "bird6",
			Files: []FileSpec{{Name: "bird6.cfg", Template: "main", Family: bgp.IPv6}, {Name: "bird6_aggr.cfg", Template: "aggregation", Family: bgp.IPv6}, {Name: "bird6_ipam.cfg", Template: "pools", Family: bgp.IPv6}}},
		Version: "1.6", Check: CheckRequire, Directory: "/etc/calico/confd/config",
		Reload: &ReloadConfig{Signal: &SignalReload{Process: "bird6", Signal: "USR1"}, Timeout: 30 * time.Second},
	}}
	if diff := cmp.Diff(want, c.Targets, plain); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	files, problems := c.Targets[0].Set.Render(c.Targets[0].Target, Input{Views: views(t)})
	if len(problems) > 0 || len(files) != 2 || string(files[0].Data) != "# two\n" {
		t.Errorf("files %v, problems %v", files, problems)
	}
}

func TestConfigTargetsWithoutTheSetsOwn(t *testing.T) {
	c := config(t, tree(t, "conf.d/a.yaml", "templates: ../own\ntargets: [{name: edge}]\n", "own/a.tmpl", extra,
		"own/set.yaml", "bird: \"2\"\ntargets: [{name: edge, family: IPv4, binary: bird, files: [{name: x.conf, template: extra}]}]\n"))
	if got := c.Targets[0]; got.Version != "2" || got.Main() != "x.conf" || got.Socket != "/var/run/calico/edge.ctl" {
		t.Errorf("got %+v", got)
	}
}

func TestConfigFamilies(t *testing.T) {
	ipv4, ipv6 := []bgp.Family{bgp.IPv4}, []bgp.Family{bgp.IPv6}
	own := append([]string{"conf.d/a.yaml", ""}, "own/"+dual[0], dual[1], "own/"+dual[2], dual[3])
	for _, tt := range []struct {
		rule, file string
		families   []bgp.Family
		files      []bgp.Family // those of the files
	}{
		{"files of the set go along with their target", "targets: [{name: bird, family: IPv6}]\n", ipv6, []bgp.Family{bgp.IPv6, bgp.IPv6, bgp.IPv6}},
		{"the set's own families", "templates: ../own\ntargets: [{name: bird}]\n", bgp.Families, []bgp.Family{0, bgp.IPv4, bgp.IPv6}},
		{"one of the set's families", "templates: ../own\ntargets: [{name: bird, family: IPv4}]\n", ipv4, []bgp.Family{0, bgp.IPv4, bgp.IPv6}},
		{"files of its own", "templates: ../own\ntargets: [{name: bird, family: IPv4, files: [{name: a, template: part}, {name: b, template: first, family: both}]}]\n",
			ipv4, []bgp.Family{bgp.IPv4, 0}},
		{"both with files of its own", "targets: [{name: bird, family: both, files: [{name: a, template: main, family: IPv6}, {name: b, template: header}]}]\n",
			bgp.Families, []bgp.Family{bgp.IPv6, 0}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			own[1] = tt.file
			got := config(t, tree(t, own...)).Targets[0]
			var files []bgp.Family
			for _, f := range got.Files {
				files = append(files, f.Family)
			}
			if diff := cmp.Diff(tt.families, got.Families); diff != "" {
				t.Errorf("families (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.files, files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigDirectory(t *testing.T) {
	const bird, bird6 = "targets: [{name: bird}]\n", "targets: [{name: bird6}]\n"
	for _, tt := range []struct {
		rule  string
		files []string
		want  []string // names of targets
	}{
		{"files in the order of their names", []string{"conf.d/20.yaml", bird, "conf.d/10.yml", bird6}, []string{"bird6", "bird"}},
		{"hidden files, other files and directories are left out",
			[]string{"conf.d/a.yaml", bird, "conf.d/.b.yaml", "x: y", "conf.d/b.yaml.example", "x: y", "conf.d/b.json", "x", "conf.d/b.yaml~", "x",
				"conf.d/sub/c.yaml", "x: y", "conf.d/d.yaml/e.yaml", "x: y", "conf.d/l.yaml", "->sub"}, []string{"bird"}},
		{"a mounted ConfigMap", []string{"conf.d/..2026/a.yaml", bird, "conf.d/..data", "->..2026", "conf.d/a.yaml", "->..data/a.yaml"}, []string{"bird"}},
		{"a byte order mark", []string{"conf.d/a.yaml", "\xef\xbb\xbf" + bird}, []string{"bird"}},
		{"a document in its markers", []string{"conf.d/a.yaml", "---\n" + bird + "...\n---\n"}, []string{"bird"}},
		{"merged mappings", []string{"conf.d/a.yaml", "targets: [&t {name: bird, mode: 600}, {<<: *t, name: bird6}]\n"}, []string{"bird", "bird6"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			var got []string
			for _, c := range config(t, tree(t, tt.files...)).Targets {
				got = append(got, c.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigDirectoryThatCannotBeUsed(t *testing.T) {
	for _, tt := range []struct {
		rule  string
		files []string
		want  []string
	}{
		{"missing", nil, []string{"conf.d: error: the directory of targets cannot be read: no such file or directory [unreadable]"}},
		{"a file", []string{"conf.d", "targets: []"}, []string{"conf.d: error: the directory of targets cannot be read: not a directory [unreadable]"}},
		{"empty", []string{"conf.d/", ""}, []string{"conf.d: error: there is no file in the directory of targets [unreadable]\n    hint: the files end in .yaml or .yml"}},
		{"with other files only", []string{"conf.d/bird.toml", ""},
			[]string{"conf.d: error: there is no file in the directory of targets [unreadable]\n    hint: the files end in .yaml or .yml"}},
		{"with a link that leads nowhere", []string{"conf.d/a.yaml", "->nowhere"}, []string{"conf.d/a.yaml: error: cannot be read: no such file or directory [unreadable]"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, complaints(t, tree(t, tt.files...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("with a pipe", func(t *testing.T) {
		root := tree(t, "conf.d/", "")
		if err := syscall.Mkfifo(filepath.Join(root, "conf.d/a.yaml"), 0o600); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"conf.d/a.yaml: error: cannot be read: it is not a file [unreadable]"}, complaints(t, root)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestConfigPaths(t *testing.T) {
	root := tree(t, "conf.d/a.yaml", "templates: ../one\nmistake: {}\n", "conf.d/b.yaml", "templates: [../one/, /elsewhere]\ntargets: none\n",
		"conf.d/c.yaml", "templates: ../no\n\t: YAML", "conf.d/d.yaml", "->nowhere", "conf.d/e.yml", "templates: sub\n", "conf.d/f.yaml", "")
	conf := filepath.Join(root, "conf.d")
	want := []string{conf, filepath.Join(root, "one"), "/elsewhere", filepath.Join(conf, "sub")}
	if got := ConfigPaths(conf); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := ConfigPaths("/nowhere"); !slices.Equal(got, []string{"/nowhere"}) {
		t.Errorf("a missing directory: %q", got)
	}
}

// TestConfigOfCalicoNode wants the file for operators to say what is the default anyway.
func TestConfigOfCalicoNode(t *testing.T) {
	got, problems := LoadConfig(filepath.Join("..", "..", "etc", "conf.d"))
	want := config(t, tree(t, "conf.d/a.yaml", "targets: [{name: bird}, {name: bird6}]\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(want.Targets, got.Targets, plain); diff != "" {
		t.Errorf("(-defaults +file):\n%s", diff)
	}
}

// TestConfigOfDebian wants BIRD to accept what the example for Debian makes.
func TestConfigOfDebian(t *testing.T) {
	example, err := os.ReadFile(filepath.Join("..", "..", "etc", "conf.d", "standalone.yaml.example"))
	if err != nil {
		t.Fatal(err)
	}
	v, rendered := views(t), map[string]string{}
	for _, target := range config(t, tree(t, "conf.d/a.yaml", string(example))).Targets {
		if target.Directory != "/etc/bird" || target.Socket != "/run/bird/"+target.Name+".ctl" || target.Mode != fs.FileMode(0o640) ||
			*target.Owner != (Owner{104, 105}) || target.Main() != target.Name+".conf" {
			t.Errorf("got %+v", target)
		}
		files, problems := target.Set.Render(target.Target, Input{Views: v})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for _, f := range files {
			rendered[strings.ReplaceAll(f.Name, ".conf", ".cfg")] = string(f.Data)
		}
	}
	mustPass(t, rendered)
}
