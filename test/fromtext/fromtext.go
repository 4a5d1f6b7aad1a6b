// Package fromtext goes the whole way from resources as text to files that BIRD has
// accepted, for tests: decoding, the snapshot, the calculation, the built-in templates, for
// BIRD 1.6 unless it says otherwise, and BIRD's own check. Nothing on that way is replaced by
// a double.
package fromtext

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render"
	"github.com/birdconfd/birdconfd/test/shared"
)

// Input is a cluster as text, and what does not come from the cluster.
type Input struct {
	Name      string // of the text, for positions
	Text      string
	Workloads []calico.WorkloadEndpoint
	Options   bgp.Options
	// Environment is what templates written for confd can ask for.
	Environment map[string]string
}

// Cluster is the snapshot of an Input.
type Cluster struct {
	*calico.Cluster
	Problems []calico.Problem // of decoding and of the snapshot
	options  bgp.Options
	getenv   func(string) (string, bool)
}

// Result is what one node gets.
type Result struct {
	Node     string
	Views    bgp.Views
	Problems []calico.Problem // of all stages, in their fixed order
	// Files holds the text of each rendered file by its name, such as bird.cfg. A family
	// that is withheld has none.
	Files map[string]string
	set   *render.Set
}

func builtin(name string) func() (*render.Set, []calico.Problem) {
	return sync.OnceValues(func() (*render.Set, []calico.Problem) {
		base, err := render.Builtin(name)
		if err != nil {
			return nil, []calico.Problem{{Severity: calico.Error, Message: err.Error()}}
		}
		return render.Load(base)
	})
}

var bird1, bird2 = builtin("bird1"), builtin("bird2")

// Set returns the built-in templates for BIRD 1.6.
func Set(t testing.TB) *render.Set { return loaded(t, bird1) }

// Bird2Set returns the built-in templates for BIRD 2 and 3.
func Bird2Set(t testing.TB) *render.Set { return loaded(t, bird2) }

// Releases are the last of Calico's releases with each of its template interfaces.
var Releases = []string{"3.31", "3.32", "3.33"}

// ConfdSet returns templates written for Calico's confd in the style of a release.
func ConfdSet(t testing.TB, release string) *render.Set {
	t.Helper()
	c, problems := render.LoadConfdir(render.ConfdirOptions{Dir: filepath.Join(shared.Root(t), "testdata", "confd", release)})
	if worst, ok := calico.Worst(problems); ok && worst != calico.Info {
		t.Fatal(problems)
	}
	return c.Set()
}

func loaded(t testing.TB, load func() (*render.Set, []calico.Problem)) *render.Set {
	t.Helper()
	set, problems := load()
	if len(problems) > 0 {
		t.Fatalf("the built-in templates do not load: %v", problems)
	}
	return set
}

// Decode makes a snapshot of the text.
func (in Input) Decode() *Cluster {
	objects, problems := calico.Decode(in.Name, []byte(in.Text))
	c, more := calico.NewCluster(objects, in.Workloads)
	getenv := func(name string) (string, bool) { v, ok := in.Environment[name]; return v, ok }
	return &Cluster{Cluster: c, Problems: append(problems, more...), options: in.Options, getenv: getenv}
}

// With is the same snapshot with other options.
func (c *Cluster) With(o bgp.Options) *Cluster { return &Cluster{c.Cluster, c.Problems, o, c.getenv} }

// Render renders one node's files; a template that fails ends the test.
func (c *Cluster) Render(t testing.TB, node string) *Result {
	t.Helper()
	return c.RenderWith(t, Set(t), node)
}

// RenderWith is Render with other templates than those for BIRD 1.6.
func (c *Cluster) RenderWith(t testing.TB, set *render.Set, node string) *Result {
	t.Helper()
	r, err := c.TryRender(set, node)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TryRender is Render for those who need the error.
func (c *Cluster) TryRender(set *render.Set, node string) (*Result, error) {
	r := &Result{Node: node, Files: map[string]string{}, set: set}
	var problems []calico.Problem
	r.Views, problems = bgp.Compute(c.Cluster, node, c.options)
	r.Problems = slices.Concat(c.Problems, problems)
	calico.SortProblems(r.Problems)
	for _, target := range set.Targets {
		if !target.ReadyFor(r.Views) {
			continue
		}
		files, problems := set.Render(target, render.Input{Views: r.Views, All: r.Views, Cluster: c.Cluster, Node: node, Options: c.options, Getenv: c.getenv})
		if files == nil {
			return nil, fmt.Errorf("%s for %s: %v", target.Name, node, problems)
		}
		for _, f := range files {
			r.Files[f.Name] = string(f.Data)
		}
	}
	return r, nil
}

// Check has BIRD check each daemon's files as a set.
func (r *Result) Check(t testing.TB) {
	t.Helper()
	if err := r.TryCheck(t); err != nil {
		t.Error(err)
	}
}

// TryCheck is Check for those who need the error. The statement that only Calico's own
// BIRD knows, krt_tunnel, is put in the form of one that every BIRD knows.
func (r *Result) TryCheck(t testing.TB) error {
	t.Helper()
	for _, target := range r.set.Targets {
		if !target.ReadyFor(r.Views) {
			continue
		}
		binary := birdtest.Bird(t)
		switch {
		case r.set == Bird2Set(t):
			binary = birdtest.Bird2(t)
		case target.Binary == "bird6":
			binary = birdtest.Bird6(t)
		}
		dir := t.TempDir()
		for _, f := range target.Files {
			data := strings.ReplaceAll(r.Files[f.Name], "krt_tunnel", "krt_metric")
			if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(data), 0o600); err != nil {
				return err
			}
		}
		if err := (bird.Checker{Binary: binary}).Check(t.Context(), filepath.Join(dir, target.Main())); err != nil {
			return fmt.Errorf("%s of %s is refused: %w\n%s", target.Name, r.Node, err, r.Files[target.Main()])
		}
	}
	return nil
}

// Equal reports whether two results have the same files, byte by byte, and the same problems.
func (r *Result) Equal(o *Result) bool {
	return maps.Equal(r.Files, o.Files) && slices.Equal(r.Problems, o.Problems)
}
