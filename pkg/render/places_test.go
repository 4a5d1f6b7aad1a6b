package render

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

func TestPlaces(t *testing.T) {
	root := tree(t, "conf.d/10.yaml", `targets:
  - name: bird
  - name: bird6
    directory: /etc/bird
    socket: /run/bird/bird6.ctl
`, "conf.d/20.yaml", `templates: broken
targets:
  - {name: third, family: IPv4, binary: bird, files: [{template: main.tmpl, name: third.cfg}], socket: none}
`, "broken/main.tmpl", `{{ if }}`)
	dir := filepath.Join(root, "conf.d")
	if c, _ := LoadConfig(dir); c != nil {
		t.Fatal("the templates are fine")
	}
	places, problems := Places(dir)
	if calico.HasErrors(problems) {
		t.Fatal(problems)
	}
	want := []Place{
		{"bird", "/etc/calico/confd/config", "/var/run/calico/bird.ctl"},
		{"bird6", "/etc/bird", "/run/bird/bird6.ctl"},
		{"third", "/etc/calico/confd/config", ""},
	}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlacesThatCannotBeRead(t *testing.T) {
	root := tree(t, "none/", "", "conf.d/10.yaml", "targets:\n  - name: bird\n    socket: relative\n", "form/10.yaml", "targets: 7\n", "dead/10.yaml", "->nowhere")
	for dir, want := range map[string]string{
		"absent": "the directory of targets cannot be read", "none": "there is no file in the directory of targets",
		"conf.d": `10.yaml:3: error: target "bird": socket "relative" is not an absolute path`, "form": "10.yaml:1: ", "dead": "10.yaml: error: cannot be read",
	} {
		places, problems := Places(filepath.Join(root, dir))
		if places != nil || len(problems) != 1 || !strings.Contains(problems[0].String(), want) {
			t.Errorf("%s: %v, %v, want %s", dir, places, problems, want)
		}
	}
}
