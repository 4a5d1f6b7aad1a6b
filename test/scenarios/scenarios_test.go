// Package scenarios renders small stories and compares the results with what was recorded
// and read by a person: input, files, problems.
//
// Each archive in testdata/scenarios begins with the story in prose, and holds
//
//	args         YAML: node, and optionally env, family (ipv4, ipv6), files (those that
//	             the story is about; all when it does not say)
//	input.yaml   the cluster
//	problems     what is said about it, one problem after the other
//	bird.cfg …   the files, passwords concealed
//
// go test ./test/scenarios -update writes down what comes out; read it before you keep it.
package scenarios

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"gopkg.in/yaml.v3"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render"
	"github.com/birdconfd/birdconfd/test/fromtext"
	"github.com/birdconfd/birdconfd/test/shared"
)

var update = flag.Bool("update", false, "write down what comes out")

const (
	argsFile     = "args"
	inputFile    = "input.yaml"
	problemsFile = "problems"
)

// arguments are what a run gets besides its input.
type arguments struct {
	Node   string            `yaml:"node"`
	Env    map[string]string `yaml:"env"`
	Family string            `yaml:"family"`
	Files  []string          `yaml:"files"`
}

func TestScenarios(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(shared.Root(t), "testdata", "scenarios", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s := parse(t, archive)
			got := s.render(t)
			if *update {
				archive.Files = append(s.given, got...)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(byName(s.recorded), byName(got)); diff != "" {
				t.Errorf("(-recorded +got):\n%s", diff)
			}
			t.Run("BIRD", s.check)
		})
	}
}

func byName(files []txtar.File) map[string]string {
	out := map[string]string{}
	for _, f := range files {
		out[f.Name] = string(f.Data)
	}
	return out
}

// scenario is an archive taken apart.
type scenario struct {
	args            arguments
	input           []byte
	given, recorded []txtar.File
	// results are the files as BIRD is to get them.
	results map[string][]render.File // by target
	targets []render.Target
}

func parse(t *testing.T, archive *txtar.Archive) *scenario {
	t.Helper()
	var s scenario
	for _, f := range archive.Files {
		switch f.Name {
		case argsFile:
			d := yaml.NewDecoder(bytes.NewReader(f.Data))
			d.KnownFields(true)
			if err := d.Decode(&s.args); err != nil {
				t.Fatalf("%s: %v", argsFile, err)
			}
		case inputFile:
			s.input = f.Data
		default:
			s.recorded = append(s.recorded, f)
			continue
		}
		s.given = append(s.given, f)
	}
	if s.args.Node == "" || s.input == nil {
		t.Fatalf("%s with a node and %s are needed", argsFile, inputFile)
	}
	return &s
}

// render does what the program does, and gives what is to be recorded.
func (s *scenario) render(t *testing.T) []txtar.File {
	t.Helper()
	families := map[string][]bgp.Family{"": bgp.Families, "ipv4": {bgp.IPv4}, "ipv6": {bgp.IPv6}}[s.args.Family]
	if families == nil {
		t.Fatalf("there is no family %q", s.args.Family)
	}
	objects, problems := calico.Decode(inputFile, s.input)
	cluster, more := calico.NewCluster(objects, nil)
	problems = append(problems, more...)
	views, more := bgp.Compute(cluster, s.args.Node, bgp.Options{
		RouterID:            s.args.Env["CALICO_ROUTER_ID"],
		AdvertiseClusterIPs: s.args.Env["CALICO_ADVERTISE_CLUSTER_IPS"],
		Families:            families,
	})
	problems = append(problems, more...)
	set := fromtext.Set(t)
	var files []txtar.File
	s.targets, s.results = set.Targets, map[string][]render.File{}
	for _, target := range set.Targets {
		if !target.ReadyFor(views) {
			continue
		}
		s.results[target.Name], more = set.Render(target, render.Input{Views: views})
		problems = append(problems, more...)
		shown, _ := set.Render(target, render.Masked(render.Input{Views: views}))
		for _, f := range shown {
			if len(s.args.Files) == 0 || slices.Contains(s.args.Files, f.Name) {
				files = append(files, txtar.File{Name: f.Name, Data: f.Data})
			}
		}
	}
	for _, name := range s.args.Files {
		if !slices.ContainsFunc(files, func(f txtar.File) bool { return f.Name == name }) {
			t.Errorf("%s names %s, which does not come out", argsFile, name)
		}
	}
	calico.SortProblems(problems)
	var said []byte
	for _, p := range problems {
		said = append(said, p.String()+"\n"...)
	}
	return append([]txtar.File{{Name: problemsFile, Data: said}}, files...)
}

// check has BIRD check all files, those that the story is not about too.
func (s *scenario) check(t *testing.T) {
	binaries := map[string]string{"bird": birdtest.Bird(t), "bird6": birdtest.Bird6(t)}
	for _, target := range s.targets {
		files := s.results[target.Name]
		if files == nil {
			continue
		}
		dir := t.TempDir()
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := (bird.Checker{Binary: binaries[target.Binary]}).Check(t.Context(), filepath.Join(dir, target.Main())); err != nil {
			t.Errorf("BIRD refuses %s: %v", target.Name, err)
		}
	}
}
