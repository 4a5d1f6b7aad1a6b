package render

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// Config is what a conf.d directory asks for.
type Config struct {
	// Targets are in the order of the files. No two share a name, a file or a socket.
	Targets []TargetConfig
}

// TargetConfig is one BIRD daemon with all that is needed to keep it up to date.
type TargetConfig struct {
	Target
	// Set has the templates. Targets of one file share it.
	Set *Set
	// Version is what the binary must be, such as "1.6" or "2"; "" for any.
	Version string
	Check   CheckMode
	// CheckCommands take the place of the program's own check: commands for /bin/sh by the names
	// of files, for which {{.src}} stands in them. There are none as a rule.
	CheckCommands map[string]string
	// Directory is where the files go; absolute.
	Directory string
	// Socket is the control socket, absolute; "" for none.
	Socket string
	// Mode is that of the files; 0 keeps what an existing file has.
	Mode fs.FileMode
	// Owner is that of the files; nil keeps what an existing file has.
	Owner *Owner
	// Reload makes the daemon read its files where there is no socket; nil for nothing.
	Reload *ReloadConfig
}

// Set is that of the first target, which all targets of a confd directory share.
func (c *Config) Set() *Set { return c.Targets[0].Set }

// CheckMode says whether BIRD checks a target's files before it gets them.
type CheckMode string

// The modes of checking.
const (
	CheckAuto    CheckMode = "auto"    // if the program is installed
	CheckRequire CheckMode = "require" // nothing reaches BIRD unchecked
	CheckOff     CheckMode = "off"
)

var checkModes = []string{string(CheckAuto), string(CheckRequire), string(CheckOff)}

// Owner is who owns a file. A GID of -1 keeps the group.
type Owner struct{ UID, GID int }

// ReloadConfig is how a daemon without a control socket is made to read its files: by
// exactly one of a signal and a command.
type ReloadConfig struct {
	Signal  *SignalReload
	Command []string // program and arguments
	Timeout time.Duration
}

// SignalReload names a process, by exactly one of PIDFile and Process, and what it is sent.
type SignalReload struct {
	PIDFile string // absolute
	Process string // the program's name
	Signal  string // without SIG, such as HUP
}

// What calico/node has, and so what a conf.d file need not say.
const (
	defaultSet     = "bird1"
	defaultSockets = "/var/run/calico"
	// DefaultDirectory is where BIRD's files are.
	DefaultDirectory = "/etc/calico/confd/config"
)

// LoadConfig reads a conf.d directory: its *.yaml and *.yml files, hidden ones aside, in
// the order of their names. The Config is nil when one of the problems is an error.
func LoadConfig(dir string) (*Config, []calico.Problem) {
	return loadConfig(dir, system)
}

func loadConfig(dir string, a accounts) (*Config, []calico.Problem) {
	l := configLoader{accounts: a}
	for _, name := range l.names(dir) {
		l.file(dir, name)
	}
	return l.config()
}

// names lists the files of a directory, of which there should be one at least.
func (l *configLoader) names(dir string) []string {
	names, err := configFiles(dir)
	if err != nil {
		l.report(dir, fault{rule: calico.RuleUnreadable, message: "the directory of targets cannot be read: " + cause(err)})
	} else if len(names) == 0 {
		l.report(dir, fault{rule: calico.RuleUnreadable, message: "there is no file in the directory of targets",
			hint: "the files end in .yaml or .yml"})
	}
	return names
}

// ConfigPaths lists the directories that decide what LoadConfig returns: dir itself and the
// directories of templates that its files name, as far as those can be read.
func ConfigPaths(dir string) []string {
	paths := []string{dir}
	names, _ := configFiles(dir) // LoadConfig tells why
	for _, name := range names {
		text, err := readRegular(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		var f configForm
		decodeStrict(text, &f)
		for _, t := range f.Templates.list {
			if path := beside(dir, t.text); !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// beside resolves a path that a file in dir names.
func beside(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// configFiles returns the names of a directory's files that count, sorted.
func configFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		name := e.Name()
		if ext := filepath.Ext(name); name[0] == '.' || (ext != ".yaml" && ext != ".yml") {
			continue
		}
		// Files of a mounted ConfigMap are links.
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			names = append(names, name)
		}
	}
	return names, nil
}

// readRegular reads a file, but nothing that one could wait for.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// configLoader collects targets and problems.
type configLoader struct {
	accounts accounts
	targets  []placed
	problems []calico.Problem
}

// placed is a target with the places that its parts come from; none without a conf.d file.
type placed struct {
	TargetConfig
	at, socketAt calico.Position
	filesAt      []calico.Position
}

// config checks that the targets do not get into each other's way.
func (l *configLoader) config() (*Config, []calico.Problem) {
	names, paths, sockets := map[string]placed{}, map[string]placed{}, map[string]placed{}
	for _, t := range l.targets {
		if first, taken := names[t.Name]; taken {
			l.add(t.at, newFault(calico.RuleDuplicateResource, "", "target %q is at %s already", t.Name, first.at))
			continue
		}
		names[t.Name] = t
		for i, f := range t.Files {
			path := filepath.Join(t.Directory, f.Name)
			if first, taken := paths[path]; taken && first.Name != t.Name {
				l.add(t.filesAt[i], newFault(calico.RuleConflict, "give one of them another directory", "target %q: %s is a file of %s already", t.Name, path, first))
			}
			paths[path] = t
		}
		if t.Socket == "" {
			continue
		}
		if first, taken := sockets[t.Socket]; taken {
			l.add(t.socketAt, newFault(calico.RuleConflict, "each daemon has a socket of its own", "target %q: %s is the socket of %s already", t.Name, t.Socket, first))
		}
		sockets[t.Socket] = t
	}
	if worst, ok := calico.Worst(l.problems); ok && worst == calico.Error {
		return nil, l.problems
	}
	c := &Config{}
	for _, t := range l.targets {
		c.Targets = append(c.Targets, t.TargetConfig)
	}
	return c, l.problems
}

// String names the target for a message about another one.
func (t placed) String() string {
	if t.at.IsZero() {
		return fmt.Sprintf("target %q", t.Name)
	}
	return fmt.Sprintf("target %q at %s", t.Name, t.at)
}

func (l *configLoader) report(file string, f fault) {
	l.add(calico.Position{File: file, Line: f.line}, &f)
}

// add reports an error. Several files can lead to the same one.
func (l *configLoader) add(at calico.Position, f *fault) {
	l.take(calico.Problem{Severity: calico.Error, Rule: f.rule, Position: at, Message: f.message, Hint: f.hint})
}

func (l *configLoader) take(problems ...calico.Problem) {
	for _, p := range problems {
		if !slices.Contains(l.problems, p) {
			l.problems = append(l.problems, p)
		}
	}
}

// set loads a built-in set with the directories of templates that go over it; nil when
// that fails.
func (l *configLoader) set(name string, at calico.Position, overlay []Source, more []request) *Set {
	base, err := Builtin(cmp.Or(name, defaultSet))
	if err != nil {
		l.add(at, newFault(calico.RuleTemplate, calico.DidYouMean(name, BuiltinNames()), "%s", err))
		return nil
	}
	set, problems := loadSet(base, overlay, more)
	l.take(problems...)
	return set
}

// targetNames lists the names of targets.
func targetNames(targets []Target) []string {
	var names []string
	for _, t := range targets {
		names = append(names, t.Name)
	}
	return names
}
