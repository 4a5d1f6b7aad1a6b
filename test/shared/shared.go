// Package shared finds data that tests use but that is not part of the repository.
package shared

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir returns a folder of the data that lies beside the repository, in ../shared or where
// BIRDCONFD_SHARED says. Without it the test is skipped, but fails in CI, where it must run.
func Dir(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("BIRDCONFD_SHARED")
	if root == "" {
		root = filepath.Join(Root(t), "..", "shared")
	}
	dir := filepath.Join(root, name)
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir
	}
	Skip(t, "needs the test data %s, which is not part of the repository; BIRDCONFD_SHARED names another place", dir)
	return ""
}

// Root returns the repository's root: the nearest folder above with a go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the working directory")
		}
		dir = parent
	}
}
