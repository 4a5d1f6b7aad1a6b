package render

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// confManual is docs/conf.d.md.
func confManual(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "conf.d.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestConfigManualNamesEveryField wants the tables to have all fields in the order of the
// code, with the defaults that are constants there.
func TestConfigManualNamesEveryField(t *testing.T) {
	manual := confManual(t)
	form := formOf(reflect.TypeFor[configForm]())
	reload := form["render.reloadForm"]
	for heading, want := range map[string][]string{
		"### Of the file": form["render.configForm"],
		"### Of a target": form["render.targetForm"],
		// What belongs to signal stands below it.
		"### Of reload": append([]string{reload[0]}, append(form["render.signalForm"], reload[1:]...)...),
	} {
		var got []string
		for _, row := range rows(section(t, manual, heading), 1) {
			got = append(got, strings.Trim(row, "`"))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-code +manual):\n%s", heading, diff)
		}
	}
	for _, row := range []string{
		"| `set` | `" + defaultSet + "` |", "| `check` | `" + string(CheckRequire) + "` |", "| `directory` | `" + DefaultDirectory + "` |",
		"| `socket` | `" + defaultSockets + "/NAME.ctl`;", "| `name` | `" + signals[0] + "` |", "| `timeout` | `" + defaultReloadTimeout.String() + "` |",
	} {
		if !strings.Contains(manual, row) {
			t.Errorf("the manual has no row %s", row)
		}
	}
}

func TestConfigManualExamples(t *testing.T) {
	examples := codeBlocks(confManual(t), "yaml")
	if len(examples) != 2 {
		t.Fatalf("the manual has %d examples, want 2", len(examples))
	}
	short := config(t, tree(t, "conf.d/a.yaml", examples[0]))
	explicit, problems := LoadConfig(filepath.Join("..", "..", "etc", "conf.d"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(explicit.Targets, short.Targets, plain); diff != "" {
		t.Errorf("the first is not etc/conf.d/calico-node.yaml in short (-file +manual):\n%s", diff)
	}
	second := t.TempDir()
	example := strings.Replace(examples[1], "/etc/birdconfd/templates", second, 1)
	if example == examples[1] {
		t.Fatal("the second has no absolute directory of templates")
	}
	if err := os.WriteFile(filepath.Join(second, "about.tmpl"), []byte(`{{define "about"}}{{.Node.Name}}{{end}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config(t, tree(t, "conf.d/a.yaml", example, "templates/own.tmpl", `{{define "hook-10-top"}}{{end}}`))
	if got := []string{c.Targets[0].Socket, c.Targets[1].Reload.Signal.PIDFile}; len(c.Targets) != 2 || *c.Targets[0].Owner != (Owner{}) ||
		!cmp.Equal(got, []string{"/run/bird/bird.ctl", "/run/bird-edge.pid"}) {
		t.Errorf("got %+v", c.Targets)
	}
}

// TestConfigManualModes wants the spellings of a mode in the manual to mean one thing.
func TestConfigManualModes(t *testing.T) {
	body := section(t, confManual(t), "## Modes are octal")
	line, _, _ := strings.Cut(body, " are the same mode")
	for _, written := range strings.Split(strings.NewReplacer("`", "", " and ", ", ", "\n", "").Replace(line), ", ") {
		if got := config(t, tree(t, "conf.d/a.yaml", "targets: [{name: bird, mode: "+written+"}]\n")).Targets[0].Mode; got != 0o640 {
			t.Errorf("mode: %s means %04o", written, got)
		}
	}
}
