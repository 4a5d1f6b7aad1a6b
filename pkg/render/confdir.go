package render

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render/confd"
)

// ReloadMode says how daemons of a confd directory are made to read their files.
type ReloadMode string

// Modes of reloading.
const (
	ReloadAuto    ReloadMode = "auto"    // by the control socket if it is known, else by reload_cmd
	ReloadSocket  ReloadMode = "socket"  // by the control socket only
	ReloadCommand ReloadMode = "command" // by reload_cmd, and checks by check_cmd
)

// ConfdirOptions are what a confd directory does not say itself.
type ConfdirOptions struct {
	// Dir has conf.d, with files of TOML, and templates.
	Dir    string
	Reload ReloadMode // ReloadAuto when empty
	// Sockets has control sockets by the names of targets.
	Sockets map[string]string
	// Generation is that of all templates; "" to tell for each by what it asks for.
	Generation confd.Generation
	BirdDir    string    // where the programs are; those of the commands when empty
	Check      CheckMode // CheckRequire when empty
}

// Directories of a confd directory.
const (
	confdResources = "conf.d"
	confdTemplates = "templates"
)

// ConfdirPaths lists the directories that decide what LoadConfdir returns.
func ConfdirPaths(dir string) []string {
	paths := []string{dir, filepath.Join(dir, confdTemplates)}
	top := filepath.Join(dir, confdResources)
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (d.IsDir() || path == top) {
			paths = append(paths, path)
		}
		return nil // LoadConfdir tells what cannot be read
	})
	return paths
}

// LoadConfdir reads a directory as Calico's confd has it: resources of conf.d, which name
// templates and the files that are made with them. Resources that make files of the same BIRD
// daemon become one target. The Config is nil when one of the problems is an error.
func LoadConfdir(o ConfdirOptions) (*Config, []calico.Problem) {
	return loadConfdir(o, false)
}

// ConfdirPlaces is Places for a confd directory. Templates that do not load do not matter.
func ConfdirPlaces(o ConfdirOptions) ([]Place, []calico.Problem) {
	c, problems := loadConfdir(o, true)
	if c == nil {
		return nil, problems
	}
	return c.places(), problems
}

func loadConfdir(o ConfdirOptions, places bool) (*Config, []calico.Problem) {
	l := confdirLoader{configLoader: configLoader{accounts: system}, o: o, places: places, set: &Set{confd: map[string]*confd.Template{}}}
	if l.o.Reload == "" {
		l.o.Reload = ReloadAuto
	}
	if l.o.Check == "" {
		l.o.Check = CheckRequire
	}
	var resources []*resource
	for _, path := range l.resourceFiles() {
		if r := l.resource(path); r != nil {
			resources = append(resources, r)
		}
	}
	for _, g := range group(resources) {
		l.target(g)
	}
	for _, name := range sortedNames(o.Sockets) {
		if !slices.ContainsFunc(l.targets, func(t placed) bool { return t.Name == name }) {
			l.add(calico.Position{File: o.Dir}, newFault(calico.RuleEnum, "", "there is a socket for target %q, but no such target; there is: %s", name, strings.Join(l.names(), ", ")))
		}
	}
	for _, t := range l.targets {
		l.set.Targets = append(l.set.Targets, t.Target)
	}
	return l.config()
}

// confdirLoader reads a confd directory.
type confdirLoader struct {
	configLoader
	o   ConfdirOptions
	set *Set
	// places tells that only the places of targets are asked for.
	places bool
}

func (l *confdirLoader) names() []string {
	var out []string
	for _, t := range l.targets {
		out = append(out, t.Name)
	}
	return out
}

// resourceFiles lists the files that count, in lexical order: those whose names end in toml.
func (l *confdirLoader) resourceFiles() []string {
	top := filepath.Join(l.o.Dir, confdResources)
	var files []string
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			l.report(dir, fault{rule: calico.RuleUnreadable, message: "the directory cannot be read: " + cause(err)})
			return
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			info, err := os.Stat(path) // files of a mounted ConfigMap are links
			switch {
			case strings.HasPrefix(e.Name(), ".."):
				// What the links of a ConfigMap lead to.
			case err == nil && info.IsDir() && depth < 8:
				walk(path, depth+1)
			case strings.HasSuffix(e.Name(), "toml"):
				files = append(files, path)
			}
		}
	}
	before := len(l.problems)
	walk(top, 0)
	if len(files) == 0 && len(l.problems) == before {
		l.report(top, fault{rule: calico.RuleUnreadable, message: "there is no template resource in the directory", hint: "they are in files that end in toml"})
	}
	return files
}

