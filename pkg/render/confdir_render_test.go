package render

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// input is what node edge-1's files are made of.
func input(t *testing.T) Input {
	t.Helper()
	objects, _ := calico.Decode("cluster.yaml", []byte(cluster))
	c, _ := calico.NewCluster(objects, nil)
	return Input{Views: views(t), Cluster: c, Node: "edge-1", Getenv: func(string) (string, bool) { return "", false }}
}

// What fails is told with its place, what it was about and what to do, and only for its target.
func TestConfdirRender(t *testing.T) {
	root := tree(t, "conf.d/a.toml", resourceToml(src, dest, `prefix = "/calico"`, all, check), "conf.d/b.toml", resourceToml(`src = "b"`, `dest = "/etc/bird6/bird.cfg"`, all, `check_cmd = "bird6 -p"`),
		"templates/a", "ok\n  {{getv \"/bgp/v1/global/listen_prt\"}}", "templates/b", "router id {{hashToIPv4 (getenv \"NODENAME\")}};")
	c, _ := confdir(t, ConfdirOptions{Dir: root})
	files, problems := c.Set().Render(c.Targets[0].Target, input(t))
	want := []string{`templates/a:2:5: error: executing "templates/a" at <getv "/bgp/v1/global/listen_prt">: error calling getv: there is no key "/bgp/v1/global/listen_prt" [template]` + "\n    hint: did you mean \"listen_port\"?"}
	if diff := cmp.Diff(want, relative(problems, root)); diff != "" || files != nil {
		t.Errorf("%v (-want +got):\n%s", files, diff)
	}
	files, problems = c.Set().Render(c.Targets[1].Target, input(t))
	if len(files) != 1 || !strings.HasPrefix(string(files[0].Data), "router id ") || calico.HasErrors(problems) {
		t.Errorf("got %v, %v", files, problems)
	}
}

