package render

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// StandaloneOptions describe the targets of a set without a conf.d directory. Relative
// paths are relative to the working directory.
type StandaloneOptions struct {
	Set       string   // the built-in set; bird1 when empty
	Templates []string // directories that go over it
	Directory string   // where the files go; required
	// Sockets has the control sockets by the names of targets.
	Sockets  map[string]string
	BirdDir  string       // where the programs are; PATH when empty
	Families []bgp.Family // makes only targets of these; nil for all
	Check    CheckMode    // CheckRequire when empty
}

// Standalone makes a Config of a set's targets. A target without a socket has no reload
// either. The Config is nil when one of the problems is an error.
func Standalone(o StandaloneOptions) (*Config, []calico.Problem) {
	var l configLoader
	var overlay []Source
	for _, dir := range o.Templates {
		overlay = append(overlay, Source{FS: os.DirFS(dir), Label: dir})
	}
	set := l.set(o.Set, calico.Position{}, overlay, nil)
	o.Check = cmp.Or(o.Check, CheckRequire)
	if _, f := checkValue(string(o.Check)); f != nil {
		l.add(calico.Position{}, f)
	}
	if o.Directory == "" {
		l.add(calico.Position{}, newFault(calico.RuleMissingField, "", "the directory for BIRD's files is not given"))
	}
	if set != nil {
		l.standalone(set, o)
	}
	return l.config()
}

// standalone makes the targets of a set.
func (l *configLoader) standalone(set *Set, o StandaloneOptions) {
	var made []Target
	for _, t := range set.Targets {
		of := o.Families
		if of == nil {
			of = bgp.Families
		}
		if t, ok := t.Only(of); ok {
			made = append(made, t)
		}
	}
	if len(made) == 0 {
		l.add(calico.Position{}, newFault(calico.RuleConflict, "the set has "+strings.Join(targetNames(set.Targets), ", "), "no target is of the address families that are asked for"))
	}
	for _, name := range slices.Sorted(maps.Keys(o.Sockets)) {
		if !slices.ContainsFunc(made, func(t Target) bool { return t.Name == name }) {
			l.add(calico.Position{}, newFault(calico.RuleEnum, "", "there is a socket for target %q, but no such target; there is: %s", name, strings.Join(targetNames(made), ", ")))
		}
	}
	for _, t := range made {
		if o.BirdDir != "" {
			t.Binary = l.absolute(filepath.Join(o.BirdDir, t.Binary))
		}
		out := placed{filesAt: make([]calico.Position, len(t.Files))}
		out.TargetConfig = TargetConfig{Target: t, Set: set, Version: set.Bird, Check: o.Check, Directory: l.absolute(o.Directory)}
		if path := o.Sockets[t.Name]; path != "" {
			var f *fault
			if out.Socket, f = socketValue(l.absolute(path)); f != nil {
				l.add(calico.Position{}, f)
			}
		}
		l.targets = append(l.targets, out)
	}
}

func (l *configLoader) absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil { // there is no working directory any more
		l.add(calico.Position{}, newFault(calico.RuleUnreadable, "", "%q cannot be made an absolute path: %s", path, err))
	}
	return abs
}
