package render

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render/confd"
	"github.com/birdconfd/birdconfd/pkg/render/keys"
)

// File is one rendered file. HasSecret tells that it holds a password, Mode and Owner what its
// FileSpec says.
type File struct {
	Name      string
	Data      []byte
	HasSecret bool
	Mode      fs.FileMode
	Owner     *Owner
}

// Input is what files are made of. Our own templates need only the Views.
type Input struct {
	Views bgp.Views
	// All are the Views of all families, for templates written for confd, which see the keys of
	// both: those of Views come before them.
	All bgp.Views
	// Cluster, Node and Options are what the Views were computed of, for templates that were
	// written for confd.
	Cluster *calico.Cluster
	Node    string
	Options bgp.Options
	// Getenv has the environment for such templates; nil for none.
	Getenv func(string) (string, bool)
}

// Render makes all files of a target from the Views of its families, which must be there;
// no other View is used. When any template fails there are no files, only problems: part of
// a set is never useful. With files, problems are warnings.
func (s *Set) Render(t Target, in Input) ([]File, []calico.Problem) {
	var files []File
	var problems []calico.Problem
	in.Views = in.Views.Only(t.Families)
	secrets := passwords(in)
	execute := s.executor(in)
	for _, spec := range t.Files {
		if p, broken := s.broken[spec.Template]; broken {
			problems = append(problems, p)
			continue
		}
		data, secret, err := execute(spec)
		if err != nil {
			p := templateProblem(err)
			p.Message, p.Hint = Conceal(in, p.Message), Conceal(in, p.Hint)
			problems = append(problems, p)
			continue
		}
		problems = append(problems, s.unprinted(spec.Name, data, secrets)...)
		files = append(files, File{Name: spec.Name, Data: data, HasSecret: secret || holdsSecret(data, secrets), Mode: spec.Mode, Owner: spec.Owner})
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return files, s.unused(t, in, files)
}

// unused warns of what is set and what no template written for confd makes use of.
func (s *Set) unused(t Target, in Input, files []File) []calico.Problem {
	if s.confd == nil || slices.ContainsFunc(files, func(f File) bool { return confd.HasWait(f.Data) }) {
		return nil
	}
	for _, v := range in.Views.All() {
		if v.GracefulRestartWait == nil {
			continue
		}
		from := in.Cluster.Default()
		if own := in.Cluster.ForNode(in.Node); own.GracefulRestartWait != nil {
			from = own
		}
		return []calico.Problem{from.Problem(calico.Warning, calico.RuleIgnoredField, "spec.gracefulRestartWait",
			fmt.Sprintf("no template of target %q writes it, so BIRD starts with its default of 240 s; only BIRD 1.6 can be told later that the time is over", t.Name), confd.WaitHint)}
	}
	return nil
}

// executor returns what makes the files of one target, and tells whether a template was given
// a password that need not be in the file as it is.
func (s *Set) executor(in Input) func(FileSpec) ([]byte, bool, error) {
	if s.confd == nil {
		return func(spec FileSpec) ([]byte, bool, error) {
			data, err := s.execute(spec, in.Views)
			return data, false, err
		}
	}
	data := &confd.Data{Source: keys.Source{Cluster: in.Cluster, Node: in.Node, Options: in.Options, Views: in.all()}, Getenv: in.Getenv}
	return func(spec FileSpec) ([]byte, bool, error) {
		out, err := s.confd[spec.Template].Execute(data)
		return out.Data, out.SawSecret, err
	}
}

// all are the Views of all families.
func (in Input) all() bgp.Views {
	return bgp.Views{IPv4: cmp.Or(in.Views.IPv4, in.All.IPv4), IPv6: cmp.Or(in.Views.IPv6, in.All.IPv6)}
}

// execute makes one file. One of a family that the target does not have is still there,
// since another file may include it.
func (s *Set) execute(spec FileSpec, views bgp.Views) ([]byte, error) {
	var dot any = views
	if spec.Family != 0 {
		v := views.Of(spec.Family)
		if v == nil {
			return fmt.Appendln(nil, comment(fmt.Sprintf("Empty: this daemon is given no %s configuration.", spec.Family))), nil
		}
		views, dot = views.Only([]bgp.Family{spec.Family}), v
	}
	var b bytes.Buffer
	for _, v := range views.All() {
		b.Grow(4096 + 256*len(v.Peers))
	}
	if err := s.tmpl.ExecuteTemplate(&b, spec.Template, dot); err != nil {
		return nil, err
	}
	return tidy(b.Bytes()), nil
}

// tidy takes away blanks at the ends of lines, and empty lines at both ends, before a
// closing brace or an indented line and after another one, so that what templates leave
// behind does not show.
func tidy(data []byte) []byte {
	out := make([]byte, 0, len(data)+1)
	empty := true // as if one had come before, so that none is at the start
	for line := range bytes.Lines(data) {
		line = bytes.TrimRight(line, " \t\r\n")
		if len(line) == 0 && empty {
			continue
		}
		if empty && len(out) > 0 && len(line) > 0 && bytes.IndexByte([]byte("} \t"), line[0]) >= 0 {
			out = out[:len(out)-1]
		}
		empty = len(line) == 0
		out = append(append(out, line...), '\n')
	}
	if empty && len(out) > 0 {
		out = out[:len(out)-1]
	}
	return out
}

// concealed is what a Secret prints for itself.
var concealed = bgp.NewSecret("any").String()

// unprintedMarks are what Go prints for values that are not there or of the wrong type. None
// of it may reach BIRD. They are looked for one by one, since an expression that matches any
// of them takes half a second for the file of a large cluster.
var unprintedMarks = []string{"<no value>", "<nil>", "invalid IP", "invalid Prefix", "%!", concealed}

// firstMark returns the first of the marks in a text and where it is, "" if there is none.
func firstMark(data []byte) (mark string, at int) {
	for _, m := range unprintedMarks {
		if i := bytes.Index(data, []byte(m)); i >= 0 && (mark == "" || i < at) {
			mark, at = m, i
		}
	}
	return mark, at
}

// badPrintf is what printf of text/template leaves where it could not print a value. Templates
// written for confd are refused for nothing else: what they print is seen to while they run.
var badPrintf = regexp.MustCompile(`%![a-zA-Z]?\([^)\n]*\)`)

func (s *Set) unprinted(file string, data []byte, secrets [][]byte) []calico.Problem {
	if s.confd == nil {
		return unprinted(file, data, secrets)
	}
	for _, secret := range secrets {
		data = bytes.ReplaceAll(data, []byte(`"`+string(secret)+`"`), nil)
	}
	at := badPrintf.FindIndex(data)
	if at == nil {
		return nil
	}
	return []calico.Problem{{Severity: calico.Error, Rule: calico.RuleTemplate,
		Position: calico.Position{File: file, Line: bytes.Count(data[:at[0]], []byte("\n")) + 1},
		Message:  fmt.Sprintf("the rendered line contains %q, which printf writes for a value that is not there or of another type than its verb", data[at[0]:at[1]]),
		Hint:     "test the value first, or print it with %v"}}
}

func unprinted(file string, data []byte, secrets [][]byte) []calico.Problem {
	for _, s := range secrets { // a password may look like anything
		if mark, _ := firstMark(s); mark != "" {
			data = bytes.ReplaceAll(data, []byte(`"`+string(s)+`"`), nil)
		}
	}
	mark, at := firstMark(data)
	if mark == "" {
		return nil
	}
	p := calico.Problem{Severity: calico.Error, Rule: calico.RuleTemplate,
		Position: calico.Position{File: file, Line: bytes.Count(data[:at], []byte("\n")) + 1},
		Message:  fmt.Sprintf("the rendered line contains %q: a template prints a value that is not set, or in a wrong way", mark),
		Hint:     "test it first, as in {{if .SourceAddress.IsValid}}"}
	if mark == concealed {
		p.Hint = "only quote writes a password, as in {{quote .Password}}"
	}
	return []calico.Problem{p}
}

var origin = regexp.MustCompile(`# ?((?:BGPConfiguration|BGPPeer|BGPFilter|IPPool|BlockAffinity|Node|Service)/[^\s,;]+)`)

// ResourceAt names the resource that a line of a rendered file comes from, as far as the
// comments in the file tell: those on the line, else the nearest above in the same
// top-level block. It returns "" when nothing tells.
func ResourceAt(data []byte, line int) string {
	lines := strings.Split(string(data), "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	for i := line - 1; i >= 0; i-- {
		if m := origin.FindStringSubmatch(lines[i]); m != nil {
			return m[1]
		}
		if i < line-1 && strings.HasPrefix(lines[i], "}") {
			return ""
		}
	}
	return ""
}

// FindFile returns the file of that name among rendered files; nil when there is none.
// Directories in the name do not count.
func FindFile(files []File, name string) *File {
	for i := range files {
		if files[i].Name == path.Base(name) {
			return &files[i]
		}
	}
	return nil
}
