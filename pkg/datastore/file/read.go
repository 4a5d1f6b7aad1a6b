package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// list returns the paths of a directory's files with a name that suits, sorted. Hidden
// names are left out, and so is what is neither a file nor a link to one, but for links
// that lead nowhere: opening those says what is wrong.
func list(dir string, suits func(name string) bool) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !suits(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// read opens and reads something to its end. That may be a pipe which nobody ever opens
// for writing, or closes; hence the context, whose end leaves the reading behind.
func read(ctx context.Context, open func() (io.ReadCloser, error), most int64) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := readAll(open, most)
		done <- result{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case r := <-done:
		return r.data, r.err
	}
}

func readAll(open func() (io.ReadCloser, error), most int64) ([]byte, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	return data, err
}

func openFile(path string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return os.Open(path) }
}

// unreadable reports an error without the path, which a Problem has already.
func unreadable(path string, err error) calico.Problem {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return problem(path, "cannot be read: "+err.Error())
}

func problem(path, message string) calico.Problem {
	return calico.Problem{Severity: calico.Error, Rule: calico.RuleUnreadable,
		Position: calico.Position{File: path}, Message: message}
}
