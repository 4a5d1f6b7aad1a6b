package render

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// manual is docs/templates.md.
func manual(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "templates.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// codeBlocks returns the manual's blocks of a language.
func codeBlocks(text, language string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// section returns what stands below a heading.
func section(t *testing.T, text, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n"+heading+"\n")
	if !ok {
		t.Fatalf("the manual has no section %q", heading)
	}
	body, _, _ := strings.Cut(rest, "\n#")
	return body
}

// rows returns the first n cells of a section's table, without the head.
func rows(body string, n int) []string {
	var out []string
	for line := range strings.Lines(body) {
		cells := strings.Split(line, " | ")
		if strings.HasPrefix(line, "| `") && len(cells) > n {
			out = append(out, strings.TrimPrefix(strings.Join(cells[:n], " | "), "| "))
		}
	}
	return out
}

// structs returns the fields of a file's exported structs, as the manual has them.
func structs(t *testing.T, path string) map[string][]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok && spec.Name.IsExported() {
			for _, f := range s.Fields.List {
				var typ bytes.Buffer
				if err := printer.Fprint(&typ, token.NewFileSet(), f.Type); err != nil {
					t.Fatal(err)
				}
				for _, name := range f.Names {
					out[spec.Name.Name] = append(out[spec.Name.Name], fmt.Sprintf("`%s` | `%s`", name, typ.String()))
				}
			}
		}
		return false
	})
	return out
}

// TestManualNamesEveryField wants a section for every type that templates can reach, with
// all fields and their types in the order of the code.
func TestManualNamesEveryField(t *testing.T) {
	text := manual(t)
	all := structs(t, filepath.Join("..", "bgp", "view.go"))
	maps.Copy(all, structs(t, filepath.Join("..", "bgp", "views.go")))
	all["Community"] = structs(t, filepath.Join("..", "calico", "types.go"))["Community"]
	for name, want := range all {
		if diff := cmp.Diff(want, rows(section(t, text, "### "+name), 2)); diff != "" {
			t.Errorf("%s (-code +manual):\n%s", name, diff)
		}
		if _, ok := types[name]; !ok {
			t.Errorf("hints do not know the type %s", name)
		}
	}
	if len(types) != len(all)+1 { // and policyContext
		t.Errorf("hints know %d types, the manual %d", len(types), len(all))
	}
}

func TestManualNamesEveryMethod(t *testing.T) {
	text := manual(t)
	for _, v := range []any{&bgp.Views{}, &bgp.View{}, &bgp.Peer{}, &bgp.Policy{}, &bgp.FilterFunction{}, &calico.Community{}} {
		typ := reflect.TypeOf(v)
		for i := range typ.NumMethod() {
			if name := typ.Method(i).Name; name != "String" && !strings.Contains(text, "`."+name+"`") {
				t.Errorf("%s.%s is not in the manual", typ, name)
			}
		}
	}
}

func TestManualNamesEveryFunctionAndTemplate(t *testing.T) {
	text := manual(t)
	documented := rows(section(t, text, "## Functions"), 1)
	for name := range functions {
		if !strings.Contains(strings.Join(documented, "\n"), "`"+name+" ") {
			t.Errorf("function %s is not in the manual", name)
		}
	}
	if len(documented) != len(functions) {
		t.Errorf("the manual has %d functions, there are %d", len(documented), len(functions))
	}
	places := section(t, text, "## Fill a hook") + section(t, text, "## Replace a template")
	for _, tmpl := range append(load(t).tmpl.Templates(), loadBird2(t).tmpl.Templates()...) {
		if !strings.Contains(places, "`"+tmpl.Name()+"`") {
			t.Errorf("template %s is not in the manual", tmpl.Name())
		}
	}
}

