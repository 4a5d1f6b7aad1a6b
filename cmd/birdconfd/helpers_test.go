package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// canary is the password in the test data. No run may show it, unless it is asked to.
const canary = "canary-5ecret"

// leaks says where the canary shows in what a run wrote.
func leaks(args []string, stdout, stderr string) error {
	if strings.Contains(stderr, canary) {
		return fmt.Errorf("%v: standard error shows the password", args)
	}
	asked := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--show-secrets") })
	if strings.Contains(stdout, canary) && !asked {
		return fmt.Errorf("%v: standard output shows the password", args)
	}
	return nil
}

// TestMain gives scripts the command birdconfd, which ends with a code of its own when it
// shows the password.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"birdconfd": func() {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), os.Args[1:], environment{
			stdin: os.Stdin, stdout: &stdout, stderr: &stderr, lookup: os.LookupEnv,
		})
		if err := leaks(os.Args[1:], stdout.String(), stderr.String()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(99)
		}
		_, _ = io.Copy(os.Stdout, &stdout)
		_, _ = io.Copy(os.Stderr, &stderr)
		os.Exit(code)
	}})
}

// result is what a run left.
type result struct {
	code           int
	stdout, stderr string
}

// call is a run of the program.
type call struct {
	args  []string
	env   map[string]string
	stdin string
	ctx   context.Context
}

func (c call) run(t *testing.T) result {
	t.Helper()
	if c.ctx == nil {
		c.ctx = t.Context()
	}
	var stdout, stderr bytes.Buffer
	code := run(c.ctx, c.args, environment{
		stdin: strings.NewReader(c.stdin), stdout: &stdout, stderr: &stderr,
		lookup: func(name string) (string, bool) { v, ok := c.env[name]; return v, ok },
	})
	args := c.args
	if c.env["BIRDCONFD_SHOW_SECRETS"] == "true" {
		args = append(slices.Clone(args), "--show-secrets")
	}
	if err := leaks(args, stdout.String(), stderr.String()); err != nil {
		t.Error(err)
	}
	return result{code, stdout.String(), stderr.String()}
}

// birdconfd runs the program with arguments.
func birdconfd(t *testing.T, args ...string) result {
	t.Helper()
	return call{args: args}.run(t)
}

func (r result) want(t *testing.T, code int, stderr ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d; standard error:\n%s", r.code, code, r.stderr)
	}
	for _, s := range stderr {
		if !strings.Contains(r.stderr, s) {
			t.Errorf("standard error lacks %q:\n%s", s, r.stderr)
		}
	}
}

const edge = "testdata/edge.yaml"

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// birdDir is a directory with both daemons of BIRD 1.6.
func birdDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, path := range map[string]string{"bird": birdtest.Bird(t), "bird6": birdtest.Bird6(t)} {
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// listing names what is in a directory, hidden files too.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
