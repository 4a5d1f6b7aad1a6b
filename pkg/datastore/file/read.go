package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// found is an entry of a directory that counts as a file.
type found struct {
	path string
	link bool
	info fs.FileInfo // of the file that a link leads to; nil with err
	err  error
}

// list returns a directory's files with a name that suits, and the directories in it, both
// sorted. Hidden names are left out, and so is what is neither a file nor a link to one, but
// for links that lead nowhere: opening those says what is wrong.
func list(dir string, suits func(name string) bool) (files []found, below []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
			continue
		case e.IsDir():
			below = append(below, path)
			continue
		case !suits(e.Name()):
			continue
		}
		f := found{path: path, link: e.Type()&fs.ModeSymlink != 0}
		if f.info, f.err = os.Stat(path); f.err != nil || f.info.Mode().IsRegular() {
			files = append(files, f)
		}
	}
	return files, below, nil
}

// isResourceFile tells by the name whether a file in a directory holds resources.
func isResourceFile(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}

func anyFile(string) bool { return true }

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
	return readLimited(r, most)
}

func readLimited(r io.Reader, most int64) ([]byte, error) {
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
	return problem(path, "cannot be read: "+cause(err))
}

func cause(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return err.Error()
}

func problem(path, message string) calico.Problem {
	return calico.Problem{Severity: calico.Error, Rule: calico.RuleUnreadable,
		Position: calico.Position{File: path}, Message: message}
}

// noFiles reports a directory without resources.
func noFiles(dir string) calico.Problem {
	return problem(dir, "there is no *.yaml, *.yml or *.json file in the directory")
}

// notRead says what is not read, since people sort resources into directories.
func notRead(below []string) []calico.Problem {
	var out []calico.Problem
	for _, dir := range below {
		out = append(out, calico.Problem{Severity: calico.Info, Rule: calico.RuleNotRead, Position: calico.Position{File: dir},
			Message: "directories inside of a directory are not read", Hint: "name it too if it holds resources"})
	}
	return out
}
