package render

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// A cluster with one of everything that leads to a line of its own.
//
//go:embed testdata/cluster.yaml
var cluster string

// canary is the password in the cluster; no message may show it.
const canary = "canary-5ecret"

// views computes the Views of node edge-1, after replacing pairs of texts in the cluster.
func views(t *testing.T, replace ...string) bgp.Views {
	t.Helper()
	text := cluster
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			t.Fatalf("the cluster does not contain %q", replace[i])
		}
		text = strings.ReplaceAll(text, replace[i], replace[i+1])
	}
	objects, problems := calico.Decode("cluster.yaml", []byte(text))
	c, more := calico.NewCluster(objects, nil)
	v, evenMore := bgp.Compute(c, "edge-1", bgp.Options{})
	for _, p := range append(append(problems, more...), evenMore...) {
		if p.Severity == calico.Error {
			t.Fatalf("the cluster has a problem: %v", p)
		}
	}
	return v
}

// dir is an operator's directory of templates, named custom, from names and texts.
func dir(files ...string) Source {
	m := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		m[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return Source{FS: m, Label: "custom"}
}

func builtin(t *testing.T) Source {
	t.Helper()
	base, err := Builtin("bird1")
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// load loads the built-in set with overlays, which must be fine.
func load(t *testing.T, overlay ...Source) *Set {
	t.Helper()
	set, problems := Load(builtin(t), overlay...)
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	return set
}

// text renders all files of all targets, by name.
func text(t *testing.T, set *Set, v bgp.Views) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, target := range set.Targets {
		files, problems := set.Render(target, Input{Views: v})
		if len(problems) > 0 {
			t.Fatalf("%s: %v", target.Name, problems)
		}
		for _, f := range files {
			out[f.Name] = string(f.Data)
		}
	}
	return out
}

// mustPass has BIRD check the files of both daemons.
func mustPass(t *testing.T, files map[string]string) {
	t.Helper()
	at := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(at, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for main, binary := range map[string]string{"bird.cfg": birdtest.Bird(t), "bird6.cfg": birdtest.Bird6(t)} {
		if err := (bird.Checker{Binary: binary}).Check(context.Background(), filepath.Join(at, main)); err != nil {
			t.Errorf("BIRD refuses %s: %v", main, err)
		}
	}
}

func texts(problems []calico.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return out
}

// osDir is a directory of the file system, as --templates gives it.
func osDir(path string) Source { return Source{FS: os.DirFS(path), Label: path} }
