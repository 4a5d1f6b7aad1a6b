// Package docs tests that what the documentation says is so.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render"
	"github.com/birdconfd/birdconfd/test/fromtext"
	"github.com/birdconfd/birdconfd/test/shared"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(shared.Root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var block = regexp.MustCompile("(?s)```(\\w+)\n(.*?)```")

func blocks(text, language string) []string {
	var out []string
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		if m[1] == language {
			out = append(out, m[2])
		}
	}
	return out
}

// TestReadmeExample renders the README's example: its problem and both excerpts must be
// what comes out.
func TestReadmeExample(t *testing.T) {
	readme := read(t, "README.md")
	inputs, texts := blocks(readme, "yaml"), blocks(readme, "text")
	if len(inputs) != 1 || len(texts) != 3 {
		t.Fatalf("README has %d yaml and %d text blocks, want 1 and 3", len(inputs), len(texts))
	}
	r := fromtext.Input{Name: "cluster.yaml", Text: inputs[0]}.Decode().Render(t, "ingress-1")
	if len(r.Problems) != 1 || r.Problems[0].String()+"\n" != texts[0] {
		t.Errorf("problems are %v, the README says\n%s", r.Problems, texts[0])
	}
	for _, excerpt := range texts[1:] {
		if !strings.Contains(r.Files["bird.cfg"], excerpt) {
			t.Errorf("the README shows\n%s\nbut bird.cfg is\n%s", excerpt, r.Files["bird.cfg"])
		}
	}
}

// TestAnnotationExample reads the example of the annotation that carries our field.
func TestAnnotationExample(t *testing.T) {
	examples := blocks(read(t, "docs/resources.md"), "yaml")
	if len(examples) != 1 {
		t.Fatalf("%d yaml blocks, want 1", len(examples))
	}
	objects, problems := calico.Decode("example.yaml", []byte(examples[0]))
	if len(objects) != 1 || len(problems) > 0 {
		t.Fatalf("%d objects, problems %v", len(objects), problems)
	}
	if w := objects[0].(*calico.BGPConfiguration).GracefulRestartWait; w == nil || w.Seconds() != 30 {
		t.Errorf("wait is %v, want 30s", w)
	}
}

// TestRulesAreDocumented wants a line in docs/problems.md for each rule, and a rule for
// each line.
func TestRulesAreDocumented(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(shared.Root(t), "pkg/calico/rules.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if rule, err := strconv.Unquote(l.Value); err == nil {
				rules[rule] = false
			}
		}
		return true
	})
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(read(t, "docs/problems.md"), -1) {
		if documented, known := rules[m[1]]; !known || documented {
			t.Errorf("docs/problems.md: rule %q is not a rule, or is there twice", m[1])
		}
		rules[m[1]] = true
	}
	for rule, documented := range rules {
		if !documented {
			t.Errorf("docs/problems.md does not explain rule %q", rule)
		}
	}
}

// TestLinks wants every relative link to lead somewhere.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(shared.Root(t), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, filepath.Join(shared.Root(t), "README.md"))
	link := regexp.MustCompile(`\]\(([^)#]+)\)`)
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: link to %s leads nowhere", filepath.Base(page), m[1])
			}
		}
	}
}

// TestHooksFile wants the file for operators to have every hook of the built-in set, and
// to change nothing as it is.
func TestHooksFile(t *testing.T) {
	base, err := render.Builtin("bird1")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(shared.Root(t), "etc", "templates")
	if _, problems := render.Load(base, render.Source{FS: os.DirFS(dir), Label: "etc/templates"}); len(problems) > 0 {
		t.Error(problems)
	}
	hook := regexp.MustCompile(`\{\{define "(hook-[^"]+)"\}\}`)
	builtin, ours := read(t, "templates/bird1/hooks.tmpl"), read(t, "etc/templates/hooks.tmpl")
	for _, m := range hook.FindAllStringSubmatch(builtin, -1) {
		if !strings.Contains(ours, m[0]) {
			t.Errorf("etc/templates/hooks.tmpl lacks %s", m[1])
		}
	}
}
