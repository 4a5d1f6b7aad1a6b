package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/test/shared"
)

// at puts a node's paths in the places of those of a real one.
func (n *node) at(text string) string {
	return strings.NewReplacer("/var/run/calico/bird6.ctl", n.socket, "/var/run/calico", n.dir, "/etc/calico/confd/config/bird6.cfg", n.config,
		"/etc/calico/confd/config", n.dir, "/etc/bird/bird.conf", n.config, "/usr/local/bin/birdconfd", "birdconfd", "/usr/sbin/bird", n.binary,
		" -u $BIRD_RUN_USER -g $BIRD_RUN_GROUP", "", "$BIRD_ARGS", "-s "+n.socket).Replace(text)
}

// script starts a shell script in the node, where birdconfd and BIRD are in PATH.
func (n *node) script(text string) *launched {
	n.t.Helper()
	path := filepath.Join(n.dir, "run")
	if err := os.WriteFile(path, []byte(n.at(text)), 0o700); err != nil {
		n.t.Fatal(err)
	}
	cmd := exec.Command("ip", "netns", "exec", n.namespace, path)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(built(n.t))+":"+filepath.Dir(n.binary)+":"+os.Getenv("PATH"))
	return n.start(cmd)
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(shared.Root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The scripts for runit and the command of the unit start BIRD, and the manual has them.
func TestScriptsStartBird(t *testing.T) {
	unit := readFile(t, "etc/systemd/bird.service.d/launch.conf")
	start := regexp.MustCompile(`(?m)^ExecStart=(.+)$`).FindStringSubmatch(unit)
	if start == nil {
		t.Fatal("the unit starts nothing")
	}
	for _, tt := range []struct {
		rule   string
		binary func(testing.TB) string
		script string
	}{
		{"runit bird", birdtest.Bird, readFile(t, "etc/runit/bird/run")},
		{"runit bird6", birdtest.Bird6, readFile(t, "etc/runit/bird6/run")},
		{"systemd with BIRD 1.6", birdtest.Bird, "#!/bin/sh\nexec " + start[1]},
		{"systemd with BIRD 2", birdtest.Bird2, "#!/bin/sh\nexec " + start[1]},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			n := newNode(t, tt.binary(t))
			l := n.script(tt.script)
			l.untilSays("waiting")
			n.vouch(1)
			n.untilRuns(1)
			l.kept(n.binary)
			l.said("without -R")
		})
	}
	manual := readFile(t, "docs/launch.md")
	for _, file := range []string{readFile(t, "etc/runit/bird/run"), unit} {
		for line := range strings.Lines(file) {
			if (line[0] != '#' || strings.HasPrefix(line, "#!")) && !strings.Contains(manual, line) {
				t.Errorf("docs/launch.md lacks %q", line)
			}
		}
	}
}

// What the manual shows is what launch says.
func TestManualShowsWhatIsSaid(t *testing.T) {
	n := newNode(t, birdtest.Bird(t))
	n.vouch(1)
	n.end()
	l := n.launch()
	l.untilSays("waiting")
	n.vouch(1)
	n.untilRuns(1)
	manual := readFile(t, "docs/launch.md")
	said := strings.NewReplacer(n.config, "/etc/bird/bird.cfg", n.binary, "/usr/sbin/bird").Replace(l.log.String())
	shown := 0
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "birdconfd: ") && strings.Contains(manual, line) {
			shown++
		}
	}
	if want := strings.Count(manual, "\nbirdconfd: "); shown != want || want < 2 {
		t.Errorf("%d of the manual's %d lines are said:\n%s", shown, want, said)
	}
}

// TestUnitsOfBothFamilies compares the unit for BIRD 1.6 for IPv6 with that which is run here.
func TestUnitsOfBothFamilies(t *testing.T) {
	four, six := readFile(t, "etc/systemd/bird.service.d/launch.conf"), readFile(t, "etc/systemd/bird6.service.d/launch.conf")
	_, four, _ = strings.Cut(four, "[Unit]")
	_, six, _ = strings.Cut(six, "[Unit]")
	want := strings.NewReplacer("/usr/sbin/bird ", "/usr/sbin/bird6 ", "/etc/bird/bird.conf", "/etc/bird/bird6.conf").Replace(four)
	if six != want || !strings.Contains(six, "bird6.conf") {
		t.Errorf("it has\n%s\nwant\n%s", six, want)
	}
}
