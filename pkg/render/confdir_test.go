package render

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render/confd"
)

// stock is how calico/node's conf.d names its files.
func stock(t *testing.T) string {
	t.Helper()
	at, err := filepath.Abs(filepath.Join("..", "..", "testdata", "confd", "3.33"))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// confdir loads a confd directory, which must be fine but for warnings.
func confdir(t *testing.T, o ConfdirOptions) (*Config, []calico.Problem) {
	t.Helper()
	c, problems := LoadConfdir(o)
	if c == nil {
		t.Fatalf("problems: %v", problems)
	}
	return c, problems
}

// ofConfd compares targets without their templates.
var ofConfd = cmp.Options{plain, cmpopts.IgnoreFields(FileSpec{}, "Template"), cmpopts.IgnoreFields(Target{}, "Beside")}

func names(specs ...string) []FileSpec {
	var out []FileSpec
	for _, s := range specs {
		out = append(out, FileSpec{Name: s})
	}
	return out
}

// The six resources of calico/node make files of two daemons.
func TestConfdirOfCalicoNode(t *testing.T) {
	c, problems := confdir(t, ConfdirOptions{Dir: stock(t)})
	want := []TargetConfig{{
		Target: Target{Name: "bird", Families: []bgp.Family{bgp.IPv4}, Binary: "bird", Files: []FileSpec{{Name: "bird.cfg"}, {Name: "bird_aggr.cfg", Mode: 0o644}, {Name: "bird_ipam.cfg"}}},
		Check:  CheckRequire, Directory: "/etc/calico/confd/config", Socket: "/var/run/calico/bird.ctl",
	}, {
		Target: Target{Name: "bird6", Families: []bgp.Family{bgp.IPv6}, Binary: "bird6", Files: names("bird6.cfg", "bird6_aggr.cfg", "bird6_ipam.cfg")},
		Check:  CheckRequire, Directory: "/etc/calico/confd/config", Socket: "/var/run/calico/bird6.ctl",
	}}
	if diff := cmp.Diff(want, c.Targets, ofConfd); diff != "" || problems != nil {
		t.Errorf("%v (-want +got):\n%s", problems, diff)
	}
	if c.Targets[0].Beside != c.Targets[0].Directory {
		t.Errorf("other files are taken from %q", c.Targets[0].Beside)
	}
	if !c.Set().IsConfd() {
		t.Error("it is not a set of confd")
	}
	places, _ := ConfdirPlaces(ConfdirOptions{Dir: stock(t)})
	if diff := cmp.Diff([]Place{{"bird", "/etc/calico/confd/config", "/var/run/calico/bird.ctl"}, {"bird6", "/etc/calico/confd/config", "/var/run/calico/bird6.ctl"}}, places); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

func resourceToml(fields ...string) string { return "[template]\n" + strings.Join(fields, "\n") + "\n" }

const (
	src    = `src = "a"`
	dest   = `dest = "/etc/bird/bird.cfg"`
	all    = `keys = ["/"]`
	check  = `check_cmd = "bird -p -c {{.src}}"`
	reload = `reload_cmd = "sv hup bird"`
)

// How commands and options decide what is checked and reloaded.
func TestConfdirTargets(t *testing.T) {
	shell := func(line string) *ReloadConfig {
		return &ReloadConfig{Command: []string{"/bin/sh", "-c", line}, Timeout: defaultReloadTimeout}
	}
	commands := func(line string) map[string]string { return map[string]string{"bird.cfg": line} }
	for _, tt := range []struct {
		rule     string
		fields   []string
		template string
		options  ConfdirOptions
		want     TargetConfig
		problems []string
	}{
		{rule: "a service of calico/node", fields: []string{check, reload},
			want: TargetConfig{Target: Target{Name: "bird", Binary: "bird"}, Check: CheckRequire, Socket: "/var/run/calico/bird.ctl"}},
		{rule: "a socket by option", fields: []string{check, reload}, options: ConfdirOptions{Sockets: map[string]string{"bird": "/run/bird/bird.ctl"}},
			want: TargetConfig{Target: Target{Name: "bird", Binary: "bird"}, Check: CheckRequire, Socket: "/run/bird/bird.ctl"}},
		{rule: "a socket in the command", fields: []string{check, `reload_cmd = "birdc -s /run/x.ctl configure"`},
			want: TargetConfig{Target: Target{Name: "bird", Binary: "bird"}, Check: CheckRequire, Socket: "/run/x.ctl"}},
		{rule: "no socket is known", fields: []string{check, `reload_cmd = "systemctl reload bird"`},
			want: TargetConfig{Target: Target{Name: "bird", Binary: "bird"}, Check: CheckRequire, Reload: shell("systemctl reload bird")}},
		{rule: "by command as asked", fields: []string{check, reload}, options: ConfdirOptions{Reload: ReloadCommand},
			want: TargetConfig{Target: Target{Name: "bird", Binary: "bird"}, Check: CheckRequire, Reload: shell("sv hup bird")}},
		{rule: "a command that hides its failure", fields: []string{check, `reload_cmd = "sv hup bird || true"`}, options: ConfdirOptions{Reload: ReloadCommand},
			want:     TargetConfig{Target: Target{Name: "bird", Binary: "bird"}, Check: CheckRequire, Reload: shell("sv hup bird || true")},
			problems: []string{`conf.d/a.toml:6: warning: target "bird": the command hides that it fails, so nobody knows whether the daemon uses the files [reload]` + "\n    hint: leave out the end of the command, or name the control socket with --socket"}},
		{rule: "a check that does more", fields: []string{`check_cmd = "bird -p -c {{.src}} && grep -q mine {{.src}}"`, reload}, options: ConfdirOptions{Reload: ReloadCommand},
			want: TargetConfig{Target: Target{Name: "bird", Binary: "bird"}, Check: CheckRequire, CheckCommands: commands("bird -p -c {{.src}} && grep -q mine {{.src}}"), Reload: shell("sv hup bird")}},
		{rule: "which the socket replaces", fields: []string{`check_cmd = "bird -p -c {{.src}} && grep -q mine {{.src}}"`, reload},
			want:     TargetConfig{Target: Target{Name: "bird", Binary: "bird"}, Check: CheckRequire, Socket: "/var/run/calico/bird.ctl"},
			problems: []string{"conf.d/a.toml:5: warning: target \"bird\": check_cmd is not used, since BIRD's own program checks all files together [bird-check]\n    hint: --reload command uses it"}},
		{rule: "options of sv", fields: []string{check, `reload_cmd = "sv -w 5 hup bird"`},
			want: TargetConfig{Target: Target{Name: "bird", Binary: "bird"}, Check: CheckRequire, Socket: "/var/run/calico/bird.ctl"}},
		{rule: "a socket in quotes", fields: []string{check, `reload_cmd = "timeout 5 birdcl -s '/run/y.ctl' configure"`},
			want: TargetConfig{Target: Target{Name: "bird", Binary: "bird"}, Check: CheckRequire, Socket: "/run/y.ctl"}},
		{rule: "no check", fields: []string{check, reload}, options: ConfdirOptions{Check: CheckOff},
			want: TargetConfig{Target: Target{Name: "bird", Binary: "bird"}, Check: CheckOff, Socket: "/var/run/calico/bird.ctl"}},
		{rule: "programs elsewhere", fields: []string{check, reload}, options: ConfdirOptions{BirdDir: "/opt"},
			want: TargetConfig{Target: Target{Name: "bird", Binary: "/opt/bird"}, Check: CheckRequire, Socket: "/var/run/calico/bird.ctl"}},
		{rule: "an absolute program", fields: []string{`check_cmd = "/usr/sbin/bird2 -p -c {{ .src }}"`},
			want: TargetConfig{Target: Target{Name: "bird2", Binary: "/usr/sbin/bird2"}, Check: CheckRequire}},
		{rule: "no BIRD", fields: []string{`check_cmd = "haproxy -c -f {{.src}}"`, `reload_cmd = "true"`},
			want: TargetConfig{Target: Target{Name: "a"}, Check: CheckRequire, CheckCommands: commands("haproxy -c -f {{.src}}"), Reload: shell("true")}},
		{rule: "no commands", want: TargetConfig{Target: Target{Name: "a"}, Check: CheckOff}},
		{rule: "mode and owner", fields: []string{`mode = "0640"`, "uid = 7", "gid = 8"},
			want: TargetConfig{Target: Target{Name: "a", Files: []FileSpec{{Name: "bird.cfg", Mode: 0o640, Owner: &Owner{7, 8}}}}, Check: CheckOff}},
		{rule: "a group only", fields: []string{"gid = 0"},
			want: TargetConfig{Target: Target{Name: "a", Files: []FileSpec{{Name: "bird.cfg", Owner: &Owner{-1, 0}}}}, Check: CheckOff}},
		{rule: "an owner by name", fields: []string{`owner = "root"`},
			want: TargetConfig{Target: Target{Name: "a", Files: []FileSpec{{Name: "bird.cfg", Owner: &Owner{0, -1}}}}, Check: CheckOff}},
		{rule: "a mode without its 0", fields: []string{`mode = "644"`},
			want:     TargetConfig{Target: Target{Name: "a", Files: []FileSpec{{Name: "bird.cfg", Mode: 0o644}}}, Check: CheckOff},
			problems: []string{`conf.d/a.toml:5: warning: mode "644" is taken for octal 0644; confd takes it for a decimal number, which is 1204 [range]` + "\n    hint: write \"0644\", or what you mean"}},
		{rule: "a mode for everybody", fields: []string{`mode = "0666"`},
			want:     TargetConfig{Target: Target{Name: "a", Files: []FileSpec{{Name: "bird.cfg", Mode: 0o664}}}, Check: CheckOff},
			problems: []string{`conf.d/a.toml:5: warning: mode "0666" would let everybody write the file; 0664 is used [range]` + "\n    hint: write \"0664\""}},
		{rule: "a mode that is only read", fields: []string{`mode = "0444"`},
			want: TargetConfig{Target: Target{Name: "a", Files: []FileSpec{{Name: "bird.cfg", Mode: 0o444}}}, Check: CheckOff}},
		{rule: "fields that confd does not know", fields: []string{`chek_cmd = "x"`, "[other]", "x = 1"},
			want: TargetConfig{Target: Target{Name: "a"}, Check: CheckOff},
			problems: []string{"conf.d/a.toml:5: warning: field template.chek_cmd is not known; it is ignored, as by confd [unknown-field]\n    hint: did you mean \"check_cmd\"?",
				"conf.d/a.toml: warning: field other is not known; it is ignored, as by confd [unknown-field]"}},
		{rule: "a file of both families", template: "{{(getBGPConfig 4 .).NodeName}}{{(getBGPConfig 6 .).NodeName}}", fields: []string{check},
			want:    TargetConfig{Target: Target{Name: "bird", Binary: "bird", Families: bgp.Families}, Check: CheckRequire},
			options: ConfdirOptions{Generation: confd.From333}},
		{rule: "an object of some release", template: "{{(getBGPConfig 4 .).NodeName}}", fields: []string{check},
			want:     TargetConfig{Target: Target{Name: "bird", Binary: "bird"}, Check: CheckRequire},
			problems: []string{"conf.d/a.toml: info: getBGPConfig is as in Calico 3.32, since no resource has /bgpconfig among its keys, as there is since 3.33 [template]\n    hint: --calico-release says otherwise"}},
		{rule: "a file of IPv6 by its keys", template: `{{ls (printf "/bgp/v1/host/%s/peer_v6" "a")}}`, fields: []string{check},
			want: TargetConfig{Target: Target{Name: "bird", Binary: "bird", Families: []bgp.Family{bgp.IPv6}}, Check: CheckRequire}},
		{rule: "files that nobody makes here", template: `include "/etc/bird/more.cfg"; include "local*.conf"; include "deep/er/*.conf"; include "../up.conf";`, fields: []string{check},
			want: TargetConfig{Target: Target{Name: "bird", Binary: "bird"}, Check: CheckRequire}},
		{rule: "a file that is never the same", template: `{{datetime}}`,
			want:     TargetConfig{Target: Target{Name: "a"}, Check: CheckOff},
			problems: []string{"templates/a: warning: datetime makes the file another one each time it is made, and so has BIRD reloaded with each change of the cluster [template]\n    hint: leave it out"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			root := tree(t, "conf.d/a.toml", resourceToml(append([]string{src, dest, all}, tt.fields...)...), "templates/a", tt.template)
			tt.options.Dir = root
			c, problems := confdir(t, tt.options)
			if tt.want.Families == nil {
				tt.want.Families = []bgp.Family{bgp.IPv4}
			}
			if tt.want.Files == nil {
				tt.want.Files = names("bird.cfg")
			}
			tt.want.Directory = "/etc/bird"
			if diff := cmp.Diff([]TargetConfig{tt.want}, c.Targets, ofConfd); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.problems, relative(problems, root)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// relative are problems as texts, with paths relative to a directory.
func relative(problems []calico.Problem, root string) []string {
	var out []string
	for _, text := range texts(problems) {
		out = append(out, strings.ReplaceAll(text, root+"/", ""))
	}
	return out
}

func TestConfdirErrors(t *testing.T) {
	for _, tt := range []struct {
		rule  string
		files []string
		want  []string
	}{
		{"no directory", nil, []string{"conf.d: error: the directory cannot be read: no such file or directory [unreadable]"}},
		{"no resource", []string{"conf.d/a.yaml", ""}, []string{"conf.d: error: there is no template resource in the directory [unreadable]\n    hint: they are in files that end in toml"}},
		{"no TOML", []string{"conf.d/a.toml", "[template]\nsrc = x\n"}, []string{"conf.d/a.toml:2:7: error: template.src: expected value but found \"x\" instead [syntax]"}},
		{"a wrong type", []string{"conf.d/a.toml", "[template]\nmode = 420\n"}, []string{"conf.d/a.toml:2: error: template.mode: a number stands where text belongs [wrong-type]"}},
		{"no table", []string{"conf.d/a.toml", "src = \"a\"\n"}, []string{"conf.d/a.toml: error: there is no table [template] [missing-field]"}},
		{"a list of tables", []string{"conf.d/a.toml", "[[template]]\nsrc = \"a\"\n"}, []string{"conf.d/a.toml:1: error: template: a value stands where a single table, as [template], belongs [wrong-type]"}},
		{"a text for a list", []string{"conf.d/a.toml", "[template]\nkeys = \"/\"\n"}, []string{"conf.d/a.toml:2: error: template.keys: a text stands where a list of texts belongs [wrong-type]"}},
		{"nothing in it", []string{"conf.d/a.toml", "[template]\n"}, []string{
			"conf.d/a.toml: error: dest is required [missing-field]", "conf.d/a.toml: warning: keys is empty, so the template sees no keys [missing-field]\n    hint: \"/\" is all of them",
			"conf.d/a.toml: error: src is required [missing-field]"}},
		{"a template outside", []string{"conf.d/a.toml", resourceToml(`src = "../../etc/passwd"`, dest, all)}, []string{"conf.d/a.toml:2: error: src \"../../etc/passwd\" is not inside templates [wrong-type]"}},
		{"a relative destination", []string{"conf.d/a.toml", resourceToml(src, `dest = "bird.cfg"`, all), "templates/a", ""}, []string{"conf.d/a.toml:3: error: dest \"bird.cfg\" is not an absolute path [wrong-type]"}},
		{"bad modes", []string{"conf.d/a.toml", resourceToml(src, dest, all, `mode = "rw"`), "templates/a", ""}, []string{"conf.d/a.toml:5: error: mode \"rw\" is not an octal number [wrong-type]\n    hint: " + octalHint}},
		{"an owner that is not there", []string{"conf.d/a.toml", resourceToml(src, dest, all, `owner = "nobody-of-that-name"`), "templates/a", ""}, []string{
			"conf.d/a.toml:5: error: there is no user \"nobody-of-that-name\" on this system [enum]\n    hint: write a number if only another container knows the name"}},
		{"two words about the owner", []string{"conf.d/a.toml", resourceToml(src, dest, all, `owner = "0"`, "uid = 0"), "templates/a", ""}, []string{"conf.d/a.toml:5: error: owner excludes uid and gid [conflict]\n    hint: keep one of them"}},
		{"a number out of range", []string{"conf.d/a.toml", resourceToml(src, dest, all, "uid = -1"), "templates/a", ""}, []string{"conf.d/a.toml:5: error: uid -1 is out of range [range]"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			root := tree(t, tt.files...)
			c, problems := LoadConfdir(ConfdirOptions{Dir: root})
			if c != nil {
				t.Error("there is a Config all the same")
			}
			if diff := cmp.Diff(tt.want, relative(problems, root)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	root := tree(t, "conf.d/a.toml", resourceToml(src, dest, all, check), "templates/a", "")
	for _, tt := range []struct {
		options ConfdirOptions
		want    string
	}{
		{ConfdirOptions{Reload: ReloadSocket}, "conf.d/a.toml: error: target \"bird\": nothing tells where its control socket is [missing-field]\n    hint: name it, as in --socket bird=/run/bird/bird.ctl, or reload by command"},
		{ConfdirOptions{Sockets: map[string]string{"bird7": "/x"}}, root + ": error: there is a socket for target \"bird7\", but no such target; there is: bird [enum]"},
	} {
		tt.options.Dir = root
		if c, problems := LoadConfdir(tt.options); c != nil || !slices.Contains(relative(problems, root), tt.want) {
			t.Errorf("got %q, want %q", relative(problems, root), tt.want)
		}
	}
}

// Which resources belong to one daemon, and which file it starts with.
func TestConfdirGroups(t *testing.T) {
	to := func(name string) string { return `dest = "/etc/bird/` + name + `"` }
	group := func(t *testing.T, files ...string) (string, []string) {
		t.Helper()
		root := tree(t, append(files, "templates/a", "", "templates/main", `include "more.cfg"; include "deep/er.cfg";`)...)
		c, problems := confdir(t, ConfdirOptions{Dir: root})
		var out []string
		for _, target := range c.Targets {
			var of []string
			for _, f := range target.Files {
				of = append(of, f.Name)
			}
			out = append(out, target.Name+": "+strings.Join(of, " "))
		}
		return strings.Join(out, "; "), relative(problems, root)
	}
	for _, tt := range []struct {
		rule  string
		files []string
		want  string
	}{
		{"by the command", []string{"conf.d/a.toml", resourceToml(src, to("x.cfg"), all, reload), "conf.d/b.toml", resourceToml(src, to("bird.cfg"), all, check, reload)}, "bird: bird.cfg x.cfg"},
		{"by an include", []string{"conf.d/a.toml", resourceToml(src, to("more.cfg"), all), "conf.d/b.toml", resourceToml(`src = "main"`, to("bird.cfg"), all, check)}, "bird: bird.cfg more.cfg"},
		{"by both", []string{"conf.d/a.toml", resourceToml(src, to("more.cfg"), all, reload), "conf.d/b.toml", resourceToml(src, to("x.cfg"), all, reload), "conf.d/c.toml", resourceToml(`src = "main"`, to("bird.cfg"), all)}, "bird: bird.cfg more.cfg x.cfg"},
		{"not by the directory", []string{"conf.d/a.toml", resourceToml(src, to("a.cfg"), all), "conf.d/b.toml", resourceToml(src, to("b.cfg"), all)}, "a: a.cfg; b: b.cfg"},
		{"not across directories", []string{"conf.d/a.toml", resourceToml(src, `dest = "/etc/one/bird.cfg"`, all, check, reload), "conf.d/b.toml", resourceToml(src, `dest = "/etc/two/bird.cfg"`, all, check, `reload_cmd = "sv hup bird "`)}, ""},
		{"directories and names of any kind", []string{"conf.d/deep/xtoml", resourceToml(src, to("a.cfg"), all), "conf.d/..data/a.toml", "no TOML", "conf.d/.b.toml", resourceToml(src, to("b.cfg"), all)}, "b: b.cfg; x: a.cfg"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			if tt.want == "" {
				root := tree(t, append(tt.files, "templates/a", "")...)
				_, problems := LoadConfdir(ConfdirOptions{Dir: root})
				if want := `target "b": /var/run/calico/bird.ctl is the socket of target "bird"`; len(problems) != 1 || !strings.Contains(problems[0].String(), want) {
					t.Errorf("got %v, want %s", problems, want)
				}
				return
			}
			if got, problems := group(t, tt.files...); got != tt.want || problems != nil {
				t.Errorf("got %q, %v, want %q", got, problems, tt.want)
			}
		})
	}
}

// What is wrong with one resource costs its own daemon at most, and nothing is guessed about
// the file that a daemon starts with.
func TestConfdirIsolation(t *testing.T) {
	to := func(name string) string { return `dest = "/etc/bird/` + name + `"` }
	good := []string{"conf.d/good.toml", resourceToml(src, `dest = "/etc/good/bird6.cfg"`, all, `check_cmd = "bird6 -p -c {{.src}}"`), "templates/a", "router id 1.2.3.4;"}
	const kept = "bird6: bird6.cfg"
	const undecided = "warning: nothing tells which file BIRD starts with, so that these are put in place unchecked, and BIRD is told by reload_cmd: "
	const remedy = " [conflict]\n    hint: if one of them is that file, give its resource a check_cmd, such as bird -p -c {{.src}}"
	for _, tt := range []struct {
		rule  string
		files []string
		want  string
		said  []string
	}{
		{"included files without the one that includes them", []string{"conf.d/a.toml", resourceToml(src, to("bird_aggr.cfg"), all, reload), "conf.d/b.toml", resourceToml(src, to("bird_ipam.cfg"), all, reload)},
			"a: bird_aggr.cfg bird_ipam.cfg; " + kept, []string{"conf.d/a.toml:5: " + undecided + "bird_aggr.cfg, bird_ipam.cfg" + remedy}},
		{"one of them", []string{"conf.d/a.toml", resourceToml(src, to("bird_aggr.cfg"), all, reload)}, "a: bird_aggr.cfg; " + kept, []string{"conf.d/a.toml:5: " + undecided + "bird_aggr.cfg" + remedy}},
		{"and the main one has an error", []string{"conf.d/a.toml", resourceToml(src, to("bird_aggr.cfg"), all, reload), "conf.d/b.toml", resourceToml(src, to("bird.cfg"), all, check, reload, "mode = 1")},
			kept, []string{"conf.d/b.toml:7: error: template.mode: a number stands where text belongs [wrong-type]",
				"conf.d/a.toml:5: warning: these files are left out, since the one that BIRD starts with may be that of a resource with an error: bird_aggr.cfg [conflict]"}},
		{"the main one by its name", []string{"conf.d/a.toml", resourceToml(src, to("bird_aggr.cfg"), all, reload), "conf.d/b.toml", resourceToml(src, to("bird.conf"), all, reload)},
			"bird: bird.conf bird_aggr.cfg; " + kept, nil},
		{"two daemons with one command", []string{"conf.d/a.toml", resourceToml(src, to("x.cfg"), all, `reload_cmd = "reload-all"`), "conf.d/b.toml", resourceToml(`src = "m"`, to("bird.cfg"), all, check, `reload_cmd = "reload-all"`),
			"conf.d/c.toml", resourceToml(src, to("bird2.cfg"), all, `check_cmd = "bird2 -p -c {{.src}}"`, `reload_cmd = "reload-all"`), "conf.d/d.toml", resourceToml(src, to("y.cfg"), all, `reload_cmd = "reload-all"`), "templates/m", `include "x.cfg";`},
			"bird: bird.cfg x.cfg; bird2: bird2.cfg; " + kept, []string{"conf.d/d.toml:5: error: several daemons have this reload_cmd, and none of them includes y.cfg; it is left out [conflict]\n    hint: include it in the file of its daemon, or give each daemon a reload_cmd of its own"}},
		{"two with one destination", []string{"conf.d/a.toml", resourceToml(src, to("bird.cfg"), all, check), "conf.d/b.toml", resourceToml(src, to("bird.cfg"), all, check)},
			"bird: bird.cfg; " + kept, []string{"conf.d/b.toml:3: error: /etc/bird/bird.cfg is made by conf.d/a.toml already; this resource is left out [conflict]\n    hint: keep one of the two"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			root := tree(t, append(tt.files, good...)...)
			c, problems := confdir(t, ConfdirOptions{Dir: root, Reload: ReloadCommand})
			var out []string
			for _, target := range c.Targets {
				var of []string
				for _, f := range target.Files {
					of = append(of, f.Name)
				}
				out = append(out, target.Name+": "+strings.Join(of, " "))
			}
			if got := strings.Join(out, "; "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(tt.said, relative(problems, root)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// A template that does not load is one that fails: its target is there, and others are rendered.
func TestConfdirTemplatesThatDoNotLoad(t *testing.T) {
	for _, tt := range []struct {
		rule, src string
		files     []string
		want      string
	}{
		{"not there", "bird.tmp", []string{"templates/bird.tmpl", ""}, "conf.d/a.toml:2: error: there is no template templates/bird.tmp [unreadable]\n    hint: did you mean \"bird.tmpl\"?"},
		{"a link to nothing", "l", []string{"templates/l", "->..data/l"}, "conf.d/a.toml:2: error: template templates/l is a link to ..data/l, which is not there [unreadable]"},
		{"an unknown function", "b", []string{"templates/b", "x\n{{getvv \"/\"}}"}, "templates/b:2: error: function \"getvv\" not defined [template]\n    hint: did you mean \"getv\"?"},
		{"half a template", "b", []string{"templates/b", "{{if"}, "templates/b:1: error: unclosed action [template]"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			root := tree(t, append(tt.files, "conf.d/a.toml", resourceToml(`src = "`+tt.src+`"`, dest, all, check), "conf.d/b.toml", resourceToml(src, `dest = "/etc/bird6/bird.cfg"`, all, `check_cmd = "bird6 -p"`), "templates/a", "fine")...)
			c, problems := confdir(t, ConfdirOptions{Dir: root})
			if len(c.Targets) != 2 || problems != nil {
				t.Fatalf("got %+v, %v", c.Targets, problems)
			}
			files, problems := c.Set().Render(c.Targets[0].Target, input(t))
			if diff := cmp.Diff([]string{tt.want}, relative(problems, root)); diff != "" || files != nil {
				t.Errorf("%v (-want +got):\n%s", files, diff)
			}
			if files, _ := c.Set().Render(c.Targets[1].Target, input(t)); len(files) != 1 || string(files[0].Data) != "fine" {
				t.Errorf("the other one is %v", files)
			}
		})
	}
}

// All templates are for one release of Calico, which any of them can tell.
func TestConfdirReleases(t *testing.T) {
	more := strings.Replace(all, `"/"`, `"/calico/bgpconfig"`, 1)
	for _, tt := range []struct {
		keys    [2]string
		options confd.Generation
		want    string
	}{
		{[2]string{all, all}, "", "old"}, {[2]string{all, more}, "", "new"}, {[2]string{more, more}, "", "new"},
		{[2]string{more, more}, confd.Only332, "old"}, {[2]string{all, all}, confd.From333, "new"},
	} {
		const text = `{{if eq (getBGPConfig 4 .).PeerDebugMode "debug { states };"}}old{{else}}new{{end}}`
		root := tree(t, "conf.d/a.toml", resourceToml(src, dest, tt.keys[0], check), "conf.d/b.toml", resourceToml(src, `dest = "/etc/else/bird.cfg"`, tt.keys[1], check), "templates/a", text)
		c, _ := confdir(t, ConfdirOptions{Dir: root, Generation: tt.options})
		in := input(t)
		in.Views.IPv4.LogLevel = calico.LogInfo
		for _, target := range c.Targets {
			if files, problems := c.Set().Render(target.Target, in); files == nil || string(files[0].Data) != tt.want {
				t.Errorf("%v: %s is %v, %v, want %s", tt.keys, target.Name, files, problems, tt.want)
			}
		}
	}
}

// A mounted ConfigMap has its files behind two links.
func TestConfdirOfConfigMaps(t *testing.T) {
	root := tree(t, "conf.d/..2026/a.toml", resourceToml(src, dest, all), "conf.d/..data", "->..2026", "conf.d/a.toml", "->..data/a.toml",
		"templates/..2026/a", "x", "templates/..data", "->..2026", "templates/a", "->..data/a")
	c, problems := confdir(t, ConfdirOptions{Dir: root})
	if len(c.Targets) != 1 || problems != nil {
		t.Errorf("got %+v, %v", c.Targets, problems)
	}
	paths := ConfdirPaths(root)
	for _, want := range []string{root, filepath.Join(root, "conf.d"), filepath.Join(root, "templates")} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is not watched, but %v", want, paths)
		}
	}
}

// Where the daemons are does not depend on their templates.
func TestConfdirPlacesWithBrokenTemplates(t *testing.T) {
	root := tree(t, "conf.d/a.toml", resourceToml(`src = "a"`, dest, all, check, reload), "conf.d/b.toml", resourceToml(`src = "gone"`, `dest = "/etc/bird/more.cfg"`, all),
		"templates/a", `{{broken include "more.cfg"`)
	places, problems := ConfdirPlaces(ConfdirOptions{Dir: root})
	if diff := cmp.Diff([]Place{{"bird", "/etc/bird", "/var/run/calico/bird.ctl"}}, places); diff != "" || problems != nil {
		t.Errorf("%v (-want +got):\n%s", problems, diff)
	}
}
