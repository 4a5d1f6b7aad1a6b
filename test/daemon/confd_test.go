package daemon

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/daemon"
	"github.com/birdconfd/birdconfd/pkg/datastore/file"
	"github.com/birdconfd/birdconfd/pkg/recovery"
	"github.com/birdconfd/birdconfd/pkg/render"
	"github.com/birdconfd/birdconfd/test/shared"
)

// confdir makes the setup use a confd directory with templates in the style of a release of
// Calico, for the daemon bird, whose files go to the setup's directory. It returns where it is.
func (s *setup) confdir(release string, o render.ConfdirOptions) string {
	s.t.Helper()
	from, at := filepath.Join(shared.Root(s.t), "testdata", "confd", release), s.t.TempDir()
	for _, dir := range []string{"conf.d", "templates"} {
		files, err := filepath.Glob(filepath.Join(from, dir, "bird*"))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, f := range files {
			if !strings.HasPrefix(filepath.Base(f), "bird6") {
				s.put(at, filepath.Join(dir, filepath.Base(f)), strings.ReplaceAll(read(f), render.DefaultDirectory, s.out))
			}
		}
	}
	s.useConfdir(at, o)
	return at
}

func (s *setup) useConfdir(at string, o render.ConfdirOptions) {
	o.Dir, o.BirdDir = at, filepath.Dir(birdtest.Bird(s.t))
	if o.Reload != render.ReloadCommand {
		o.Sockets = map[string]string{"bird": s.bird.Socket}
	}
	s.config = func() (*render.Config, []calico.Problem) { return render.LoadConfdir(o) }
	s.change = func(d *daemon.Options) {
		d.Watch = file.NewWatcher(func() []string { return render.ConfdirPaths(at) }, time.Second, 0, d.Logger).Run
	}
}

// put writes a file below a directory, as editors do.
func (s *setup) put(dir, name, text string) {
	s.t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Templates for confd, of each of its interfaces, on a BIRD that runs: sessions, one reload
// for a change that touches all three files, and an edited template.
func TestConfdTemplates(t *testing.T) {
	for _, release := range []string{"3.31", "3.32", "3.33"} {
		t.Run(release, func(t *testing.T) {
			s := newSetup(t, 3)
			at := s.confdir(release, render.ConfdirOptions{})
			s.start()
			s.applied(mesh(3))
			if got, want := s.sessions(), []string{mesh(2), mesh(3)}; !slices.Equal(got, want) {
				t.Errorf("BIRD runs %v, want %v", got, want)
			}
			before := s.reloads()
			s.write("more.yaml", nodeYAML("node-4", 4)+`---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: pods}
spec: {cidr: 10.244.0.0/16}
---
apiVersion: crd.projectcalico.org/v1
kind: BlockAffinity
metadata: {name: block}
spec: {cidr: 10.244.1.0/26, node: alpha, state: confirmed, deleted: "false"}
`)
			s.applied(mesh(4))
			if !strings.Contains(s.file("bird_aggr.cfg"), "10.244.1.0/26") || !strings.Contains(s.file("bird_ipam.cfg"), "10.244.0.0/16") {
				t.Errorf("the files beside it are\n%s\n%s", s.file("bird_aggr.cfg"), s.file("bird_ipam.cfg"))
			}
			if got := s.reloads() - before; got != 1 {
				t.Errorf("BIRD was reloaded %d times, want once (R8)", got)
			}
			mains, err := filepath.Glob(filepath.Join(at, "templates", "bird.*template"))
			if err != nil || len(mains) != 1 {
				t.Fatalf("%v, %v", mains, err)
			}
			s.put(at, filepath.Join("templates", filepath.Base(mains[0])), read(mains[0])+"\n# edited by hand\n")
			s.applied("# edited by hand")
		})
	}
}

// What a template does wrong is its own affair (C9): the daemon goes on, and so does the
// other target.
func TestConfdTemplatesThatFail(t *testing.T) {
	for _, tt := range []struct{ rule, template, want string }{
		{"a missing key", `{{getv "/bgp/v1/global/none"}}`, `there is no key "/bgp/v1/global/none"`},
		{"a bad number", `{{div 1 0}}`, "division by zero"},
		{"a loop without an end", `{{range 1000000000000}}{{end}}`, "were stopped in this loop"},
		{"no memory left", `{{$x := "12345678"}}{{range 1000}}{{$x = print $x $x}}{{end}}`, "the text would be larger"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := newSetup(t, 2)
			at := s.confdir("3.31", render.ConfdirOptions{})
			s.put(at, "conf.d/other.toml", "[template]\nsrc = \"other\"\ndest = \""+s.out+"/other.conf\"\nprefix = \"/calico\"\nkeys = [\"/\"]\n")
			s.put(at, "templates/other", "fine {{len (lsdir \"/bgp/v1/host\")}}")
			s.start()
			s.applied(mesh(2))
			s.until("both are there", func() bool { return s.file("other.conf") == "fine 2" })
			s.put(at, "templates/other", "\n"+tt.template)
			s.until("it fails", func() bool { return strings.Contains(s.problem("template").Message, tt.want) })
			if at := s.problem("template").Position; at.Line != 2 || filepath.Base(at.File) != "other" {
				t.Errorf("the problem is at %s", at)
			}
			s.write("more.yaml", nodeYAML("node-3", 3))
			s.applied(mesh(3))
			if got := s.file("other.conf"); got != "fine 2" {
				t.Errorf("the other file has become %q", got)
			}
			s.put(at, "templates/other", "fine {{len (lsdir \"/bgp/v1/host\")}}")
			s.until("it is fine again", func() bool { return s.file("other.conf") == "fine 3" })
		})
	}
}

