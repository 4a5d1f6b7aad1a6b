package render

import (
	"cmp"
	"fmt"
	"maps"
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

// maxConfdirDepth is how deep directories may lie in each other.
const maxConfdirDepth = 8

// ConfdirPaths lists the directories that decide what LoadConfdir returns.
func ConfdirPaths(dir string) []string {
	paths := []string{dir}
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		paths = append(paths, dir)
		entries, _ := os.ReadDir(dir) // LoadConfdir tells what cannot be read
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if info, err := os.Stat(path); err == nil && info.IsDir() && !strings.HasPrefix(e.Name(), "..") && depth < maxConfdirDepth {
				walk(path, depth+1)
			}
		}
	}
	walk(filepath.Join(dir, confdTemplates), 0)
	walk(filepath.Join(dir, confdResources), 0)
	return paths
}

// LoadConfdir reads a directory as Calico's confd has it: resources of conf.d, which name
// templates and the files that are made with them. Resources that make files of the same BIRD
// daemon become one target. What is wrong with one costs its target only: a template that does
// not load is reported when the target is rendered, other errors leave the target out. The
// Config is nil when there is no target at all, or when targets are in each other's way.
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
	l := confdirLoader{configLoader: configLoader{accounts: system}, o: o, places: places, set: &Set{confd: map[string]*confd.Template{}, broken: map[string]calico.Problem{}}}
	if l.o.Reload == "" {
		l.o.Reload = ReloadAuto
	}
	if l.o.Check == "" {
		l.o.Check = CheckRequire
	}
	var resources []*resource
	for _, path := range l.resourceFiles() {
		if r := l.resource(path); r != nil && !l.taken(resources, r) {
			resources = append(resources, r)
		}
	}
	l.release(resources)
	for _, g := range group(resources) {
		for _, of := range l.split(g) {
			l.target(of, l.birdOf(of))
		}
	}
	for _, t := range l.targets {
		l.set.Targets = append(l.set.Targets, t.Target)
	}
	found := l.problems
	l.problems = nil
	for _, name := range slices.Sorted(maps.Keys(o.Sockets)) {
		if !l.incomplete && !l.mainless && !slices.ContainsFunc(l.targets, func(t placed) bool { return t.Name == name }) {
			l.add(calico.Position{File: o.Dir}, newFault(calico.RuleEnum, "", "there is a socket for target %q, but no such target; there is: %s", name, strings.Join(l.names(), ", ")))
		}
	}
	c, clashes := l.config()
	if c != nil && len(c.Targets) == 0 {
		c = nil
	}
	return c, append(found, clashes...)
}

// taken tells, and reports, that another resource makes the same file.
func (l *confdirLoader) taken(resources []*resource, r *resource) bool {
	i := slices.IndexFunc(resources, func(o *resource) bool { return o.dest == r.dest })
	if i >= 0 {
		l.incomplete = true
		l.add(r.at("dest"), newFault(calico.RuleConflict, "keep one of the two", "%s is made by %s already; this resource is left out", r.dest, resources[i].path))
	}
	return i >= 0
}

// release makes all templates be for one release of Calico: that of any that tells.
func (l *confdirLoader) release(resources []*resource) {
	newest, old := confd.Only332, ""
	for _, r := range resources {
		switch {
		case r.template == nil || l.o.Generation != "":
		case r.template.Generation == confd.From333:
			newest = confd.From333
		case r.template.Generation == confd.Only332:
			old = cmp.Or(old, r.path)
		}
	}
	for _, r := range resources {
		if r.template != nil && r.template.Generation == confd.Only332 && l.o.Generation == "" {
			r.template.Generation = newest
		}
	}
	if old != "" && newest == confd.Only332 {
		l.take(calico.Problem{Severity: calico.Info, Rule: calico.RuleTemplate, Position: calico.Position{File: old},
			Message: "getBGPConfig is as in Calico 3.32, since no resource has /bgpconfig among its keys, as there is since 3.33", Hint: "--calico-release says otherwise"})
	}
}

// confdirLoader reads a confd directory.
type confdirLoader struct {
	configLoader
	o   ConfdirOptions
	set *Set
	// places tells that only the places of targets are asked for.
	places bool
	// incomplete tells that a resource was left out, and others may miss it.
	incomplete bool
	// mainless tells that there is a target without a main file.
	mainless bool
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
			case err == nil && info.IsDir() && depth < maxConfdirDepth:
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
	return r.reload != "" && r.reload == o.reload || r.includesFile(o) || o.includesFile(r)
}

