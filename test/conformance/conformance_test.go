// Package conformance compares what birdconfd renders with what Calico's confd renders
// for the same input, by meaning.
package conformance

import (
	"errors"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore/file"
	"github.com/birdconfd/birdconfd/test/fromtext"
	"github.com/birdconfd/birdconfd/test/shared"
)

var update = flag.Bool("update", false, "rewrite the recorded differences")

type scenario struct {
	Name           string            `yaml:"name"`
	Node           string            `yaml:"node"`
	Env            map[string]string `yaml:"env"`
	Steps          []string          `yaml:"steps"`
	EndpointStatus string            `yaml:"endpoint_status"`
	NeedsTunnel    bool              `yaml:"needs_krt_tunnel"`
}

// TestScenarios renders every step of every scenario. A step that differs from Calico on
// purpose has its difference recorded under testdata/conformance, exactly, and the scenario
// is named in docs/differences.md with the reason.
func TestScenarios(t *testing.T) {
	n := find(t)
	for _, f := range scenarioFiles(t, n.dir) {
		s := readScenario(t, f)
		for _, step := range s.Steps {
			t.Run(s.Name+"/"+step, func(t *testing.T) {
				t.Parallel()
				stepDir := filepath.Join(filepath.Dir(f), step)
				actual := t.TempDir()
				problems := renderStep(t, s, stepDir, actual, n.birds)
				got := difference(t, n.comparer, filepath.Join(stepDir, "expected"), actual)
				for _, p := range problems {
					if p.Severity == calico.Error {
						got += "problem: " + strings.ReplaceAll(p.String(), stepDir+"/", "") + "\n"
					}
				}
				compareRecorded(t, "", s.Name, step, got, n.documented)
			})
		}
	}
}

// needs are what comparing needs.
type needs struct {
	dir      string            // of the scenarios
	comparer string            // the program that compares
	birds    map[string]string // BIRD's programs by their names
	// documented is the page that names the differences.
	documented string
}

func find(t *testing.T) needs {
	t.Helper()
	n := needs{dir: shared.Dir(t, "conformance"), birds: map[string]string{"bird": birdtest.Bird(t), "bird6": birdtest.Bird6(t)}}
	n.comparer = filepath.Join(n.dir, "birdcmp.py")
	if _, err := exec.LookPath("python3"); err != nil {
		shared.Skip(t, "comparing needs python3")
	}
	documented, err := os.ReadFile(filepath.Join(shared.Root(t), "docs", "differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	n.documented = string(documented)
	return n
}

func scenarioFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "scenario.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in %s: %v", dir, err)
	}
	return files
}

// TestBird2AcceptsEveryScenario renders every step for BIRD 2, which must accept it. There
// is nothing of Calico's to compare with.
func TestBird2AcceptsEveryScenario(t *testing.T) {
	birdtest.Bird2(t)
	for _, f := range scenarioFiles(t, shared.Dir(t, "conformance")) {
		s := readScenario(t, f)
		for _, step := range s.Steps {
			t.Run(s.Name+"/"+step, func(t *testing.T) {
				t.Parallel()
				cluster, _ := decodeStep(t, s, filepath.Join(filepath.Dir(f), step))
				r := cluster.RenderWith(t, fromtext.Bird2Set(t), s.Node)
				for name, text := range r.Files {
					if strings.Contains(text, "krt_tunnel") {
						t.Errorf("%s has what only Calico's own BIRD knows", name)
					}
				}
				r.Check(t)
			})
		}
	}
}

func readScenario(t *testing.T, path string) scenario {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s scenario
	if err := yaml.Unmarshal(data, &s); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return s
}

// decodeStep reads a step's input. The problems are those of reading files beside it.
func decodeStep(t *testing.T, s scenario, stepDir string) (*fromtext.Cluster, []calico.Problem) {
	t.Helper()
	input := filepath.Join(stepDir, "input.yaml")
	text, err := os.ReadFile(input)
	if err != nil {
		t.Fatal(err)
	}
	in := fromtext.Input{Name: input, Text: string(text), Environment: s.Env, Options: bgp.Options{
		RouterID:            s.Env["CALICO_ROUTER_ID"],
		AdvertiseClusterIPs: s.Env["CALICO_ADVERTISE_CLUSTER_IPS"],
		KubernetesNode:      s.Env["CALICO_K8S_NODE_REF"],
	}}
	var problems []calico.Problem
	if s.EndpointStatus != "" {
		in.Workloads, problems = file.LoadEndpointStatus(filepath.Join(stepDir, s.EndpointStatus))
	}
	return in.Decode(), problems
}

