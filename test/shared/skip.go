package shared

import (
	"fmt"
	"os"
	"testing"
)

// Skip skips a test that lacks something, and says what. In CI (CI=true) the test fails
// instead, since one that is skipped there would pass for a good one.
func Skip(t testing.TB, format string, args ...any) {
	t.Helper()
	what := fmt.Sprintf(format, args...)
	if os.Getenv("CI") == "true" {
		t.Fatal("in CI nothing is skipped: " + what)
	}
	t.Skip(what)
}

// NeedRoot skips a test that only root can make.
func NeedRoot(t testing.TB, why string) {
	t.Helper()
	if os.Getuid() != 0 {
		Skip(t, "needs root: %s", why)
	}
}