// What does not load costs its own target only: at the start, when it is edited, and when it is
// mended. A file of conf.d that has gone never makes BIRD start with another one.
func TestConfdPartsThatDoNotLoad(t *testing.T) {
	s := newSetup(t, 2)
	at := s.confdir("3.33", render.ConfdirOptions{})
	other := "[template]\nsrc = \"other\"\ndest = \"" + s.out + "/other.conf\"\nprefix = \"/calico\"\nkeys = [\"/\"]\n"
	s.put(at, "conf.d/other.toml", other+"mode = 1\n")
	s.put(at, "templates/other", "{{getvv}}")
	s.start()
	s.applied(mesh(2))
	if p := s.problem(calico.RuleWrongType); filepath.Base(p.Position.File) != "other.toml" {
		t.Errorf("the problem is %v", p)
	}
	s.put(at, "conf.d/other.toml", other)
	s.until("the template is the next thing that is wrong", func() bool { return strings.Contains(s.problem("template").Message, "getvv") })
	s.put(at, "templates/other", "fine")
	s.until("it is fine", func() bool { return s.file("other.conf") == "fine" })

	before := s.reloads()
	if err := os.Rename(filepath.Join(at, "conf.d", "bird.toml"), filepath.Join(at, "bird.toml")); err != nil {
		t.Fatal(err)
	}
	s.until("it is missed", func() bool {
		return strings.Contains(s.problem(calico.RuleConflict).Message, "nothing tells which file BIRD starts with, so that these are put in place unchecked")
	})
	s.put(at, "templates/other", "finer")
	s.until("the others go on", func() bool { return s.file("other.conf") == "finer" && s.target("bird_aggr").Name != "" })
	if got := s.sessions(); !slices.Equal(got, []string{mesh(2)}) || s.reloads() != before {
		t.Errorf("BIRD runs %v after %d reloads", got, s.reloads()-before)
	}
	s.end() // and the next start finds it so
	s.start()
	s.until("it is read", func() bool { return s.target("bird_aggr").Desired != "" })
	if got := s.sessions(); !slices.Equal(got, []string{mesh(2)}) || s.reloads() != before {
		t.Errorf("BIRD runs %v after %d reloads", got, s.reloads()-before)
	}
}

