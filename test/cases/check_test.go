package cases

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/test/fromtext"
)

// render renders one node and holds it to what is expected of every case: BIRD accepts all
// files as a set, the same input gives the same bytes and problems once more, and no
// problem holds a secret of the input.
func render(t *testing.T, in fromtext.Input, node string) *fromtext.Result {
	t.Helper()
	return renderFrom(t, in, in.Decode(), node)
}

// renderAll does so for all nodes of the cluster.
func renderAll(t *testing.T, in fromtext.Input) map[string]*fromtext.Result {
	t.Helper()
	c := in.Decode()
	all := map[string]*fromtext.Result{}
	for _, n := range c.Nodes {
		all[n.Name] = renderFrom(t, in, c, n.Name)
	}
	return all
}

func renderFrom(t *testing.T, in fromtext.Input, c *fromtext.Cluster, node string) *fromtext.Result {
	t.Helper()
	r := c.Render(t, node)
	r.Check(t)
	if !r.Equal(in.Decode().Render(t, node)) {
		t.Errorf("%s: a second run differs", node)
	}
	for _, p := range r.Problems {
		for _, s := range c.Secrets {
			for _, value := range s.Data {
				if secret := strings.TrimSpace(string(value)); secret != "" && strings.Contains(p.String(), secret) {
					t.Errorf("a problem holds a secret: %s", p)
				}
			}
		}
		if p.Message == "" || p.Rule == "" {
			t.Errorf("a problem says nothing: %+v", p)
		}
	}
	return r
}

// want is a Problem that must be there.
type want struct {
	severity              calico.Severity
	rule, resource, field string
	// at is a text of the input that begins where the problem points to; its first
	// occurrence counts. Empty: the place does not matter.
	at string
	// says are parts of what a person reads: the message and the hint.
	says []string
}

func (w want) matches(in fromtext.Input, p calico.Problem) bool {
	if p.Severity != w.severity || p.Rule != w.rule || p.Resource != w.resource || p.Field != w.field {
		return false
	}
	if w.at != "" && p.Position != place(in, w.at) {
		return false
	}
	text := p.Message + "\n" + p.Hint
	return !slices.ContainsFunc(w.says, func(part string) bool { return !strings.Contains(text, part) })
}

// place is the position of the first occurrence of a text.
func place(in fromtext.Input, text string) calico.Position {
	before, _, found := strings.Cut(in.Text, text)
	if !found {
		return calico.Position{File: "not in the input"}
	}
	return calico.Position{File: in.Name, Line: 1 + strings.Count(before, "\n"),
		Column: len(before) - strings.LastIndexByte(before, '\n')}
}

// wantProblems asserts that exactly these problems are there, in any order.
func wantProblems(t *testing.T, in fromtext.Input, r *fromtext.Result, wants ...want) {
	t.Helper()
	left := slices.Clone(r.Problems)
	for _, w := range wants {
		i := slices.IndexFunc(left, func(p calico.Problem) bool { return w.matches(in, p) })
		if i < 0 {
			t.Errorf("%s: missing: %s %s %s [%s] at %q, saying %q", r.Node, w.severity, w.resource, w.field, w.rule, cmp.Or(w.at, "any place"), w.says)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, p := range left {
		t.Errorf("%s: not expected: %s", r.Node, p)
	}
}

// bird and bird6 are the main files of a result, in parts.
func bird(r *fromtext.Result) fromtext.File  { return fromtext.Parse(r.Files["bird.cfg"]) }
func bird6(r *fromtext.Result) fromtext.File { return fromtext.Parse(r.Files["bird6.cfg"]) }

// wantSessions asserts the names of all BGP protocols of a file.
func wantSessions(t *testing.T, f fromtext.File, names ...string) {
	t.Helper()
	if got := f.Sessions(); !slices.Equal(got, names) {
		t.Errorf("sessions are %q, want %q", got, names)
	}
}

// wantStatements asserts that these statements stand in a block.
func wantStatements(t *testing.T, b fromtext.Block, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if !b.Has(s) {
			t.Errorf("%q lacks %q, it has %q", b.Heading, s, b.Statements)
		}
	}
}

// wantNone asserts that no statement of a block begins with any of these texts.
func wantNone(t *testing.T, b fromtext.Block, begins ...string) {
	t.Helper()
	for _, text := range begins {
		if got := b.Begin(text); len(got) > 0 {
			t.Errorf("%q has %q", b.Heading, got)
		}
	}
}

// anywhere tells in which files of a result a text stands.
func anywhere(r *fromtext.Result, text string) []string {
	var names []string
	for name, data := range r.Files {
		if strings.Contains(data, text) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// sameFiles asserts that two results have the same files, and says where they part.
func sameFiles(t *testing.T, what string, a, b *fromtext.Result) {
	t.Helper()
	for name := range a.Files {
		if a.Files[name] != b.Files[name] {
			t.Errorf("%s: %s differs at %s", what, name, firstDifference(a.Files[name], b.Files[name]))
		}
	}
	if len(a.Files) != len(b.Files) {
		t.Errorf("%s: %d and %d files", what, len(a.Files), len(b.Files))
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d: %q, %q", i+1, x[i], y[i])
		}
	}
	return "the end"
}
