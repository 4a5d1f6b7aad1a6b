package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// jsonReport is what --format json promises, written down once more.
type jsonReport struct {
	Node      string        `json:"node"`
	Problems  []jsonProblem `json:"problems"`
	Checked   []jsonCheck   `json:"checked"`
	Written   []string      `json:"written"`
	Unchanged []string      `json:"unchanged"`
	Notes     []string      `json:"notes"`
	Error     string        `json:"error"`
}

type jsonProblem struct {
	Severity string `json:"severity"`
	Rule     string `json:"rule"`
	Resource string `json:"resource"`
	Field    string `json:"field"`
	Position struct {
		File   string `json:"file"`
		Line   int    `json:"line"`
		Column int    `json:"column"`
	} `json:"position"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

type jsonCheck struct {
	Target string `json:"target"`
	Bird   string `json:"bird"`
}

// parseJSON reads standard error, which must be one object with known fields.
func parseJSON(t *testing.T, stderr string) jsonReport {
	t.Helper()
	var r jsonReport
	d := json.NewDecoder(strings.NewReader(stderr))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || d.More() {
		t.Fatalf("not one object of the documented form: %v\n%s", err, stderr)
	}
	return r
}

func TestJSON(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	bad := "apiVersion: projectcalico.org/v3\nkind: BGPPeer\nmetadata: {name: bad}\nspec: {node: edge-1, peerIP: 192.0.2.7, asNumber: 64511, keepaliveTime: 400ms}\n"
	r := call{args: []string{"render", "--format=json", "--node=edge-1", "--check=off", "--output=" + out, edge, "-"}, stdin: bad}.run(t)
	r.want(t, 1)
	got := parseJSON(t, r.stderr)
	if got.Node != "edge-1" || len(got.Problems) != 1 || len(got.Written) != 6 || got.Checked == nil || got.Error != "" {
		t.Fatalf("got %s", r.stderr)
	}
	var order []string
	for _, path := range got.Written {
		order = append(order, filepath.Base(path))
	}
	// Included files come before the one that includes them.
	if diff := cmp.Diff([]string{"bird6_ipam.cfg", "bird6_aggr.cfg", "bird6.cfg", "bird_ipam.cfg", "bird_aggr.cfg", "bird.cfg"}, order); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	p := got.Problems[0]
	if p.Severity != "error" || p.Rule != "duration" || p.Resource != "BGPPeer/bad" || p.Field != "spec.keepaliveTime" ||
		p.Position.File != "<stdin>" || p.Position.Line != 4 || p.Position.Column == 0 || p.Message == "" || p.Hint == "" {
		t.Errorf("got %+v", p)
	}
	r = call{args: []string{"render", "--format=json", "--node=edge-1", "--check=off", "--output=" + out, edge}}.run(t)
	r.want(t, 0)
	if got := parseJSON(t, r.stderr); len(got.Unchanged) != 5 || len(got.Written) != 1 || len(got.Problems) != 0 {
		t.Errorf("the second time: %s", r.stderr)
	}
	// Lists that tools will loop over are there also when they are empty.
	for _, field := range []string{`"problems": []`, `"checked": []`} {
		if !strings.Contains(r.stderr, field) {
			t.Errorf("no %s in %s", field, r.stderr)
		}
	}
}

func TestJSONWithErrors(t *testing.T) {
	file := writeFile(t, filepath.Join(t.TempDir(), "file"), "")
	for _, tt := range []struct {
		rule string
		args []string
		code int
		want string
	}{
		{"wrong usage", []string{"--node=edge-1"}, 2, "name the files or directories to read, - for standard input, --sample, or a --datastore (see birdconfd render --help)"},
		{"a file in place of the directory", []string{"--node=edge-1", "--check=off", "--output=" + file, edge}, 1, "make the directory " + file + ": not a directory"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			r := birdconfd(t, append([]string{"render", "--format=json"}, tt.args...)...)
			r.want(t, tt.code)
			if got := parseJSON(t, r.stderr); got.Error != tt.want {
				t.Errorf("got %q, want %q", got.Error, tt.want)
			}
		})
	}
}

// The help is where the form of the report is documented.
func TestJSONIsDocumented(t *testing.T) {
	help := birdconfd(t, "render", "--help").stdout
	data, err := json.Marshal(jsonReport{Problems: make([]jsonProblem, 1), Checked: make([]jsonCheck, 1)})
	if err != nil {
		t.Fatal(err)
	}
	documented := regexp.MustCompile(`(?s)that is one object.*?itself fails`).FindString(help)
	words := regexp.MustCompile(`\w+`).FindAllString(documented, -1)
	for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllSubmatch(data, -1) {
		name := string(m[1])
		if inPosition := slices.Contains([]string{"file", "line", "column"}, name); !inPosition && !slices.Contains(words, name) {
			t.Errorf("the help does not name %q:\n%s", name, documented)
		}
	}
}

func TestSummary(t *testing.T) {
	r := newReport("edge-1")
	r.Written, r.Unchanged = []string{"a"}, []string{"b", "c"}
	if diff := cmp.Diff("node edge-1, 1 file written, 2 files unchanged", r.summary()); diff != "" {
		t.Error(diff)
	}
	var out bytes.Buffer
	r.note("something %s", "odd")
	r.print(&out, "text")
	if want := "birdconfd: something odd\nbirdconfd: node edge-1, 1 file written, 2 files unchanged\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