// Checks of one's own come on top of BIRD's, with whatever quotes stand around the file.
func TestConfdChecksOnTop(t *testing.T) {
	s := newSetup(t, 2)
	at := s.confdir("3.33", render.ConfdirOptions{Reload: render.ReloadCommand})
	aggr := filepath.Join("conf.d", "bird_aggr.toml")
	s.put(at, aggr, read(filepath.Join(at, aggr))+"check_cmd = 'test -s \"{{.src}}\"'\n")
	main := filepath.Join("templates", "bird.cfg.template")
	good := read(filepath.Join(at, main))
	s.put(at, main, good+"\nno BIRD at all\n")
	s.start()
	s.until("BIRD refuses", func() bool { return strings.Contains(s.problem("bird-check").Message, "BIRD refuses the file") })
	if s.file("bird_aggr.cfg") != "" {
		t.Error("a part is in place all the same")
	}
	s.put(at, main, good)
	s.until("it is in place", func() bool { return strings.Contains(s.file("bird.cfg"), mesh(2)) })
}

// A file that is included and that no template makes is found by the check too.
func TestConfdIncludesOfOtherFiles(t *testing.T) {
	s := newSetup(t, 2)
	at := s.confdir("3.33", render.ConfdirOptions{})
	main := filepath.Join("templates", "bird.cfg.template")
	s.put(at, main, read(filepath.Join(at, main))+"\ninclude \"local.cfg\";\n")
	s.start()
	s.until("BIRD misses it", func() bool { return strings.Contains(s.problem("bird-check").Message, "local.cfg") })
	s.put(s.out, "local.cfg", "include \"deep/*.cfg\";\n")
	s.put(s.out, "deep/er.cfg", "protocol static mine { }\n")
	s.put(at, main, read(filepath.Join(at, main))+"\n# there now\n")
	s.applied("# there now")
	if got := protocols(t, s.bird, "Static"); !slices.Contains(got, "mine") {
		t.Errorf("BIRD runs %v", got)
	}
}

