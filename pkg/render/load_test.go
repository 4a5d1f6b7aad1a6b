package render

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

func TestBuiltin(t *testing.T) {
	if diff := cmp.Diff([]string{"bird1", "bird2"}, BuiltinNames()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{"bird9", "shared", "", ".", "..", "../templates/bird1", "bird1/"} {
		_, err := Builtin(name)
		if err == nil || !strings.HasSuffix(err.Error(), "; there is: bird1, bird2") {
			t.Errorf("Builtin(%q): %v", name, err)
		}
	}
	set := load(t)
	if set.Bird != "1.6" || set.Description == "" || len(set.Targets) != 2 || set.Targets[1].Main() != "bird6.cfg" {
		t.Errorf("got %+v", set)
	}
}

func TestLoadProblems(t *testing.T) {
	const fill = `{{define "hook-40-peer"}}{{end}}`
	for _, tt := range []struct {
		rule    string
		overlay Source
		want    []string
	}{
		{"an unknown function", dir("local.tmpl", "{{define \"hook-40-peer\"}}\n{{qoute .Name}}{{end}}"),
			[]string{"custom/local.tmpl:2: error: function \"qoute\" not defined [template]\n    hint: did you mean \"quote\"?"}},
		{"a syntax error", dir("local.tmpl", "{{define \"hook-40-peer\"}}{{if .Passive}}{{end}}"),
			[]string{"custom/local.tmpl:1: error: unexpected EOF [template]"}},
		{"both of two bad files", dir("a.tmpl", "{{if}}", "b.tmpl", "\n{{lowre .Name}}"),
			[]string{"custom/a.tmpl:1: error: missing value for if [template]",
				"custom/b.tmpl:2: error: function \"lowre\" not defined [template]\n    hint: did you mean \"lower\"?"}},
		{"a slip in a hook's name", dir("local.tmpl", "\n{{define \"hook-40-peers\"}}{{end}}"),
			[]string{"custom/local.tmpl:2: error: \"hook-40-peers\" is not a hook of this set [template]\n    hint: did you mean \"hook-40-peer\"?"}},
		{"a hook that is nothing like one", dir("local.tmpl", "{{define \"hook-something-else\"}}{{end}}"),
			[]string{"custom/local.tmpl:1: error: \"hook-something-else\" is not a hook of this set [template]\n" +
				"    hint: hooks: hook-10-top, hook-20-kernel, hook-30-bgp-template, hook-40-peer, hook-90-end"}},
		{"text outside of define", dir("local.tmpl", "{{define \"hook-40-peer\"}}\n  hold time 30;\n{{end}}\n\n  scan time 10;\n"),
			[]string{"custom/local.tmpl:5: error: there is text outside of define, which is never rendered [template]\n" +
				"    hint: put it between {{define \"NAME\"}} and {{end}}"}},
		{"an action outside of define", dir("local.tmpl", fill+"\n{{ .Name }}"),
			[]string{"custom/local.tmpl:2: error: there is text outside of define, which is never rendered [template]\n" +
				"    hint: put it between {{define \"NAME\"}} and {{end}}"}},
		{"one template in two files", dir("a.tmpl", fill, "b.tmpl", "\n"+fill),
			[]string{"custom/b.tmpl:2: error: template \"hook-40-peer\" is defined at custom/a.tmpl:1 too [template]\n" +
				"    hint: keep one of the two, or put both texts into one"}},
		{"a call of a template that is not there, also in a branch",
			dir("local.tmpl", "{{define \"hook-40-peer\"}}{{if .Passive}}{{else}}\n  {{template \"coment\" .}}{{end}}{{end}}"),
			[]string{"custom/local.tmpl:2:14: error: template \"coment\" is not defined [template]"}},
		{"a call with a slip", dir("local.tmpl", `{{define "hook-90-end"}}{{range .Peers}}{{template "peeer" .}}{{end}}{{end}}`),
			[]string{"custom/local.tmpl:1:52: error: template \"peeer\" is not defined [template]\n    hint: did you mean \"peer\"?"}},
		{"a call in a template that another calls", dir("local.tmpl", `{{define "hook-90-end"}}{{with .Node}}{{template "mine" .}}{{end}}{{end}}{{define "mine"}}{{template "yours"}}{{end}}`),
			[]string{"custom/local.tmpl:1:102: error: template \"yours\" is not defined [template]"}},
		{"a directory with other files only", dir("hooks.tpl", fill, ".hidden.tmpl", fill, "hooks.tmpl~", fill, "sub/hooks.tmpl", fill),
			[]string{"custom: error: there is no template in the directory [unreadable]\n    hint: templates are in files that end in .tmpl"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			set, problems := Load(builtin(t), tt.overlay)
			if set != nil {
				t.Error("there is a Set all the same")
			}
			if diff := cmp.Diff(tt.want, texts(problems)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadWarnings(t *testing.T) {
	set, problems := Load(builtin(t), dir("local.tmpl", "{{define \"peers\"}}{{end}}\n{{define \"rack\"}}{{end}}"))
	want := []string{
		"custom/local.tmpl:1: warning: nothing calls template \"peers\", so it has no effect [template]\n    hint: did you mean \"peer\"?",
		"custom/local.tmpl:2: warning: nothing calls template \"rack\", so it has no effect [template]\n    hint: call it with {{template \"rack\" .}}, or remove it",
	}
	if diff := cmp.Diff(want, texts(problems)); diff != "" || set == nil {
		t.Errorf("set %v (-want +got):\n%s", set, diff)
	}
}

func TestLoadUnreadable(t *testing.T) {
	missing := t.TempDir() + "/absent"
	_, problems := Load(builtin(t), osDir(missing))
	if diff := cmp.Diff([]string{missing + ": error: the directory of templates cannot be read: no such file or directory [unreadable]"}, texts(problems)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, problems = Load(builtin(t), Source{FS: fstest.MapFS{"a.tmpl/b": &fstest.MapFile{}}, Label: "custom"})
	if len(problems) != 1 || problems[0].Rule != calico.RuleUnreadable || problems[0].Position.File != "custom/a.tmpl" {
		t.Errorf("a directory called a.tmpl: %v", problems)
	}
}

// A file of an operator counts for what it defines, not for its name: one that is called
// like a file of the set takes nothing else away.
func TestOverlayFileWithTheNameOfABuiltinOne(t *testing.T) {
	got := text(t, load(t, dir("hooks.tmpl", "{{define \"hook-40-peer\"}}\n  hold time 30;{{end}}")), views(t))["bird.cfg"]
	if strings.Count(got, "  hold time 30;\n}") != 2 || !strings.Contains(got, "protocol kernel") {
		t.Errorf("got\n%s", got)
	}
}

func TestOverlayReplacesOneTemplate(t *testing.T) {
	v := views(t)
	before := text(t, load(t), v)["bird.cfg"]
	for _, tt := range []struct{ rule, overlay, old, new string }{
		{"with another text", "{{define \"debug\"}}\n  debug { routes };{{end}}", "  debug all;\n  scan", "  debug { routes };\n  scan"},
		{"with nothing", `{{define "debug"}}{{end}}`, "  debug all;\n  scan", "  scan"},
		{"with blanks only", "{{define \"debug\"}}\n\n{{end}}", "  debug all;\n  scan", "\n  scan"},
		{"with a call of another", `{{define "debug"}}{{template "bgp-debug" .}}{{end}}`, "", ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got := text(t, load(t, dir("debug.tmpl", tt.overlay)), v)["bird.cfg"]
			if !strings.Contains(before, tt.old) || (tt.old != "" && strings.Contains(got, tt.old)) || !strings.Contains(got, tt.new) {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

// The label of a directory is what the user wrote, and can be that of the built-in set.
func TestOverlayWithTheLabelOfTheBase(t *testing.T) {
	overlay := dir("local.tmpl", "{{define \"hook-90-end\"}}# mine{{end}}")
	overlay.Label = builtin(t).Label
	if got := text(t, load(t, overlay), views(t))["bird.cfg"]; !strings.HasSuffix(got, "# mine\n") {
		t.Errorf("got\n%s", got)
	}
	overlay.FS = fstest.MapFS{"local.tmpl": &fstest.MapFile{Data: []byte(`{{define "hook-91-end"}}{{end}}`)}}
	if _, problems := Load(builtin(t), overlay); len(problems) != 1 {
		t.Errorf("a slip in a hook's name: %v", problems)
	}
}

func TestLaterOverlaysWin(t *testing.T) {
	first := dir("x.tmpl", `{{define "hook-90-end"}}# first{{end}}{{define "hook-10-top"}}# top{{end}}`)
	second := dir("x.tmpl", `{{define "hook-90-end"}}# second{{end}}`)
	got := text(t, load(t, first, second), views(t))["bird.cfg"]
	if !strings.HasSuffix(got, "# second\n") || strings.Contains(got, "# first") || !strings.Contains(got, "# top") {
		t.Errorf("got\n%s", got)
	}
}

// Whoever removes his last template means just that.
func TestEmptyDirectoryOfTemplates(t *testing.T) {
	set, problems := Load(builtin(t), dir(".hidden", ""))
	want := []string{"custom: warning: the directory of templates is empty, so only the built-in ones are used [template]"}
	if diff := cmp.Diff(want, texts(problems)); diff != "" || set == nil {
		t.Errorf("set %v (-want +got):\n%s", set, diff)
	}
}
