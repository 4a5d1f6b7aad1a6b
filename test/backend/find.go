package backend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/birdconfd/birdconfd/test/shared"
)

// ErrMissing is in the errors about servers that are not installed.
var ErrMissing = errors.New("run make tools")

// Version is a release of etcd, as a subtest can be named.
type Version string

const (
	Etcd37 Version = "etcd 3.7" // of the Go module test/servers; the default
	Etcd34 Version = "etcd 3.4" // of the distribution, which may also have a 3.5
)

// Versions are all versions of etcd that birdconfd is tested with.
var Versions = []Version{Etcd37, Etcd34}

// startDir is where the test was started, in the directory of its package. Some tests
// change the current directory before they ask for a server.
var startDir, errStartDir = os.Getwd()

func etcdBinary(v Version) (string, error) {
	if v == Etcd34 {
		return binary(string(v), os.Getenv("BIRDCONFD_TEST_ETCD34"), "etcd34/usr/bin/etcd")
	}
	return server(string(Etcd37), "etcd")
}

func kubeBinary() (string, error) { return server("the API server of Kubernetes", "kube-apiserver") }

func server(what, name string) (string, error) {
	path := os.Getenv("BIRDCONFD_TEST_SERVERS")
	if path != "" {
		path = filepath.Join(path, name)
	}
	return binary(what, path, filepath.Join("servers", name))
}

// binary looks at a path, or where "make tools" puts a tool.
func binary(what, path, tool string) (string, error) {
	if path == "" {
		root, err := moduleRoot()
		if err != nil {
			return "", err
		}
		path = filepath.Join(root, ".tools", tool)
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
		return path, nil
	}
	return "", fmt.Errorf("needs %s, and there is none at %s: %w", what, path, ErrMissing)
}

// moduleRoot returns the directory of go.mod; tests are started somewhere below it.
func moduleRoot() (string, error) {
	if errStartDir != nil {
		return "", errStartDir
	}
	for at := startDir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no go.mod above %s", startDir)
		}
	}
}

// check ends a test that got an error, as skipped when it is about a server that is not
// installed.
func check(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrMissing):
		shared.Skip(t, "%v", err)
	case err != nil:
		t.Fatal(err)
	}
}
