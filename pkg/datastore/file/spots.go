package file

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// spots are the directories where events tell of changes. They are real directories,
// without links on the way. The value holds the names that matter in them, nil for all.
type spots map[string]map[string]bool

// maxLinks is how many links may lead to a file; the kernel's limit.
const maxLinks = 40

// name makes one name in a directory matter.
func (s spots) name(dir, name string) {
	names, known := s[dir]
	switch {
	case known && names == nil: // all do
	case known:
		names[name] = true
	default:
		s[dir] = map[string]bool{name: true}
	}
}

// follow walks along a path, and makes matter each link on the way, what the path leads to,
// or the first name that is missing. It returns the real path, empty if it leads nowhere.
//
// In a mounted ConfigMap DIR/a.yaml is a link to ..data/a.yaml, and DIR/..data one to a
// directory: the swap of the second shows only to who looks at DIR.
func (s spots) follow(path string) string {
	dir, rest, links := "/", path, 0
	if !filepath.IsAbs(path) {
		var err error
		if dir, err = workingDirectory(); err != nil {
			return ""
		}
	}
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			dir = filepath.Dir(dir)
			continue
		}
		at := filepath.Join(dir, name)
		info, err := os.Lstat(at)
		switch {
		case err != nil:
			s.name(dir, name)
			return ""
		case info.Mode()&fs.ModeSymlink != 0:
			s.name(dir, name)
			target, err := os.Readlink(at)
			if links++; err != nil || links > maxLinks {
				return ""
			}
			if filepath.IsAbs(target) {
				dir = "/"
			}
			rest = target + "/" + rest
			continue
		case strings.Trim(rest, "/") == "":
			s.name(dir, name)
		}
		dir = at
	}
	return dir
}

func workingDirectory() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// matters tells whether an event at a path is of interest.
func (s spots) matters(path string) bool {
	if _, itself := s[path]; itself {
		return true
	}
	names, known := s[filepath.Dir(path)]
	return known && (names == nil || names[filepath.Base(path)])
}

// stamps are those of the directories that exist. Of two paths to one directory, as bind
// mounts make them, the first by name stays, and all names in it matter: the kernel gives
// both the same watch, and fsnotify reports its events at one of them.
func (s spots) stamps() map[string]stamp {
	type identity struct{ device, inode uint64 }
	out, seen := map[string]stamp{}, map[identity]string{}
	for _, dir := range slices.Sorted(maps.Keys(s)) {
		info, err := os.Stat(dir)
		if err != nil {
			continue
		}
		stamp := stampOf(info, nil)
		id := identity{stamp.device, stamp.inode}
		if first, again := seen[id]; again {
			s[first] = nil
			continue
		}
		seen[id], out[dir] = dir, stamp
	}
	return out
}