// group puts resources together that make files of one daemon.
func group(resources []*resource) [][]*resource {
	var groups [][]*resource
	for _, r := range resources {
		var joined []*resource
		groups = slices.DeleteFunc(groups, func(g []*resource) bool {
			same := slices.ContainsFunc(g, r.shares)
			if same {
				joined = append(joined, g...)
			}
			return same
		})
		groups = append(groups, append(joined, r))
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b *resource) int { return strings.Compare(a.path, b.path) })
	}
	slices.SortStableFunc(groups, func(a, b []*resource) int { return strings.Compare(a[0].path, b[0].path) })
	return groups
}

// shares tells that two resources make files of one daemon: in one directory, and with the
// same command to reload it or one included by the other.
func (r *resource) shares(o *resource) bool {
	if filepath.Dir(r.dest) != filepath.Dir(o.dest) || r.dest == o.dest {
		return false
	}
	return r.reload != "" && r.reload == o.reload || r.includes[filepath.Base(o.dest)] || o.includes[filepath.Base(r.dest)]
}

// target makes a target of resources.
func (l *confdirLoader) target(g []*resource) {
	main := l.mainOf(g)
	g = append([]*resource{main}, slices.DeleteFunc(slices.Clone(g), func(r *resource) bool { return r == main })...)
	b := l.birdOf(g)
	out := placed{at: calico.Position{File: main.path}, socketAt: calico.Position{File: main.path}}
	out.Name = l.nameOf(b, main)
	out.Set, out.Check, out.Directory, out.Binary = l.set, l.o.Check, filepath.Dir(main.dest), b.program
	out.Families = familiesOf(g, b)
	for _, r := range g {
		out.Files = append(out.Files, FileSpec{Name: filepath.Base(r.dest), Template: r.key, Mode: r.mode, Owner: r.owner})
		out.filesAt = append(out.filesAt, r.at("dest"))
		l.set.confd[r.key] = r.template
	}
	l.commands(&out, g, b)
	l.targets = append(l.targets, out)
}

// mainOf finds the file that the daemon starts with: one that no other includes, and of
// several such the one that is checked, or else that includes others.
func (l *confdirLoader) mainOf(g []*resource) *resource {
	free := slices.DeleteFunc(slices.Clone(g), func(r *resource) bool {
		return slices.ContainsFunc(g, func(o *resource) bool { return o != r && o.includes[filepath.Base(r.dest)] })
	})
	leading := slices.DeleteFunc(slices.Clone(free), func(r *resource) bool { return len(r.includes) == 0 })
	checked := slices.DeleteFunc(slices.Clone(free), func(r *resource) bool { return r.check == "" })
	switch {
	case len(free) == 0: // they include each other, which BIRD refuses
		return g[0]
	case len(checked) == 1:
		return checked[0]
	case len(leading) == 1:
		return leading[0]
	case len(free) > 1:
		var names []string
		for _, r := range free {
			names = append(names, filepath.Base(r.dest))
		}
		l.warn(g[0].at("reload_cmd"), calico.RuleConflict, fmt.Sprintf("several files have this command to reload a daemon, and nothing tells which of them it starts with: %s; %s is taken for it",
			strings.Join(names, ", "), names[0]), "give that one a check_cmd, or include the others in it")
	}
	return free[0]
}

func (l *confdirLoader) warn(at calico.Position, rule, message, hint string) {
	l.take(calico.Problem{Severity: calico.Warning, Rule: rule, Position: at, Message: message, Hint: hint})
}

// nameOf names a target after its program, which must be plain and not taken.
func (l *confdirLoader) nameOf(b birdCommand, main *resource) string {
	candidates := []string{b.name, strings.TrimSuffix(strings.TrimSuffix(filepath.Base(main.path), "toml"), "."),
		strings.TrimSuffix(filepath.Base(main.dest), filepath.Ext(main.dest))}
	names := l.names()
	for _, c := range candidates {
		if fileName.MatchString(c) && !slices.Contains(names, c) {
			return c
		}
	}
	for i := 2; ; i++ {
		name := fmt.Sprintf("%s-%d", candidates[2], i)
		if !fileName.MatchString(candidates[2]) {
			name = fmt.Sprintf("target-%d", i)
		}
		if !slices.Contains(names, name) {
			return name
		}
	}
}
