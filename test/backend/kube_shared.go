package backend

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// common is the pair of servers that all tests of a package have.
var common struct {
	once sync.Once
	kube *Kube
	dir  string
	end  func()
	err  error
}

// SharedKube returns an API server that all tests of a package have in common, which calls
// Main. It starts with the first test that asks. What other tests have put into it is there.
func SharedKube(t testing.TB) *Kube {
	t.Helper()
	common.once.Do(func() {
		if common.dir, common.err = os.MkdirTemp("", "kube"); common.err == nil {
			common.kube, common.end, common.err = Launch(common.dir, KubeOptions{})
		}
	})
	check(t, common.err)
	t.Cleanup(func() { common.kube.showLogs(t) })
	return common.kube
}

// Main runs the tests of a package, ends the servers that they have in common, and makes sure
// that no goroutine is left. It returns what to exit with.
func Main(m *testing.M) int {
	code := m.Run()
	if common.end != nil {
		common.end()
	}
	if common.dir != "" {
		os.RemoveAll(common.dir)
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
