// Package cases replays public reports about Calico's BIRD configuration. The inputs and
// what is expected of them are in a log beside the repository; each test is named after an
// entry of it and goes all the way from text to files that BIRD has checked.
package cases

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/test/fromtext"
	"github.com/birdconfd/birdconfd/test/shared"
)

// entry is one input block of the log, with its directives taken out.
type entry struct {
	base  string
	env   map[string]string
	steps []string // the whole text if there are no steps
}

var (
	fence     = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	directive = regexp.MustCompile(`^# (id|base|env): (.+)\n`)
	stepLine  = regexp.MustCompile(`^# step \d+`)
)

// parseLog reads all blocks that begin with "# id: NAME".
func parseLog(text string) map[string]entry {
	entries := map[string]entry{}
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		e := entry{env: map[string]string{}, steps: []string{""}}
		id := ""
		for line := range strings.Lines(m[1]) {
			last := &e.steps[len(e.steps)-1]
			switch d := directive.FindStringSubmatch(line); {
			case d == nil && stepLine.MatchString(line) && *last != "":
				e.steps = append(e.steps, line)
			case d == nil:
				*last += line
			case d[1] == "id":
				id = d[2]
			case d[1] == "base":
				e.base = d[2]
			default:
				name, value, _ := strings.Cut(d[2], "=")
				e.env[name] = value
			}
		}
		if id != "" {
			entries[id] = e
		}
	}
	return entries
}

func readLog(t *testing.T) map[string]entry {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(shared.Dir(t, "cases"), "bird.md"))
	if err != nil {
		t.Fatal(err)
	}
	return parseLog(string(data))
}

// input is what a case gives: its base, then the first step of its own block, with its
// environment.
func input(t *testing.T, id string) fromtext.Input {
	t.Helper()
	entries := readLog(t)
	e, ok := entries[id]
	if !ok {
		t.Fatalf("the log of cases has no block %q", id)
	}
	text := e.steps[0]
	if e.base != "" {
		text = entries[e.base].steps[0] + "---\n" + text
	}
	return fromtext.Input{Name: id + ".yaml", Text: text, Options: bgp.Options{
		RouterID:            e.env["CALICO_ROUTER_ID"],
		AdvertiseClusterIPs: e.env["CALICO_ADVERTISE_CLUSTER_IPS"],
	}}
}

// replace is the variant of an input with another text in the place of one that occurs
// exactly once.
func replace(t *testing.T, in fromtext.Input, old, text string) fromtext.Input {
	t.Helper()
	if n := strings.Count(in.Text, old); n != 1 {
		t.Fatalf("%q stands %d times in the input", old, n)
	}
	in.Text = strings.Replace(in.Text, old, text, 1)
	return in
}

// with is the variant of an input with more documents.
func with(in fromtext.Input, documents string) fromtext.Input {
	in.Text += "---\n" + documents
	return in
}

// documents are the parts of a text between document markers.
func documents(text string) []string { return strings.Split(text, "---\n") }

func join(documents []string) string { return strings.Join(documents, "---\n") }
