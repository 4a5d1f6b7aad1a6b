package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
)

// set.yaml of the built-in set in short, for tests to break.
const goodManifest = `description: ours
bird: "1.6"
targets:
  - name: bird
    family: IPv4
    binary: bird
    files:
      - {name: bird.cfg, template: main}
      - {name: extra.cfg, template: extra}
  - name: bird6
    family: IPv6
    binary: bird6
    files:
      - {name: bird6.cfg, template: main}
`

const extra = `{{define "extra"}}# for {{.Node.Name}}{{end}}`

func TestOverlayWithItsOwnManifest(t *testing.T) {
	set := load(t, dir("set.yaml", goodManifest, "extra.tmpl", extra))
	want := []Target{
		{Name: "bird", Families: []bgp.Family{bgp.IPv4}, Binary: "bird", Files: []FileSpec{{Name: "bird.cfg", Template: "main", Family: bgp.IPv4}, {Name: "extra.cfg", Template: "extra", Family: bgp.IPv4}}},
		{Name: "bird6", Families: []bgp.Family{bgp.IPv6}, Binary: "bird6", Files: []FileSpec{{Name: "bird6.cfg", Template: "main", Family: bgp.IPv6}}},
	}
	if diff := cmp.Diff(want, set.Targets); diff != "" || set.Description != "ours" || set.Bird != "1.6" {
		t.Errorf("%q %q (-want +got):\n%s", set.Description, set.Bird, diff)
	}
	if got := text(t, set, views(t))["extra.cfg"]; got != "# for edge-1\n" {
		t.Errorf("extra.cfg is %q", got)
	}
	// It may be all that the directory holds.
	if got := load(t, dir("set.yaml", strings.ReplaceAll(goodManifest, "extra}", "pools}"))); len(got.Targets[0].Files) != 2 {
		t.Errorf("got %+v", got.Targets)
	}
}