// A password is one wherever it stands, and concealed in what is shown.
func TestConfdirSecrets(t *testing.T) {
	root := tree(t, "conf.d/a.toml", resourceToml(src, dest, `prefix = "/calico"`, all, check), "templates/a",
		`{{range gets "/bgp/v1/*/peer_v4/*"}}{{.Value}}{{end}}{{range lsdir "/bgp/v1/host"}}{{range gets (printf "/bgp/v1/host/%s/peer_v4/*" .)}}{{(json .Value).password | printf "%v"}}
{{end}}{{end}}{{range (getBGPConfig 4 $).Peers}}{{.Password}}
{{end}}`)
	c, _ := confdir(t, ConfdirOptions{Dir: root})
	in := input(t)
	files, problems := c.Set().Render(c.Targets[0].Target, in)
	if files == nil || strings.Count(string(files[0].Data), canary) < 2 || !files[0].HasSecret {
		t.Fatalf("got %v, %v", files, problems)
	}
	shown, _ := c.Set().Render(c.Targets[0].Target, Masked(in))
	if strings.Contains(string(shown[0].Data), canary) || !strings.Contains(string(shown[0].Data), mask) {
		t.Errorf("shown is\n%s", shown[0].Data)
	}
	if strings.Contains(Conceal(in, string(files[0].Data)), canary) {
		t.Error("it is not concealed")
	}
	if err := os.WriteFile(filepath.Join(root, "templates", "a"), []byte(`{{range (getBGPConfig 4 .).Peers}}{{if .Password}}{{getv .Password}}{{end}}{{end}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ = confdir(t, ConfdirOptions{Dir: root})
	_, problems = c.Set().Render(c.Targets[0].Target, in)
	if len(problems) != 1 || strings.Contains(problems[0].String(), canary) {
		t.Errorf("got %v", problems)
	}
}

// A wait that no template writes is worth a word.
func TestConfdirUnusedWait(t *testing.T) {
	for text, want := range map[string]int{"router id 1.2.3.4;": 1, "{{with (getBGPConfig 4 .).GracefulRestartWait}}graceful restart wait {{.}};{{end}}": 0} {
		root := tree(t, "conf.d/a.toml", resourceToml(src, dest, all, check), "templates/a", text)
		c, _ := confdir(t, ConfdirOptions{Dir: root})
		in := input(t)
		if in.Views.IPv4.GracefulRestartWait == nil {
			t.Fatal("the cluster sets none")
		}
		files, problems := c.Set().Render(c.Targets[0].Target, in)
		if files == nil || len(problems) != want || want > 0 && (problems[0].Severity != calico.Warning || !strings.Contains(problems[0].Message, `no template of target "bird" writes it`)) {
			t.Errorf("%s: got %v, %v", text, files, problems)
		}
		own := *in.Cluster.Default()
		own.Name = "node.edge-1"
		in.Cluster.Configs[own.Name] = &own
		if _, problems := c.Set().Render(c.Targets[0].Target, in); want > 0 && problems[0].Resource != "BGPConfiguration/node.edge-1" {
			t.Errorf("the node's own is blamed on %s", problems[0].Resource)
		}
	}
}

// Passwords are known in whatever form JSON or a message gives them, and those that no session
// can use stay so in what is shown.
func TestConfdirOddPasswords(t *testing.T) {
	const text = `{{range (getBGPConfig 4 .).Peers}}{{.Name}}
{{end}}{{range gets "/bgp/v1/*/peer_v4/*"}}{{.Value}}{{end}}{{range lsdir "/bgp/v1/host"}}{{range gets (printf "/bgp/v1/host/%s/peer_v4/*" .)}}{{.Value}}
{{end}}{{end}}`
	root := tree(t, "conf.d/a.toml", resourceToml(src, dest, `prefix = "/calico"`, all, check), "templates/a", text)
	c, _ := confdir(t, ConfdirOptions{Dir: root})
	for value, peers := range map[string]bool{`a<b&c\d`: true, `with "quote`: false, "": false, strings.Repeat("x", 90): false} {
		in := input(t)
		changed := 0
		for _, s := range in.Cluster.Secrets {
			for key := range s.Data {
				s.Data[key] = []byte(value)
				changed++
			}
		}
		in.Views, _ = bgp.Compute(in.Cluster, "edge-1", bgp.Options{})
		files, problems := c.Set().Render(c.Targets[0].Target, in)
		if changed == 0 || files == nil {
			t.Fatalf("%d secrets, %v", changed, problems)
		}
		masked := Masked(in)
		masked.Views, _ = bgp.Compute(masked.Cluster, "edge-1", bgp.Options{}) // as templates of keys do
		shown, _ := c.Set().Render(c.Targets[0].Target, masked)
		if got, want := strings.Count(string(shown[0].Data), "\n"), strings.Count(string(files[0].Data), "\n"); got != want {
			t.Errorf("%q: %d lines are shown, but there are %d", value, got, want)
		}
		if files[0].HasSecret != peers {
			t.Errorf("%q: a secret is seen: %v", value, files[0].HasSecret)
		}
		if peers && strings.Contains(Conceal(in, string(files[0].Data)), "b&c") {
			t.Error("it is not concealed")
		}
	}
}

// The keys of the other family are there too.
func TestConfdirOfOneFamilySeesBoth(t *testing.T) {
	root := tree(t, "conf.d/a.toml", resourceToml(src, dest, `prefix = "/calico"`, all, check), "templates/a", `{{(getBGPConfig 4 .).NodeIP}} {{len (ls "/staticroutesv6")}} {{$v := 6}}{{(getBGPConfig $v .).NodeName}}`)
	c, _ := confdir(t, ConfdirOptions{Dir: root})
	in := input(t)
	in.Views.IPv6.ServiceRoutes = []bgp.Route{{Prefix: netip.MustParsePrefix("2001:db8:f::/48")}}
	in.All = in.Views
	if len(c.Targets[0].Families) != 1 {
		t.Fatal("the target is of both families")
	}
	files, problems := c.Set().Render(c.Targets[0].Target, in)
	if files == nil || !strings.HasSuffix(string(files[0].Data), " edge-1") || !strings.Contains(string(files[0].Data), " 1 ") {
		t.Errorf("got %v, %v", files, problems)
	}
}