// Commands of conf.d: a check that refuses keeps what is there, a reload that fails is seen
// and tried again until it works (R3).
func TestConfdCommands(t *testing.T) {
	s := newSetup(t, 2)
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	log := filepath.Join(dir, "log")
	checkCmd := script("check", `echo "check $(basename "$1") $(dirname "$1" | grep -c .birdconfd)" >> `+log+`; ! grep -q refuse "$1"`)
	reloadCmd := script("reload", `echo reload >> `+log+`; test -e `+dir+`/works`)
	at := t.TempDir()
	s.put(at, "conf.d/a.toml", fmt.Sprintf("[template]\nsrc = \"a\"\ndest = %q\nprefix = \"/calico\"\nkeys = [\"/bgp/v1\"]\nmode = \"0640\"\ncheck_cmd = %q\nreload_cmd = %q\n",
		s.out+"/a.conf", checkCmd+" {{.src}}", reloadCmd))
	s.put(at, "templates/a", `nodes: {{join (lsdir "/bgp/v1/host") " "}}`)
	s.useConfdir(at, render.ConfdirOptions{Reload: render.ReloadCommand})
	s.start()
	s.until("placed, reload failing", func() bool {
		return s.file("a.conf") == "nodes: alpha node-2" && strings.Count(read(log), "reload") >= 2 && s.problem("reload").Message != ""
	})
	if status := s.target("a"); status.PendingSince.IsZero() {
		t.Errorf("nothing is pending: %+v", status)
	}
	s.write("more.yaml", nodeYAML("node-3", 3))
	s.until("the newest is placed", func() bool { return strings.HasSuffix(s.file("a.conf"), "node-3") })
	script("works", "")
	s.until("applied", func() bool { return s.target("a").PendingSince.IsZero() })
	if info, err := os.Stat(filepath.Join(s.out, "a.conf")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	s.put(at, "templates/a", "refuse")
	s.until("refused", func() bool { return strings.Contains(s.problem("bird-check").Message, "check_cmd of a.conf") })
	if got := s.file("a.conf"); !strings.HasSuffix(got, "node-3") {
		t.Errorf("the file is %q", got)
	}
	if !strings.Contains(read(log), "check a.conf 1\n") {
		t.Errorf("the check was not given the staged file: %s", read(log))
	}
}

// gracefulRestartWait counts also where the templates know nothing of it: BIRD 1.6 is told
// that the time is over.
func TestConfdTemplatesWithoutTheWait(t *testing.T) {
	s := newRestart(t, 1, 3)
	s.write("cluster.yaml", withoutConfiguration(3))
	s.configure("gracefulRestartWait: 2s, gracefulRestartWaitFor: ReadyNodes")
	s.confdir("3.31", render.ConfdirOptions{})
	s.start()
	s.until("there is something to start with", func() bool { return strings.Contains(s.file("bird.cfg"), mesh(3)) })
	s.bird.Restart()
	s.until("BIRD waits for all", func() bool { return s.birdStatus().Recovery.Waiting == 2 })
	s.is(recovery.Steady)
	if got := s.metric(`birdconfd_recovery_releases_total{reason="wait-lowered",target="bird"}`); got != 2 {
		t.Errorf("%v peers were released", got)
	}
	if p := s.problem(calico.RuleIgnoredField); !strings.Contains(p.Message, "no template of target \"bird\" writes it") {
		t.Errorf("the problem is %v", p)
	}
}

// What calicoctl node status and calico/node's readiness see of BIRD, by the rules that they
// read its answer by: a peer is a BGP protocol whose name begins with one of three words.
func TestCalicoReadsOurSessions(t *testing.T) {
	more := `---
apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: global}
spec: {peerIP: 10.9.9.1, asNumber: 64999}
---
apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: own}
spec: {node: alpha, peerIP: 10.9.9.2, asNumber: 64999}
`
	for _, release := range []string{"", "3.31", "3.32", "3.33"} {
		t.Run("templates "+release, func(t *testing.T) {
			s := newSetup(t, 2)
			s.write("more.yaml", more)
			if release != "" {
				s.confdir(release, render.ConfdirOptions{})
			}
			s.start()
			s.applied("Node_10_9_9_2")
			got := calicoPeers(t, s.bird.Socket)
			want := []string{"Global 10.9.9.1", "Mesh " + address(2), "Node 10.9.9.2"}
			if !slices.Equal(got, want) {
				t.Errorf("Calico sees %q, want %q", got, want)
			}
		})
	}
}

var calicoPeer = regexp.MustCompile(`^(Global|Node|Mesh)_(.+)$`)

// calicoPeers reads "show protocols" as Calico does.
func calicoPeers(t *testing.T, socket string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("show protocols\n")); err != nil {
		t.Fatal(err)
	}
	var peers []string
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "0001"):
			continue
		case strings.HasPrefix(line, "0000"):
			slices.Sort(peers)
			return peers
		case strings.HasPrefix(line, "2002-"):
			if got := strings.Join(strings.Fields(line[5:]), " "); got != "name proto table state since info" {
				t.Fatalf("the header is %q", got)
			}
			continue
		case strings.HasPrefix(line, "1002-"):
			line = line[5:]
		case !strings.HasPrefix(line, " "):
			t.Fatalf("an unexpected line: %q", line)
		}
		columns := strings.Fields(line)
		if len(columns) < 6 || columns[1] != "BGP" {
			continue
		}
		if m := calicoPeer.FindStringSubmatch(columns[0]); m != nil {
			peers = append(peers, m[1]+" "+strings.ReplaceAll(m[2], "_", "."))
		}
	}
	t.Fatal("the answer has no end")
	return nil
}