// target makes a target of resources, the main one first.
func (l *confdirLoader) target(g []*resource, b birdCommand) {
	main := g[0]
	out := placed{at: calico.Position{File: main.path}, socketAt: calico.Position{File: main.path}}
	out.Name = l.nameOf(b, main)
	out.Set, out.Check, out.Directory, out.Binary = l.set, l.o.Check, filepath.Dir(main.dest), b.program
	out.Families = familiesOf(g, b)
	for _, r := range g {
		out.Files = append(out.Files, FileSpec{Name: filepath.Base(r.dest), Template: r.path, Mode: r.mode, Owner: r.owner})
		out.filesAt = append(out.filesAt, r.at("dest"))
		if r.template != nil {
			l.set.confd[r.path] = r.template
		} else {
			l.set.broken[r.path] = r.broken
		}
		for _, name := range slices.Sorted(maps.Keys(r.includes)) {
			if own := slices.ContainsFunc(g, func(o *resource) bool { return o.dest == name }); own {
				l.warn(r.at("src"), calico.RuleBirdCheck, fmt.Sprintf("the template includes %q by its full path, so that a check reads the file that is in place instead of the new one", name),
					fmt.Sprintf("write include %q", filepath.Base(name)))
			}
		}
	}
	out.Beside = out.Directory
	if l.commands(&out, g, b) {
		l.targets = append(l.targets, out)
	}
}

// includesFile tells that the resource's file includes another's.
func (r *resource) includesFile(o *resource) bool {
	return r.includes[o.dest] || r.includes[filepath.Base(o.dest)] && filepath.Dir(r.dest) == filepath.Dir(o.dest)
}

// includedBy tells that one of the others includes the resource's file.
func (r *resource) includedBy(others []*resource) bool {
	return slices.ContainsFunc(others, func(o *resource) bool { return o != r && o.includesFile(r) })
}

// split puts the resources of a group in order: the file that a daemon starts with comes
// first. Where several daemons share a command to reload them, each gets what it includes. To
// take another file for the one that a daemon starts with would end all its sessions, so that
// nothing is guessed: without one there is nothing to return.
func (l *confdirLoader) split(g []*resource) [][]*resource {
	var mains []*resource
	for _, r := range g {
		if checkProgram.MatchString(r.check) && !r.includedBy(g) {
			mains = append(mains, r)
		}
	}
	if len(mains) == 0 {
		mains = l.uncheckedMains(g)
	}
	switch {
	case len(mains) == 0:
		l.withoutMain(g)
		return nil
	case len(mains) == 1:
		return [][]*resource{append(mains, slices.DeleteFunc(slices.Clone(g), func(r *resource) bool { return r == mains[0] })...)}
	}
	left := slices.DeleteFunc(slices.Clone(g), func(r *resource) bool { return slices.Contains(mains, r) })
	var out [][]*resource
	for _, main := range mains {
		of := []*resource{main}
		for i := 0; i < len(of); i++ {
			left = slices.DeleteFunc(left, func(r *resource) bool {
				included := of[i].includesFile(r)
				if included {
					of = append(of, r)
				}
				return included
			})
		}
		out = append(out, of)
	}
	for _, r := range left {
		l.add(r.at("reload_cmd"), newFault(calico.RuleConflict, "include it in the file of its daemon, or give each daemon a reload_cmd of its own",
			"several daemons have this reload_cmd, and none of them includes %s; it is left out", filepath.Base(r.dest)))
	}
	return out
}

// withoutMain makes a target of files that BIRD includes in one that is not made here: they are
// not known to be right by themselves, and only the command can make BIRD read them.
func (l *confdirLoader) withoutMain(g []*resource) {
	var names []string
	for _, r := range g {
		names = append(names, filepath.Base(r.dest))
	}
	list := strings.Join(names, ", ")
	if l.incomplete { // what is missing may be the very file
		l.warn(g[0].at("reload_cmd"), calico.RuleConflict, "these files are left out, since the one that BIRD starts with may be that of a resource with an error: "+list, "")
		return
	}
	l.warn(g[0].at("reload_cmd"), calico.RuleConflict, "nothing tells which file BIRD starts with, so that these are put in place unchecked, and BIRD is told by reload_cmd: "+list,
		"if one of them is that file, give its resource a check_cmd, such as bird -p -c {{.src}}")
	l.mainless = true
	l.target(g, birdCommand{})
}

// uncheckedMains finds what a daemon may start with where no check tells: a file that includes
// others, or one that is called like the daemon. Files that are not for BIRD are equal.
func (l *confdirLoader) uncheckedMains(g []*resource) []*resource {
	b := l.birdOf(g)
	if b.name == "" && len(g) == 1 || b.program == "" && !slices.ContainsFunc(g, func(r *resource) bool { return len(r.includes) > 0 }) {
		return g[:1]
	}
	var out []*resource
	for _, r := range g {
		name := strings.TrimSuffix(filepath.Base(r.dest), filepath.Ext(r.dest))
		if !r.includedBy(g) && (len(r.includes) > 0 || name == b.name) {
			out = append(out, r)
		}
	}
	return out
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
