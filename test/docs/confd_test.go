package docs

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/render"
	"github.com/birdconfd/birdconfd/pkg/render/confd"
	"github.com/birdconfd/birdconfd/test/fromtext"
)

const migrating = "docs/migrating-from-confd.md"

// TestMigratingNamesEverything wants the page to name each function, each field of conf.d, and
// all that our object has besides Calico's.
func TestMigratingNamesEverything(t *testing.T) {
	page := read(t, migrating)
	own := map[string]bool{"print": true, "printf": true, "println": true, "html": true, "js": true, "urlquery": true} // text/template's
	for _, name := range confd.FunctionNames() {
		if !own[name] && !strings.Contains(page, "`"+name+"`") {
			t.Errorf("it does not name %s", name)
		}
	}
	for _, of := range []any{confd.Config{}, confd.Peer{}} {
		typ := reflect.TypeOf(of)
		for _, name := range []string{"GracefulRestartWait", "GracefulRestartOff", "Why"} {
			if _, has := typ.FieldByName(name); has && !strings.Contains(page, "`."+name+"`") {
				t.Errorf("it does not name .%s", name)
			}
		}
	}
	for _, field := range strings.Fields("src dest keys prefix mode uid gid owner check_cmd reload_cmd") {
		if !regexp.MustCompile("(?m)^\\|[^|]*`" + field + "`[^|]*\\|").MatchString(page) {
			t.Errorf("no row is about %s", field)
		}
	}
}

// confdir is a confd directory with one template.
func confdir(t *testing.T, template string) *render.Config {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"conf.d/bird.toml":            "[template]\nsrc = \"bird.cfg.template\"\ndest = \"/etc/calico/confd/config/bird.cfg\"\nprefix = \"/calico\"\nkeys = [\"/bgp/v1\", \"/bgpconfig\"]\ncheck_cmd = \"bird -p -c {{.src}}\"\n",
		"templates/bird.cfg.template": template,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, problems := render.LoadConfdir(render.ConfdirOptions{Dir: dir})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

// TestMigratingExamples renders the page's pieces of templates, and its error.
func TestMigratingExamples(t *testing.T) {
	texts := blocks(read(t, migrating), "text")
	if len(texts) != 3 {
		t.Fatalf("the page has %d text blocks, want 3", len(texts))
	}
	cluster := fromtext.Input{Name: "c.yaml", Environment: map[string]string{"NODENAME": "a"}, Text: `
apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {name: default}
spec: {gracefulRestartWait: 30s}
---
apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {name: node.a}
spec: {gracefulRestartWait: 5s}
---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: a}
spec: {bgp: {ipv4Address: 192.0.2.1/24}}
---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: b}
spec: {bgp: {ipv4Address: 192.0.2.2/24}}
`}.Decode()
	r := cluster.RenderWith(t, confdir(t, texts[1]+"{{range (getBGPConfig 4 .).Peers}}"+texts[2]+"{{end}}").Set(), "a")
	if got := strings.Join(strings.Fields(r.Files["bird.cfg"]), " "); got != "graceful restart wait 5;" {
		t.Errorf("they make %q", got)
	}
	off := confdir(t, "{{range (getBGPConfig 4 .).Peers}}"+texts[2]+"{{end}}").Set()
	r.Views.IPv4.Peers[0].GracefulRestartOff = true
	files, problems := off.Render(off.Targets[0], render.Input{Views: r.Views, Cluster: cluster.Cluster, Node: "a"})
	if files == nil || strings.TrimSpace(string(files[0].Data)) != "graceful restart off;" {
		t.Errorf("with a peer that has it off they make %v, %v", files, problems)
	}
	_, err := cluster.TryRender(confdir(t, strings.Repeat("\n", 6)+`{{- $x := 1}} {{getv "/bgp/v1/global/svc_cluster_ips"}}`).Set(), "a")
	want := regexp.MustCompile(`(?m)^.*(error calling getv.*|hint: .*)$`).FindAllStringSubmatch(texts[0], -1)
	if err == nil || len(want) != 2 || !strings.Contains(err.Error(), want[0][1]) || !strings.Contains(err.Error(), want[1][1]) {
		t.Errorf("the page has %q, the error is %v", want, err)
	}
}