func TestManifestProblems(t *testing.T) {
	replaced := func(pairs ...string) string {
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(goodManifest, pairs[i]) {
				t.Fatalf("the manifest does not contain %q", pairs[i])
			}
		}
		return strings.NewReplacer(pairs...).Replace(goodManifest)
	}
	for _, tt := range []struct {
		rule, manifest string
		want           []string
	}{
		{"empty", "", []string{`custom/set.yaml: error: the file is empty [template]`}},
		{"only comments", "# nothing\n", []string{`custom/set.yaml: error: the file is empty [template]`}},
		{"not YAML", "bird: \"1.6\"\na: b: c\n", []string{`custom/set.yaml:2: error: mapping values are not allowed in this context [template]`}},
		{"a list", "- a\n", []string{
			"custom/set.yaml:1: error: a list is not what belongs here [template]\n    hint: a mapping with the fields description, bird, targets does"}},
		{"no targets", "bird: \"1.6\"\n", []string{`custom/set.yaml: error: the set makes nothing: it has no targets [template]`}},
		{"a word for targets", "targets: none\n", []string{
			"custom/set.yaml:1: error: \"none\" is not what belongs here [template]\n    hint: a list does"}},
		{"a slip in a field", replaced("binary: bird6", "binray: bird6"), []string{
			"custom/set.yaml:12: error: there is no field \"binray\" here [template]\n    hint: did you mean \"binary\"?"}},
		{"a list for a name", replaced("name: bird6\n", "name: [bird6]\n"), []string{
			`custom/set.yaml:10: error: a word belongs here [template]`}},
		{"a field that is nothing like one", replaced("binary: bird6", "directory: /"), []string{
			"custom/set.yaml:12: error: there is no field \"directory\" here [template]\n    hint: the fields here are name, family, binary, files"}},
		{"a field of another place", replaced("binary: bird6", "template: main"), []string{
			"custom/set.yaml:12: error: there is no field \"template\" here [template]\n    hint: the fields here are name, family, binary, files"}},
		{"two documents", goodManifest + "---\n---\n# more\nbird: \"2\"\n", []string{
			"custom/set.yaml:18: error: a second document begins here, and only one is read [template]\n    hint: put it into a file of its own"}},
		{"two targets of one name", replaced("name: bird6\n", "name: bird\n"), []string{
			`custom/set.yaml:10: error: target "bird": there is one of this name at custom/set.yaml:4 already [template]`}},
		{"the same field twice", replaced("bird: \"1.6\"", "bird: \"1.6\"\nbird: \"2\""), []string{
			`custom/set.yaml:3: error: mapping key "bird" already defined at line 2 [template]`}},
		{"no name", replaced("name: bird\n", "binary: bird\n", "    binary: bird\n", ""), []string{
			`custom/set.yaml:5: error: target "": name, binary and files are required [template]`}},
		{"no binary", replaced("    binary: bird6\n", ""), []string{
			`custom/set.yaml:10: error: target "bird6": name, binary and files are required [template]`}},
		{"no files", replaced("    files:\n      - {name: bird6.cfg, template: main}\n", ""), []string{
			`custom/set.yaml:10: error: target "bird6": name, binary and files are required [template]`}},
		{"no family", replaced("    family: IPv6\n", ""), []string{
			`custom/set.yaml:10: error: target "bird6": family is IPv4, IPv6 or both, not "" [template]`}},
		{"unknown family", replaced("family: IPv6", "family: ipv6"), []string{
			`custom/set.yaml:11: error: target "bird6": family is IPv4, IPv6 or both, not "ipv6" [template]`}},
		{"no file name", replaced("name: bird6.cfg, ", ""), []string{
			`custom/set.yaml:10: error: target "bird6": "" is not a plain file name [template]`}},
		{"no template", replaced("bird6.cfg, template: main", "bird6.cfg"), []string{
			`custom/set.yaml:14: error: target "bird6": file "bird6.cfg": template is required [template]`}},
		{"a template that is not defined", replaced("bird6.cfg, template: main", "bird6.cfg, template: mian"), []string{
			"custom/set.yaml:14: error: file bird6.cfg asks for template \"mian\", which is not defined [template]\n    hint: did you mean \"main\"?"}},
		{"two targets with one file", replaced("bird6.cfg", "bird.cfg"), []string{
			`custom/set.yaml:14: error: target "bird6": file "bird.cfg" is made at custom/set.yaml:8 already [template]`}},
		{"a program that is a path", replaced("binary: bird6", "binary: ./bird6"), []string{
			`custom/set.yaml:12: error: target "bird6": binary "./bird6" is not the plain name of a program [template]`}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			set, problems := Load(builtin(t), dir("set.yaml", tt.manifest, "extra.tmpl", extra))
			if set != nil {
				t.Error("there is a Set all the same")
			}
			if diff := cmp.Diff(tt.want, texts(problems)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestManifestFileNamesStayInTheDirectory(t *testing.T) {
	for _, name := range []string{"../bird.cfg", "/etc/passwd", "a/b", "..", ".", ".hidden", "a\\\\b", "a b", "a\\nb", "-rf"} {
		manifest := strings.ReplaceAll(goodManifest, "name: extra.cfg", `name: "`+name+`"`)
		set, problems := Load(builtin(t), dir("set.yaml", manifest, "extra.tmpl", extra))
		if set != nil || len(problems) != 1 || !strings.HasSuffix(problems[0].Message, "is not a plain file name") || problems[0].Position.Line != 9 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestBaseWithoutManifest(t *testing.T) {
	_, problems := Load(dir("a.tmpl", extra))
	if diff := cmp.Diff([]string{"set.yaml: error: the set has no such file, which says what it makes [template]"}, texts(problems)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// dual has a target of both families: a file made of both Views includes one of each.
var dual = []string{"set.yaml", `bird: "2"
targets:
  - name: bird
    family: both
    binary: bird
    files:
      - {name: bird.cfg, template: first}
      - {name: four.cfg, template: part, family: IPv4}
      - {name: six.cfg, template: part, family: IPv6}
`, "a.tmpl", `{{define "first"}}{{range .All}}# {{.Family}}
{{end}}# {{with .IPv6}}six{{else}}no six{{end}}{{end}}{{define "part"}}# {{.Family}} of {{.Node.Name}}{{end}}`}

func TestTargetOfBothFamilies(t *testing.T) {
	set, problems := Load(dir(dual...))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	target := set.Targets[0]
	if target.FamilyName() != "both" {
		t.Errorf("the family is %s", target.FamilyName())
	}
	want := map[string]string{"bird.cfg": "# IPv4\n# IPv6\n# six\n", "four.cfg": "# IPv4 of edge-1\n", "six.cfg": "# IPv6 of edge-1\n"}
	if diff := cmp.Diff(want, text(t, set, views(t))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if target.ReadyFor(views(t).Only([]bgp.Family{bgp.IPv4})) || !target.ReadyFor(views(t)) {
		t.Error("it needs both Views")
	}

	four, ok := target.Only([]bgp.Family{bgp.IPv4})
	if !ok || four.FamilyName() != "IPv4" || !four.ReadyFor(views(t).Only([]bgp.Family{bgp.IPv4})) {
		t.Errorf("for IPv4 only it is %+v", four)
	}
	set.Targets[0] = four
	want = map[string]string{"bird.cfg": "# IPv4\n# no six\n", "four.cfg": "# IPv4 of edge-1\n",
		"six.cfg": "# Empty: this daemon is given no IPv6 configuration.\n"}
	if diff := cmp.Diff(want, text(t, set, views(t))); diff != "" {
		t.Errorf("for IPv4 only (-want +got):\n%s", diff)
	}
	if _, ok := target.Only(nil); ok {
		t.Error("a target is left for no family")
	}
}

func TestFamilyOfAFileProblem(t *testing.T) {
	_, problems := Load(dir(dual[0], strings.Replace(dual[1], "family: IPv6", "family: six", 1), dual[2], dual[3]))
	want := []string{`custom/set.yaml:9: error: target "bird": file "six.cfg": family is IPv4, IPv6 or both, not "six" [template]`}
	if diff := cmp.Diff(want, texts(problems)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
