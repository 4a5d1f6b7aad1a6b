package apply

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bird"
)

// set makes a set of a main file and one that it includes.
func set(main, included string) []File {
	return []File{{Name: "bird.cfg", Data: []byte(main)}, {Name: "bird_ipam.cfg", Data: []byte(included)}}
}

// fake is a daemon that answers what it is told to: one error for each reload, nil when
// there are none left.
type fake struct {
	answers []error
	// reloads has the main file's content at each reload.
	reloads []string
	// instance changes with each reload that succeeds.
	instance  string
	instances int
}

func (f *fake) Reload(_ context.Context, main string) (Verdict, error) {
	data, err := os.ReadFile(main)
	if err != nil {
		return Verdict{}, err
	}
	f.reloads = append(f.reloads, string(data))
	if len(f.answers) > 0 {
		err, f.answers = f.answers[0], f.answers[1:]
		if err != nil {
			return Verdict{}, err
		}
	}
	f.instances++
	f.instance = strings.Repeat("i", f.instances)
	return Verdict{Confirmed: true, Words: "Reconfigured", Instance: f.instance}, nil
}

func (f *fake) Runs(_ context.Context, instance string, _ bool) (bool, error) {
	return f.instance == instance, nil
}

var refused = &bird.RefusedError{Code: 8002, Words: "bird.cfg:1:1 no"}

// opened opens a target and lets go of it at the end of the test.
func opened(t *testing.T, target Target) *Applier {
	t.Helper()
	a, err := Open(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// reopened is what happens when the process ends and starts again.
func reopened(t *testing.T, a *Applier) *Applier {
	t.Helper()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return opened(t, a.target)
}

// want applies a set and compares the outcome and a part of the error's text, "" for none.
func want(t *testing.T, a *Applier, files []File, outcome Outcome, text string) Result {
	t.Helper()
	res, err := a.Apply(t.Context(), files)
	if res.Outcome != outcome {
		t.Errorf("outcome %q, want %q (error: %v)", res.Outcome, outcome, err)
	}
	switch {
	case text == "" && err != nil:
		t.Errorf("error: %v", err)
	case text != "" && (err == nil || !strings.Contains(err.Error(), text)):
		t.Errorf("error %v, want one with %q", err, text)
	}
	return res
}

// files returns the content of a directory's files, without what is ours.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		if e.Name() == ".birdconfd" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(data)
	}
	return out
}

func hasFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// staged counts the sets that are kept.
func stagedSets(t *testing.T, a *Applier) int {
	t.Helper()
	entries, err := filepath.Glob(filepath.Join(a.state, setPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func writeFile(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}
