package render

import (
	"errors"
	"io/fs"
	"os/user"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stubAccounts are those of a system with a user bird, whose group has the same name.
var stubAccounts = accounts{
	user: func(name string) (*user.User, error) {
		switch name {
		case "bird":
			return &user.User{Uid: "104", Gid: "105"}, nil
		case "broken":
			return nil, errors.New("no answer")
		}
		return nil, user.UnknownUserError(name)
	},
	group: func(name string) (*user.Group, error) {
		if gid, ok := map[string]string{"bird": "105", "routers": "200"}[name]; ok {
			return &user.Group{Gid: gid}, nil
		}
		return nil, user.UnknownGroupError(name)
	},
}

func TestConfigProblems(t *testing.T) {
	for _, tt := range []struct {
		rule, file string
		want       []string // without conf.d/a.yaml
	}{
		{"an empty file", "# nothing\n", []string{": error: the file is empty [syntax]"}},
		{"not YAML", "set: bird1\na: b: c\n", []string{":2: error: mapping values are not allowed in this context [syntax]"}},
		{"two documents", "targets: [{name: bird}]\n---\ntargets: [{name: bird6}]\n", []string{
			":3: error: a second document begins here, and only one is read [syntax]\n    hint: put it into a file of its own"}},
		{"an unknown field", "targets:\n  - name: bird\n    scoket: /x\n", []string{
			":3: error: there is no field \"scoket\" here [unknown-field]\n    hint: did you mean \"socket\"?"}},
		{"a field of another place", "targets:\n  - name: bird\n    set: bird1\n", []string{
			":3: error: there is no field \"set\" here [unknown-field]\n    hint: the fields here are name, family, binary, version, check, directory, socket, mode, owner, files, reload"}},
		{"an unknown field further in", "targets:\n  - name: bird\n    reload:\n      signal: {process: bird, pidfile: /x}\n", []string{
			":4: error: there is no field \"pidfile\" here [unknown-field]\n    hint: did you mean \"pid_file\"?"}},
		{"all faults of the form", "sett: x\ntargets:\n  - name: bird\n    mode: [6]\n    name: x\n", []string{
			":1: error: there is no field \"sett\" here [unknown-field]\n    hint: did you mean \"set\"?",
			":5: error: mapping key \"name\" already defined at line 3 [duplicate-field]",
		}},
		{"a list for a word", "targets:\n  - name: bird\n    mode: [6]\nsett: x\n", []string{
			":3: error: a word belongs here [wrong-type]",
			":4: error: there is no field \"sett\" here [unknown-field]\n    hint: did you mean \"set\"?"}},
		{"a word for a mapping", "targets:\n  - name: bird\n    reload: hup\n", []string{
			":3: error: \"hup\" is not what belongs here [wrong-type]\n    hint: a mapping with the fields signal, command, timeout does"}},
		{"a mapping for a list", "targets: {name: bird}\n", []string{":1: error: a mapping is not what belongs here [wrong-type]\n    hint: a list does"}},
		{"a mapping for templates", "templates: {a: b}\ntargets: [{name: bird}]\n", []string{":1: error: a mapping is not what belongs here [wrong-type]\n    hint: a list does"}},
		{"no targets", "set: bird1\n", []string{": error: the file has no targets [missing-field]\n    hint: the set has bird, bird6"}},
		{"a target with nothing", "targets: [{}]\n", []string{`: error: target "": name is required [missing-field]`}},
		{"a target that is null", "targets: [~]\n", []string{": error: the file has no targets [missing-field]\n    hint: the set has bird, bird6"}},
		{"a null in a list of words", "targets:\n  - name: bird\n    reload: {command: [x, ~]}\n", []string{`:3: error: a word belongs here [wrong-type]`}},
		{"a target without a name", "targets:\n  - mode: 600\n", []string{`:2: error: target "": name is required [missing-field]`}},
		{"a name that is a path", "targets: [{name: ../x, family: IPv4, binary: bird, files: [{name: a, template: main}]}]\n", []string{
			":1: error: target \"../x\": the name is not plain [wrong-type]\n    hint: letters, digits, _, - and . will do, and - and . not in front"}},
		{"a slip in the name of a target", "targets:\n  - name: brid6\n    family: IPv6\n", []string{
			":2: error: target \"brid6\": the set has no such target (it has bird, bird6), so this one needs binary, files [missing-field]\n    hint: did you mean \"bird6\"?"}},
		{"socket and reload", "targets:\n  - name: bird\n    socket: /x\n    reload: {command: [x]}\n", []string{
			":4: error: target \"bird\": socket and reload exclude each other [conflict]\n    hint: keep one of them; a socket also tells what BIRD made of the files"}},
		// Of an empty list or mapping the line is not known; the target's stands for it.
		{"no files", "targets:\n  - name: bird\n    files: []\n", []string{`:2: error: target "bird": files is empty [missing-field]`}},
		{"an empty reload", "targets:\n  - name: bird\n    reload: {}\n", []string{`:2: error: target "bird": reload needs signal or command [missing-field]`}},
		{"an unknown set", "set: bird7\ntargets: [{name: bird}]\n", []string{
			":1: error: there is no template set \"bird7\"; there is: bird1, bird2 [template]\n    hint: did you mean \"bird1\"?"}},
		{"an empty set", "set: ''\ntargets: [{name: bird}]\n", []string{":1: error: set is empty [missing-field]\n    hint: leave the field out for bird1"}},
		{"empty templates", "targets: [{name: bird}]\ntemplates: ''\n", []string{
			":2: error: templates is the name of a directory, or a list of them, and one is empty [missing-field]"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			var want []string
			for _, w := range tt.want {
				want = append(want, "conf.d/a.yaml"+w)
			}
			if diff := cmp.Diff(want, complaints(t, tree(t, "conf.d/a.yaml", tt.file))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigProblemsOfValues(t *testing.T) {
	const octal = "\n    hint: modes are octal, however they are written: \"0640\", 0640, 640 and 0o640 are the same"
	for _, tt := range []struct{ rule, field, want string }{
		{"unknown family", "family: ipv6", `family is IPv4, IPv6 or both, not "ipv6" [enum]`},
		{"both families with files for one", "family: both", "the set's files are for IPv4 only [conflict]\n    hint: name files for both"},
		{"relative binary", "binary: bin/bird", `binary "bin/bird" is neither the plain name of a program nor an absolute path [wrong-type]`},
		{"not a version", "version: bird2", "version \"bird2\" is not a version of BIRD [wrong-type]\n    hint: write \"1.6\", \"2 or 3\" or any"},
		{"unknown check", "check: required", "check is auto, require, off, not \"required\" [enum]\n    hint: did you mean \"require\"?"},
		{"relative directory", "directory: etc", `directory "etc" is not an absolute path [wrong-type]`},
		{"empty directory", "directory: ''", `directory "" is not an absolute path [wrong-type]`},
		{"relative socket", "socket: bird.ctl", "socket \"bird.ctl\" is not an absolute path [wrong-type]\n    hint: write none if there is no socket"},
		{"long socket", "socket: /" + strings.Repeat("x", 107), `socket "/` + strings.Repeat("x", 107) + `" is longer than 107 bytes, which no program can connect to [range]`},

		{"mode in letters", "mode: rw", `mode "rw" is not an octal number [wrong-type]` + octal},
		{"hexadecimal mode", "mode: 0x1a4", `mode "0x1a4" is not an octal number [wrong-type]` + octal},
		{"mode with an 8", "mode: 8", `mode "8" is not an octal number [wrong-type]` + octal},
		{"empty mode", "mode: ''", `mode "" is not an octal number [wrong-type]` + octal},
		{"negative mode", "mode: -1", `mode "-1" is not an octal number [wrong-type]` + octal},
		{"decimal mode", "mode: 420", `mode "420" means 0420, with which the owner could not read and write the file [range]` + octal},
		{"mode zero", "mode: 0", `mode "0" means 0000, with which the owner could not read and write the file [range]` + octal},
		{"mode that everybody may write with", "mode: 666", `mode "666" means 0666, with which everybody could write the file [range]` + octal},
		{"mode with special bits", "mode: 1644", `mode "1644" is more than 0777 [range]` + octal},
		{"mode beyond all bits", "mode: 77777777777777777777", `mode "77777777777777777777" is more than 0777 [range]` + octal},

		{"unknown user", "owner: brid:bird", "there is no user \"brid\" on this system [enum]\n    hint: write a number if only another container knows the name"},
		{"unknown group", "owner: bird:brid", "there is no group \"brid\" on this system [enum]\n    hint: write a number if only another container knows the name"},
		{"users that cannot be looked up", "owner: broken", `user "broken" cannot be looked up: no answer [unreadable]`},
		{"no user", "owner: :bird", "owner \":bird\" lacks a part [wrong-type]\n    hint: write user or user:group, as names or numbers"},
		{"no group", "owner: 'bird:'", "owner \"bird:\" lacks a part [wrong-type]\n    hint: write user or user:group, as names or numbers"},
		{"too large a number", "owner: 4294967295", `user "4294967295" is out of range [range]`},

		{"a file in another directory", "files: [{name: ../x, template: main}]", `"../x" is not a plain file name [wrong-type]`},
		{"a file twice", "files: [{name: x, template: main}, {name: x, template: pools}]", `file "x" is made at conf.d/a.yaml:3 already [conflict]`},
		{"a file without template", "files: [{name: x}]", `file "x": template is required [missing-field]`},

		{"signal and command", "reload: {signal: {process: bird}, command: [x]}", "signal and command exclude each other [conflict]\n    hint: keep one of them"},
		{"a signal to nobody", "reload: {signal: {name: HUP}}", `signal needs pid_file or process [missing-field]`},
		{"a signal to two", "reload: {signal: {process: bird, pid_file: /x}}", "pid_file and process exclude each other [conflict]\n    hint: keep one of them"},
		{"a relative pid_file", "reload: {signal: {pid_file: bird.pid}}", `pid_file "bird.pid" is not an absolute path [wrong-type]`},
		{"a process with a path", "reload: {signal: {process: /usr/sbin/bird}}", `process "/usr/sbin/bird" is not the plain name of a program [wrong-type]`},
		{"a deadly signal", "reload: {signal: {process: bird, name: SIGKILL}}", `signal "SIGKILL" is not one of HUP, USR1, USR2 [enum]`},
		{"a signal in small letters", "reload: {signal: {process: bird, name: hup}}", "signal \"hup\" is not one of HUP, USR1, USR2 [enum]\n    hint: did you mean \"HUP\"?"},
		{"a command line", "reload: {command: sv hup bird}", "command is a list of a program and its arguments, not one text [wrong-type]\n    hint: write [\"sv\", \"hup\", \"bird\"]"},
		{"a command line for a shell", "reload: {command: sv hup bird || true}", "command is a list of a program and its arguments, not one text [wrong-type]\n    hint: write [\"sh\", \"-c\", \"sv hup bird || true\"]"},
		{"no command", "reload: {command: []}", `command has no program [missing-field]`},
		{"a command of the working directory", "reload: {command: [./x]}", `command "./x" is neither the plain name of a program nor an absolute path [wrong-type]`},
		{"a timeout without unit", "reload: {command: [x], timeout: 30}", "timeout \"30\" is not a duration [duration]\n    hint: write it with a unit, such as 30s"},
		{"a timeout of nothing", "reload: {command: [x], timeout: 0s}", `timeout "0s" is not more than 0 [range]`},
		{"a negative timeout", "reload: {command: [x], timeout: -1s}", `timeout "-1s" is not more than 0 [range]`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			want := []string{`conf.d/a.yaml:3: error: target "bird": ` + tt.want}
			got := complaints(t, tree(t, "conf.d/a.yaml", "targets:\n  - name: bird\n    "+tt.field+"\n"))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestF7ConfigModesAreOctal(t *testing.T) {
	for _, tt := range []struct {
		written string
		want    fs.FileMode
	}{
		{`"644"`, 0o644}, {"644", 0o644}, {`"0644"`, 0o644}, {"0644", 0o644}, {`"0o644"`, 0o644}, {"0o644", 0o644},
		{"'600'", 0o600}, {"0660", 0o660}, {"00640", 0o640}, {"", 0}, {"null", 0},
	} {
		if got := config(t, tree(t, "conf.d/a.yaml", "targets:\n  - name: bird\n    mode: "+tt.written+"\n")).Targets[0].Mode; got != tt.want {
			t.Errorf("mode: %s means %04o, want %04o", tt.written, got, tt.want)
		}
	}
}

func TestConfigTargetsInEachOthersWay(t *testing.T) {
	for _, tt := range []struct {
		rule, a, b string
		want       []string
	}{
		{"two of one name", "targets:\n  - name: bird\n", "targets:\n\n  - name: bird\n", []string{
			`conf.d/b.yaml:3: error: target "bird" is at conf.d/a.yaml:2 already [duplicate-resource]`}},
		{"two that write one file", "targets: [{name: bird}]\n",
			"targets:\n  - name: other\n    family: IPv4\n    binary: bird\n    directory: /etc/calico/confd/config/\n    files:\n      - {name: bird.cfg, template: main}\n", []string{
				"conf.d/b.yaml:7: error: target \"other\": /etc/calico/confd/config/bird.cfg is a file of target \"bird\" at conf.d/a.yaml:1 already [conflict]\n" +
					"    hint: give one of them another directory"}},
		{"two with one socket", "targets: [{name: bird}]\n", "targets:\n  - name: bird6\n    socket: /var/run/calico/../calico/bird.ctl\n", []string{
			"conf.d/b.yaml:3: error: target \"bird6\": /var/run/calico/bird.ctl is the socket of target \"bird\" at conf.d/a.yaml:1 already [conflict]\n" +
				"    hint: each daemon has a socket of its own"}},
		{"two without a socket are not", "targets: [{name: bird, socket: none}]\n", "targets: [{name: bird6, socket: none}, {name: bird}]\n", []string{
			`conf.d/b.yaml:1: error: target "bird" is at conf.d/a.yaml:1 already [duplicate-resource]`}},
		{"faults of both files", "targets: [{name: bird, mode: rw}]\n", "target: []\n", []string{
			"conf.d/a.yaml:1: error: target \"bird\": mode \"rw\" is not an octal number [wrong-type]\n    hint: " + octalHint,
			"conf.d/b.yaml:1: error: there is no field \"target\" here [unknown-field]\n    hint: did you mean \"targets\"?"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, complaints(t, tree(t, "conf.d/a.yaml", tt.a, "conf.d/b.yaml", tt.b))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigProblemsOfTemplates(t *testing.T) {
	const file = "templates: ../own\ntargets:\n  - name: bird\n    files:\n      - {name: bird.cfg, template: mian}\n"
	for _, tt := range []struct {
		rule  string
		files []string
		want  []string
	}{
		{"a directory that is missing, once for two files", []string{"conf.d/a.yaml", "templates: ../no\ntargets: [{name: bird}]\n", "conf.d/b.yaml", "templates: ../no\ntargets: [{name: bird6}]\n"},
			[]string{"no: error: the directory of templates cannot be read: no such file or directory [unreadable]"}},
		{"a template that is not defined", []string{"conf.d/a.yaml", file, "own/a.tmpl", `{{define "debug"}}{{end}}`},
			[]string{"conf.d/a.yaml:5: error: file bird.cfg asks for template \"mian\", which is not defined [template]\n    hint: did you mean \"main\"?"}},
		{"a template that only a target's file needs", []string{"conf.d/a.yaml", file, "own/a.tmpl", `{{define "mian"}}{{template "nothing"}}{{end}}`},
			[]string{"own/a.tmpl:1:29: error: template \"nothing\" is not defined [template]"}},
		{"a value, although the templates are broken", []string{"conf.d/a.yaml", strings.Replace(file, "name: bird\n", "name: bird\n    mode: 9\n", 1), "own/a.tmpl", "{{"},
			[]string{"own/a.tmpl:1: error: unclosed action [template]",
				"conf.d/a.yaml:4: error: target \"bird\": mode \"9\" is not an octal number [wrong-type]\n    hint: " + octalHint}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, complaints(t, tree(t, tt.files...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a warning leaves the Config", func(t *testing.T) {
		c, problems := LoadConfig(tree(t, "a.yaml", "templates: own\ntargets: [{name: bird}]\n", "own/a.tmpl", `{{define "unused"}}{{end}}`))
		if c == nil || len(problems) != 1 || !strings.HasPrefix(problems[0].Message, `nothing calls template "unused"`) {
			t.Errorf("config %v, problems %v", c, problems)
		}
	})
}
