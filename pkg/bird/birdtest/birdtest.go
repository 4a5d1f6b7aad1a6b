// Package birdtest gives tests the real BIRD daemons. It looks where the environment
// says and then where "make tools" puts them; without one the test is skipped, or
// fails in CI, where a skipped test would pass for a good one. It installs nothing.
package birdtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/birdconfd/birdconfd/test/shared"
)

// Bird returns the path of a BIRD 1.6 for IPv4, BIRDCONFD_TEST_BIRD if set.
func Bird(t testing.TB) string {
	t.Helper()
	return binary(t, "BIRD 1.6", "BIRDCONFD_TEST_BIRD", "bird1/usr/sbin/bird")
}

// Bird6 returns the path of a BIRD 1.6 for IPv6, BIRDCONFD_TEST_BIRD6 if set.
func Bird6(t testing.TB) string {
	t.Helper()
	return binary(t, "BIRD 1.6 for IPv6", "BIRDCONFD_TEST_BIRD6", "bird1/usr/sbin/bird6")
}

// Bird2 returns the path of a BIRD 2.x or 3.x, BIRDCONFD_TEST_BIRD2 if set.
func Bird2(t testing.TB) string {
	t.Helper()
	return binary(t, "BIRD 2", "BIRDCONFD_TEST_BIRD2", "bird2/usr/sbin/bird")
}

// startDir is where the test was started, in the directory of its package. Some tests
// change the current directory before they ask for a daemon.
var startDir, errStartDir = os.Getwd()

func binary(t testing.TB, what, variable, tool string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		path = filepath.Join(moduleRoot(t), ".tools", tool)
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
		return path
	}
	shared.Skip(t, "needs %s, and there is none at %s: run make tools", what, path)
	return ""
}

// moduleRoot returns the directory of go.mod; tests are started somewhere below it.
func moduleRoot(t testing.TB) string {
	t.Helper()
	if errStartDir != nil {
		t.Fatal(errStartDir)
	}
	for at := startDir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			t.Fatalf("no go.mod above %s", startDir)
		}
	}
}
