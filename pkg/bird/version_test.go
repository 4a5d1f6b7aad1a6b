package bird

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

func TestReadVersion(t *testing.T) {
	for _, tt := range []struct {
		name   string
		binary func(testing.TB) string
		oldest Version
		newest Version
	}{
		{"bird 1.6", birdtest.Bird, Version{1, 6, 0}, Version{1, 6, 99}},
		{"bird6 1.6", birdtest.Bird6, Version{1, 6, 0}, Version{1, 6, 99}},
		{"bird 2", birdtest.Bird2, Version{2, 0, 0}, Version{3, 99, 99}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := ReadVersion(t.Context(), tt.binary(t))
			if err != nil {
				t.Fatal(err)
			}
			if v.Compare(tt.oldest) < 0 || v.Compare(tt.newest) > 0 {
				t.Errorf("got %v, want %v to %v", v, tt.oldest, tt.newest)
			}
		})
	}
}

func TestReadVersionOfSomethingElse(t *testing.T) {
	binary, _ := stub(t, "echo GNU bird 1.6.8")
	_, err := ReadVersion(t.Context(), binary)
	if want := `no BIRD version in "GNU bird 1.6.8"`; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
	binary, _ = stub(t, "echo no such option >&2; exit 2")
	_, err = ReadVersion(t.Context(), binary)
	if want := `ask for BIRD's version: bird --version: exit status 2: no such option`; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestParseVersion(t *testing.T) {
	for _, tt := range []struct {
		output, want string
	}{
		{"BIRD version 1.6.8", "1.6.8"},
		{"BIRD version 2.0.12", "2.0.12"},
		{"BIRD version 2.15", "2.15.0"},
		{"BIRD version 3.1.8", "3.1.8"},
		{"BIRD version 3.0-alpha2", "3.0.0"},
		{"BIRD version 2.0.12-33-g0123abcd", "2.0.12"},
		{"BIRD version v0.3.3+birdv1.6.8", "1.6.8"},
		{"BIRD version v0.3.3-211-g9111ec3c+birdv1.6.8", "1.6.8"},
		{"some warning\nBIRD version 2.17.6", "2.17.6"},
		{"BIRD version", ""},
		{"BIRD version 1.99999999999999999999", ""},
		{"", ""},
	} {
		v, err := parseVersion(tt.output)
		if tt.want == "" {
			if err == nil {
				t.Errorf("%q: got %v, want an error", tt.output, v)
			}
		} else if err != nil || v.String() != tt.want {
			t.Errorf("%q: got %v, %v; want %s", tt.output, v, err, tt.want)
		}
	}
}

func TestVersionCompare(t *testing.T) {
	ascending := []Version{{}, {1, 6, 7}, {1, 6, 8}, {2, 0, 12}, {2, 15, 0}, {2, 15, 1}, {3, 0, 0}}
	for i, a := range ascending {
		for j, b := range ascending {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := a.Compare(b); got != want {
				t.Errorf("%v.Compare(%v) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestFind(t *testing.T) {
	inPath, sbin := t.TempDir(), t.TempDir()
	for path, mode := range map[string]os.FileMode{
		filepath.Join(inPath, "both"):  0o755,
		filepath.Join(inPath, "plain"): 0o644,
		filepath.Join(sbin, "both"):    0o755,
		filepath.Join(sbin, "daemon"):  0o755,
		filepath.Join(sbin, "plain"):   0o644,
	} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", inPath)
	original := daemonDirs
	daemonDirs = []string{sbin}
	t.Cleanup(func() { daemonDirs = original })

	for _, tt := range []struct {
		rule, name, want string
	}{
		{"PATH comes first", "both", filepath.Join(inPath, "both")},
		{"then the directories of daemons", "daemon", filepath.Join(sbin, "daemon")},
		{"a path is taken as it is", filepath.Join(sbin, "both"), filepath.Join(sbin, "both")},
		{"a file that is not executable is no program", "plain", ""},
		{"nor is its path", filepath.Join(sbin, "plain"), ""},
		{"unknown name", "absent", ""},
		{"no name", "", ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got, err := Find(tt.name)
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("Find(%q) = %q, %v; want %q", tt.name, got, err, tt.want)
			}
		})
	}
	if _, err := Find("absent"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v, want exec.ErrNotFound", err)
	}
}
