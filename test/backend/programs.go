package backend

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/birdconfd/birdconfd/test/shared"
)

// Version is one of the versions of etcd that tests run.
type Version string

// The versions: the newest, and one of Debian that is much older.
const (
	Etcd37 Version = "etcd 3.7"
	Etcd34 Version = "etcd 3.4"
)

// Versions are all of them.
var Versions = []Version{Etcd37, Etcd34}

// program returns the path of a server program.
func program(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("BIRDCONFD_TEST_SERVERS")
	if dir == "" {
		dir = filepath.Join(shared.Root(t), ".tools", "servers")
	}
	return present(t, filepath.Join(dir, name))
}

func (v Version) program(t testing.TB) string {
	t.Helper()
	if v == Etcd37 {
		return program(t, "etcd")
	}
	path := os.Getenv("BIRDCONFD_TEST_ETCD34")
	if path == "" {
		path = filepath.Join(shared.Root(t), ".tools", "etcd34", "usr", "bin", "etcd")
	}
	return present(t, path)
}

func present(t testing.TB, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		shared.Skip(t, "needs %s; make tools builds it", path)
	}
	return path
}
