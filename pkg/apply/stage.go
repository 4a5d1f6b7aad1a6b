package apply

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// setPrefix begins the names of directories that hold a set, before its fingerprint.
const setPrefix = "set-"

func describe(id string, files []File) setInfo {
	s := setInfo{ID: id}
	for _, f := range files {
		s.Names = append(s.Names, f.Name)
		if f.Secret {
			s.Secrets = append(s.Secrets, f.Name)
		}
		if f.Mode == 0 && f.Owner == nil {
			continue
		}
		if s.Asked == nil {
			s.Asked = map[string]fileAccess{}
		}
		owner := cmp.Or(f.Owner, &Owner{-1, -1})
		s.Asked[f.Name] = fileAccess{f.Mode, owner.UID, owner.GID}
	}
	return s
}

func (a *Applier) setDir(id string) string { return filepath.Join(a.state, setPrefix+id) }

// stage writes a set into a directory of its own, readable by nobody else, so that it
// survives a crash of the machine. One that is there already is left alone: it may be the
// one to go back to.
func (a *Applier) stage(id string, files []File) (err error) {
	if _, err := a.staged(describe(id, files)); err == nil {
		return nil
	}
	if err := os.MkdirAll(a.state, 0o700); err != nil { // somebody may have removed it
		return fmt.Errorf("make the directory %s: %w", a.state, cause(err))
	}
	dir, err := os.MkdirTemp(a.state, setPrefix+"new-") // mode 0700
	if err != nil {
		return fmt.Errorf("make a directory in %s: %w", a.state, cause(err))
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir) // the error that is returned tells more
		}
	}()
	for _, f := range files {
		a.step("stage " + f.Name)
		if err := writeSynced(filepath.Join(dir, f.Name), f.Data); err != nil {
			return fmt.Errorf("stage %s in %s: %w", f.Name, dir, err)
		}
	}
	if err := errors.Join(syncDir(dir), os.RemoveAll(a.setDir(id)), os.Rename(dir, a.setDir(id))); err != nil {
		return fmt.Errorf("stage %s: %w", a.setDir(id), cause(err))
	}
	return syncDir(a.state)
}

// linkBeside makes all else that is in a directory be beside staged files too, for a check that
// follows includes.
func linkBeside(dir, other string, files []File) error {
	if other == "" {
		return nil
	}
	entries, err := os.ReadDir(other)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the directory %s: %w", other, cause(err))
	}
	for _, e := range entries {
		name := e.Name()
		if name[0] == '.' || slices.ContainsFunc(files, func(f File) bool { return f.Name == name }) {
			continue
		}
		at := filepath.Join(dir, name)
		if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("stage %s: %w", name, cause(err))
		}
		if err := os.Symlink(filepath.Join(other, name), at); err != nil {
			return fmt.Errorf("stage %s: %w", name, cause(err))
		}
	}
	return nil
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return cause(err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return cause(err)
	}
	if err := f.Sync(); err != nil {
		return cause(err)
	}
	return cause(f.Close())
}

// staged reads a set back. It is an error when it is not what its fingerprint says.
func (a *Applier) staged(s setInfo) ([]File, error) {
	var files []File
	for _, name := range s.Names {
		data, err := os.ReadFile(filepath.Join(a.setDir(s.ID), name))
		if err != nil {
			return nil, fmt.Errorf("read the copy of %s: %w", name, cause(err))
		}
		f := File{Name: name, Data: data, Secret: slices.Contains(s.Secrets, name)}
		if asked, ok := s.Asked[name]; ok {
			f.Mode = asked.Mode
			if asked.UID >= 0 || asked.GID >= 0 {
				f.Owner = &Owner{asked.UID, asked.GID}
			}
		}
		files = append(files, f)
	}
	if fingerprint(a.record.Key, files) != s.ID {
		return nil, fmt.Errorf("the copy in %s is damaged", a.setDir(s.ID))
	}
	return files, nil
}

// inPlace reads those of the files that exist where they belong.
func (t *Target) inPlace(names []string) ([]File, error) {
	var files []File
	for _, name := range names {
		data, err := os.ReadFile(t.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("read %s: %w", t.path(name), cause(err))
		}
		files = append(files, File{Name: name, Data: data})
	}
	return files, nil
}

// rejectedName is the directory of the set that was refused last, for people to look at.
const rejectedName = "rejected"

// reject keeps a staged set that the check has refused, in place of the one before. It
// returns where that is.
func (a *Applier) reject(id string) string {
	if a.needed(id) {
		return "" // the daemon had taken it, so it is not worth a look but a copy to go back to
	}
	kept := filepath.Join(a.state, rejectedName)
	if err := os.RemoveAll(kept); err == nil {
		err = os.Rename(a.setDir(id), kept)
		if err == nil {
			return kept
		}
	}
	a.drop() // it is only a help
	return ""
}

// needed tells that the record refers to a set.
func (a *Applier) needed(id string) bool {
	return id == a.record.Desired.ID || a.record.Previous != nil && id == a.record.Previous.ID
}

// prune removes the sets that the record does not need, and what a killed process has left.
func (a *Applier) prune() error {
	entries, err := os.ReadDir(a.state)
	if err != nil {
		return fmt.Errorf("read the directory %s: %w", a.state, cause(err))
	}
	var errs []error
	for _, e := range entries {
		id, isSet := strings.CutPrefix(e.Name(), setPrefix)
		if left := strings.HasPrefix(e.Name(), "."+recordName) || strings.HasPrefix(e.Name(), "."+currentName); !left && (!isSet || a.needed(id)) {
			continue
		}
		errs = append(errs, os.RemoveAll(filepath.Join(a.state, e.Name())))
	}
	return errors.Join(errs...)
}
