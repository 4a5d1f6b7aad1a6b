package file

import (
	"errors"
	"io/fs"
	"os"
)

// place is what a path that was named was found to be.
type place struct {
	path string
	// err says why it is neither a file nor a directory that can be listed.
	err error
	dir bool
	// files are the path itself, or those files of the directory that suit, sorted.
	files []string
	// below are the directories in the directory.
	below []string
}

// survey is what can be known of paths without reading a file.
type survey struct {
	places []place
	// stamps are those of files by their paths, and of directories by dirKey.
	stamps map[string]stamp
	spots  spots
}

func newSurvey() *survey { return &survey{stamps: map[string]stamp{}, spots: spots{}} }

// dirKey keeps a directory apart from a file that has been there before.
func dirKey(path string) string { return path + "/" }

// look looks at a path and at the files in it.
func (s *survey) look(path string, suits func(name string) bool) {
	p := place{path: path, files: []string{path}}
	real := s.spots.follow(path)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		p.dir, p.files = true, nil
		s.stamps[dirKey(path)] = stampOf(info, nil)
		s.directory(&p, real, suits)
	case err == nil && !info.Mode().IsRegular():
		p.err = errors.New("it is " + nounOf(info.Mode()) + ", not a file or a directory")
		s.stamps[path] = stampOf(nil, p.err)
	default:
		p.err = err
		s.stamps[path] = stampOf(info, err)
	}
	s.places = append(s.places, p)
}

func (s *survey) directory(p *place, real string, suits func(name string) bool) {
	if real != "" {
		s.spots[real] = nil
	}
	files, below, err := list(p.path, suits)
	if err != nil {
		p.err = err
		s.stamps[dirKey(p.path)] = stampOf(nil, err)
		return
	}
	p.below = below
	for _, f := range files {
		if errors.Is(f.err, fs.ErrNotExist) && !f.link {
			continue // gone since the directory was listed
		}
		if f.link {
			s.spots.follow(f.path)
		}
		p.files = append(p.files, f.path)
		s.stamps[f.path] = stampOf(f.info, f.err)
	}
}

func nounOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
