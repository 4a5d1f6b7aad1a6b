package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// help is what the program says of a subcommand.
func help(t *testing.T, command string) string {
	t.Helper()
	r := birdconfd(t, command, "--help")
	r.want(t, exitFine)
	return r.stdout
}

// flagLine is a line of the help: a flag, and what it does with its default.
var flagLine = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z][a-z0-9-]*)\b(.*)$`)

// flagsOf lists the flags of a subcommand with the rest of their lines.
func flagsOf(t *testing.T, command string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range flagLine.FindAllStringSubmatch(help(t, command), -1) {
		out[m[1]] = m[2]
	}
	return out
}

// manuals are README.md and docs/*.md by their paths.
func manuals(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(paths) < 5 {
		t.Fatalf("%v: %v", paths, err)
	}
	out := map[string]string{}
	for _, path := range append(paths, "../../README.md") {
		out[path] = readFile(t, path)
	}
	return out
}

// Every flag that the manuals name is one of the program's.
func TestManualsNameFlagsThatAreThere(t *testing.T) {
	all := map[string]bool{}
	for _, command := range []string{"run", "render", "launch", "status", "ready"} {
		for name := range flagsOf(t, command) {
			all[name] = true
		}
	}
	flag := regexp.MustCompile("--([a-z][a-z0-9-]+)")
	foreign := regexp.MustCompile(`(etcdctl|kubectl) .*`) // programs with flags of their own
	found := 0
	for path, text := range manuals(t) {
		text = foreign.ReplaceAllString(text, "")
		for _, m := range flag.FindAllStringSubmatch(text, -1) {
			if found++; !all[m[1]] {
				t.Errorf("%s names --%s, which is not there", path, m[1])
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d flags were found", found)
	}
}

// Defaults that manuals give behind a flag, as in `--settle` (200 ms), are true.
func TestManualsGiveTheDefaults(t *testing.T) {
	given := regexp.MustCompile("`--([a-z-]+)`(?: percent of them)?,?\\s+\\((\\d+(?: (?:ms|s|minute))?)\\)")
	for _, tt := range []struct {
		manual, command string
		least           int
	}{{"running.md", "run", 6}, {"launch.md", "launch", 1}} {
		flags := flagsOf(t, tt.command)
		matches := given.FindAllStringSubmatch(readFile(t, filepath.Join("../../docs", tt.manual)), -1)
		for _, m := range matches {
			want := m[2]
			if d, err := time.ParseDuration(strings.NewReplacer(" ", "", "minute", "m").Replace(want)); err == nil {
				want = d.String()
			}
			if !strings.Contains(flags[m[1]], "(default "+want+")") {
				t.Errorf("--%s: %s says %s, the help%s", m[1], tt.manual, m[2], flags[m[1]])
			}
		}
		if len(matches) < tt.least {
			t.Errorf("%s: only %d defaults were found: %q", tt.manual, len(matches), matches)
		}
	}
}

// The service starts the program with variables and arguments that it knows.
func TestServiceFitsTheProgram(t *testing.T) {
	unit := readFile(t, "../../etc/systemd/birdconfd.service")
	flags := flagsOf(t, "run")
	var set []string
	for _, m := range regexp.MustCompile(`(?m)^Environment=BIRDCONFD_(\w+)=`).FindAllStringSubmatch(unit, -1) {
		name := strings.ReplaceAll(strings.ToLower(m[1]), "_", "-")
		if _, ok := flags[name]; !ok {
			t.Errorf("BIRDCONFD_%s stands for no flag of run", m[1])
		}
		set = append(set, name)
	}
	if !slices.Contains(set, "conf") || !strings.Contains(unit, "\nExecStart=/usr/local/bin/birdconfd run $RESOURCES\n") {
		t.Errorf("the service sets %q", set)
	}
	// With a configuration that is not there it gets as far as looking for that.
	dir := t.TempDir()
	r := call{args: []string{"run", dir}, env: map[string]string{"NODENAME": "alpha", "BIRDCONFD_CONF": filepath.Join(dir, "conf.d"),
		"BIRDCONFD_LISTEN": "127.0.0.1:0"}}.run(t)
	r.want(t, exitUsage, filepath.Join(dir, "conf.d"))
}

// The README's sample of run starts, gets as far as BIRD, and applies all but that.
func TestReadmeRun(t *testing.T) {
	m := regexp.MustCompile("(?s)\\$ birdconfd (run .*?)\n\\$").FindStringSubmatch(readFile(t, "../../README.md"))
	if m == nil {
		t.Fatal("README.md has no sample of run")
	}
	dir := t.TempDir()
	line := strings.NewReplacer("\\\n", " ", "/etc/bird", filepath.Join(dir, "etc"), "/run/bird", filepath.Join(dir, "run"),
		"127.0.0.1:9097", "127.0.0.1:0", "cluster/", filepath.Join(dir, "cluster")).Replace(m[1])
	if err := os.Mkdir(filepath.Join(dir, "cluster"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "cluster", "c.yaml"), string(bytes.ReplaceAll(sampleCluster, []byte(sampleNode), []byte("worker-1"))))
	r := birdconfd(t, append(strings.Fields(line), "--once", "--check=off")...)
	r.want(t, exitProblems, "no daemon listens there")
	for _, name := range []string{"bird.cfg", "bird6.cfg", "bird_ipam.cfg"} {
		if !strings.Contains(readFile(t, filepath.Join(dir, "etc", name)), "worker-1") {
			t.Errorf("%s was not made", name)
		}
	}
}
