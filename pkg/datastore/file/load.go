// Package file reads a cluster's resources from files: YAML or JSON, single files,
// directories and standard input, and the files in which Calico's agent says which
// workloads of this node are BGP peers.
//
// In go paths; out come the objects that package calico makes of the files' contents,
// and a Problem for each path that cannot be read: once from Load, and after each change
// from a Source. It never writes anything, and a Source never uses a half-written file.
package file

import (
	"context"
	"io"
	"os"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

const (
	// maxSize is how much is read of one file.
	maxSize = 256 << 20
	// stdinName stands for standard input in positions.
	stdinName = "<stdin>"
)

// Load reads all resources of the files, of the *.yaml, *.yml and *.json files in the
// directories, and of stdin for the path "-". Directories are read in the order of their
// names and not below: what is in directories inside them, or hidden, as in a mounted
// ConfigMap, does not count. A path that cannot be read, and a directory without such
// files, is a Problem with calico.RuleUnreadable; the other paths are read all the same.
func Load(ctx context.Context, paths []string, stdin io.Reader) ([]calico.Object, []calico.Problem) {
	l := loader{stdin: stdin}
	for _, path := range paths {
		l.path(ctx, path)
	}
	return l.objects, l.problems
}

type loader struct {
	stdin    io.Reader // nil once it was read
	objects  []calico.Object
	problems []calico.Problem
}

func (l *loader) path(ctx context.Context, path string) {
	if path == "-" {
		l.standardInput(ctx)
		return
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		l.unreadable(path, err)
	case info.IsDir():
		l.directory(ctx, path)
	default:
		l.decode(ctx, path, openFile(path))
	}
}

func (l *loader) standardInput(ctx context.Context) {
	if l.stdin == nil {
		l.problems = append(l.problems, problem(stdinName, "standard input can be read only once"))
		return
	}
	stdin := io.NopCloser(l.stdin)
	l.stdin = nil
	l.decode(ctx, stdinName, func() (io.ReadCloser, error) { return stdin, nil })
}

func (l *loader) directory(ctx context.Context, dir string) {
	files, below, err := list(dir, isResourceFile)
	if err != nil {
		l.unreadable(dir, err)
		return
	}
	if len(files) == 0 {
		l.problems = append(l.problems, noFiles(dir))
	}
	for _, f := range files {
		l.decode(ctx, f.path, openFile(f.path))
	}
	l.problems = append(l.problems, notRead(below)...)
}

func (l *loader) decode(ctx context.Context, name string, open func() (io.ReadCloser, error)) {
	data, err := read(ctx, open, maxSize)
	if err != nil {
		l.unreadable(name, err)
		return
	}
	objects, problems := calico.Decode(name, data)
	l.objects = append(l.objects, objects...)
	l.problems = append(l.problems, problems...)
}

func (l *loader) unreadable(path string, err error) {
	l.problems = append(l.problems, unreadable(path, err))
}