func TestManualExamples(t *testing.T) {
	sample, err := os.ReadFile(filepath.Join("..", "..", "cmd", "birdconfd", "sample", "cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	objects, _ := calico.Decode("cluster.yaml", sample)
	c, _ := calico.NewCluster(objects, nil)
	v, _ := bgp.Compute(c, "ingress-1", bgp.Options{})
	texts := codeBlocks(manual(t), "text")
	if len(texts) != 3 {
		t.Fatalf("the manual has %d examples, want 3", len(texts))
	}
	got := text(t, load(t, dir("local.tmpl", texts[0])), v)
	for _, part := range []string{"\ntimeformat log iso long;\n", "\n  hold time 30;\n}\n", "\n  scan time 10;\n}\n", "  route 203.0.113.128/25 blackhole;\n}\n"} {
		if strings.Count(got["bird.cfg"], part) != 1 {
			t.Errorf("not once in bird.cfg: %q\n%s", part, got["bird.cfg"])
		}
	}
	if strings.Contains(got["bird6.cfg"], "203.0.113") || strings.Contains(got["bird6.cfg"], "import limit") {
		t.Errorf("bird6.cfg:\n%s", got["bird6.cfg"])
	}
	mustPass(t, got)
	masked := text(t, load(t, dir("local.tmpl", texts[0])), Masked(Input{Views: v}).Views)
	if !strings.Contains(masked["bird.cfg"], texts[1]) {
		t.Errorf("the manual shows\n%s\nbut bird.cfg is\n%s", texts[1], masked["bird.cfg"])
	}
	quiet := text(t, load(t, dir("quiet.tmpl", texts[2])), v)
	if strings.Contains(quiet["bird.cfg"], "debug") {
		t.Errorf("bird.cfg is not quiet:\n%s", quiet["bird.cfg"])
	}
	mustPass(t, quiet)
}

func TestManualManifest(t *testing.T) {
	manifests := codeBlocks(manual(t), "yaml")
	if len(manifests) != 1 {
		t.Fatalf("the manual has %d manifests, want 1", len(manifests))
	}
	if diff := cmp.Diff(load(t), load(t, dir("set.yaml", manifests[0])), cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().String() == ".tmpl" || p.Last().String() == ".confd" || p.Last().String() == ".broken"
	}, cmp.Ignore())); diff != "" {
		t.Errorf("it is not the set's own (-set +manual):\n%s", diff)
	}
}

// TestManualMessages provokes the messages in the manual.
func TestManualMessages(t *testing.T) {
	named := func(files ...string) Source { s := dir(files...); s.Label = "my-templates"; return s }
	var all strings.Builder
	add := func(problems []calico.Problem) {
		for _, p := range problems {
			all.WriteString(p.Message + "\n")
		}
	}
	for _, overlay := range []Source{
		named("a.tmpl", `{{define "debug"}}{{qoute "x"}}{{end}}`),
		named("a.tmpl", `{{define "debug"}}{{template "peeer"}}{{end}}`),
		named("a.tmpl", `{{define "hook-40-peers"}}{{end}}`),
		named("a.tmpl", `{{define "debug"}}{{end}}`, "b.tmpl", `{{define "debug"}}{{end}}`),
		named("a.tmpl", `scan time 10;`),
		named("a.tmpl", `{{define "peers"}}{{end}}`),
	} {
		_, problems := Load(builtin(t), overlay)
		add(problems)
	}
	for _, hook := range []string{"{{.HoldTime}}", "{{.ClusterID}}", "{{.Password}}", "{{quote \"\\\"\"}}"} {
		set := load(t, named("a.tmpl", `{{define "hook-40-peer"}}`+hook+`{{end}}`))
		_, problems := set.Render(set.Targets[0], Input{Views: views(t)})
		add(problems)
	}
	for _, row := range rows(section(t, manual(t), "## Messages"), 1) {
		message := strings.Trim(row, "`")
		// What BIRD says is tested with the program.
		if !strings.Contains(all.String(), message) && !strings.HasPrefix(message, "BIRD refuses the file: ") {
			t.Errorf("nothing says %q; there is\n%s", message, all.String())
		}
	}
}