// renderStep renders a step into a directory and has BIRD check it.
func renderStep(t *testing.T, s scenario, stepDir, out string, birds map[string]string) []calico.Problem {
	t.Helper()
	cluster, problems := decodeStep(t, s, stepDir)
	r := cluster.Render(t, s.Node)
	for name, text := range r.Files {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, target := range fromtext.Set(t).Targets {
		checkStep(t, s, birds[target.Binary], filepath.Join(out, target.Main()), r)
	}
	return append(problems, r.Problems...)
}

// checkStep has BIRD check a step. Where the step needs Calico's own BIRD, Debian's must
// refuse exactly the statement that only the other knows, and accept the rest.
func checkStep(t *testing.T, s scenario, binary, main string, r *fromtext.Result) {
	t.Helper()
	err := bird.Checker{Binary: binary}.Check(t.Context(), main)
	if !s.NeedsTunnel || err == nil {
		if err != nil {
			t.Errorf("BIRD refuses: %v", err)
		}
		return
	}
	refused, ok := errors.AsType[*bird.ConfigError](err)
	if !ok {
		t.Fatal(err)
	}
	lines := strings.Split(r.Files[filepath.Base(refused.File)], "\n")
	if refused.Line > len(lines) || !strings.Contains(lines[refused.Line-1], "krt_tunnel") {
		t.Fatalf("BIRD refuses something else than krt_tunnel: %v", err)
	}
	r.Check(t) // with another word in its place
}

// difference compares two directories: everything that sessions do, with filters put in
// place of their names, and then by name the functions and filters that Calico has too.
func difference(t *testing.T, comparer, expected, actual string) string {
	t.Helper()
	out, err := exec.Command("python3", comparer, "--inline", expected, actual).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("%v: %s", err, out)
	}
	want, got := definitions(t, comparer, expected), definitions(t, comparer, actual)
	for name := range got {
		if _, known := want[name]; !known && isPolicy(name) {
			delete(got, name)
		}
	}
	return string(out) + differingDefinitions(want, got)
}

// differingDefinitions shows both forms of each definition that is not the same.
func differingDefinitions(want, got map[string]string) string {
	all := maps.Clone(want)
	maps.Copy(all, got)
	var b strings.Builder
	for _, heading := range slices.Sorted(maps.Keys(all)) {
		if want[heading] == got[heading] {
			continue
		}
		b.WriteString(heading + "\n")
		for line := range strings.Lines(want[heading]) {
			b.WriteString("  - " + line)
		}
		for line := range strings.Lines(got[heading]) {
			b.WriteString("  + " + line)
		}
	}
	return b.String()
}

// isPolicy recognises the shared filters that take the place of Calico's inline ones.
func isPolicy(heading string) bool {
	name := strings.TrimPrefix(heading[strings.Index(heading, ": ")+2:], "filter ")
	return strings.HasPrefix(strings.Trim(name, "'"), "calico_import") || strings.HasPrefix(strings.Trim(name, "'"), "calico_export")
}

// definitions returns the normal form of the functions and filters of a directory, by file
// and heading.
func definitions(t *testing.T, comparer, dir string) map[string]string {
	t.Helper()
	out, err := exec.Command("python3", comparer, "--canon", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	all := map[string]string{}
	var daemon, heading string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "### "):
			daemon = strings.TrimPrefix(line, "### ")
		case line == "}":
			heading = ""
		case strings.HasPrefix(line, "function "), strings.HasPrefix(line, "filter "):
			heading = daemon + ": " + strings.TrimSuffix(line, " {")
			all[heading] = ""
		case heading != "":
			all[heading] += line + "\n"
		}
	}
	if len(all) == 0 {
		t.Fatalf("no functions in %s", dir)
	}
	return all
}

// compareRecorded compares a step's differences with those that are recorded.
func compareRecorded(t *testing.T, of, name, step, got, documented string) {
	t.Helper()
	path := filepath.Join(shared.Root(t), "testdata", "conformance", of+strings.ReplaceAll(name, "/", "_")+"_"+step+".diff")
	if *update {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if got != "" {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("differs from Calico otherwise than recorded in %s:\n%s", filepath.Base(path), got)
	}
	if len(want) > 0 && !slices.Contains(strings.FieldsFunc(documented, func(r rune) bool { return r == '`' || r == ' ' || r == '\n' }), name) {
		t.Errorf("%s differs from Calico, but docs/differences.md does not name it", name)
	}
}
