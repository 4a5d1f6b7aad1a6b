package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// badFor is a template that BIRD refuses for peers of AS 64999, and for no others.
const badFor = `{{define "hook-40-peer"}}{{if eq .ASNumber 64999}}  route reflector rr;
{{end}}{{end}}`

func TestC1RefusedSetChangesNothingAndIsExplained(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	s.templates(badFor)
	s.start()
	s.applied(mesh(3))
	before := s.file("bird.cfg")
	s.write("peers.yaml", peerYAML("good", "192.0.2.10", 64500)+peerYAML("blamed", "192.0.2.11", 64999))
	s.untilLogged("nothing was replaced")
	s.until("a problem", func() bool { return s.problem(calico.RuleBirdCheck) != calico.Problem{} })
	p := s.problem(calico.RuleBirdCheck)
	if p.Severity != calico.Error || p.Resource != "BGPPeer/blamed" || p.Position.File != "bird.cfg" || p.Position.Line == 0 ||
		!strings.Contains(p.Message, "syntax error") || !strings.Contains(p.Message, "route reflector rr") {
		t.Errorf("problem %+v", p)
	}
	place := fmt.Sprintf("bird.cfg:%d", p.Position.Line)
	for where, text := range map[string]string{"log": s.log.String(), "status": s.get("/status"), "readyz": s.get("/readyz")} {
		if !strings.Contains(text, place) || !strings.Contains(text, "syntax error") {
			t.Errorf("the %s does not tell where and what:\n%s", where, text)
		}
	}
	if !strings.Contains(s.log.String(), "BGPPeer/blamed") {
		t.Error("the log does not tell whose fault it is")
	}
	if status := s.target("bird"); status.Last == nil || status.Last.Outcome != "rejected" || status.PendingSince.IsZero() {
		t.Errorf("status %+v", status)
	}
	if s.file("bird.cfg") != before || s.reloads() != 1 {
		t.Error("something was replaced")
	}
	s.runs(s.bird, meshes(3)...)
	s.write("peers.yaml", peerYAML("good", "192.0.2.10", 64500)+peerYAML("blamed", "192.0.2.11", 64998))
	s.applied("as 64998")
	s.runs(s.bird, append(meshes(3), session("192.0.2.10"), session("192.0.2.11"))...)
	s.until("the problem is gone", func() bool { return s.problem(calico.RuleBirdCheck) == calico.Problem{} })
}

func TestC3RefusedSetAtTheFirstStartIsNotWritten(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	s.templates(badFor)
	s.write("peers.yaml", peerYAML("blamed", "192.0.2.11", 64999))
	s.start()
	s.saysNotReady("bird.cfg:", "syntax error")
	if left, err := filepath.Glob(filepath.Join(s.out, "[a-z]*")); err != nil || len(left) > 0 || s.reloads() != 0 {
		t.Errorf("there is %v (%v), and %d reloads", left, err, s.reloads())
	}
	s.remove("peers.yaml")
	s.applied(mesh(3))
}

// A check that does not end, whose process does not want to end either.
func TestC5HangingCheckIsKilledAndTheOtherTargetGoesOn(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	other := birdtest.Start(t, birdtest.Bird(t), empty)
	hanging, good := s.place("hanging", s.bird), s.place("good", other)
	dir := t.TempDir()
	hanging.binary = filepath.Join(dir, "bird")
	script := fmt.Sprintf(`#!/bin/sh
if [ "$1" = --version ] || [ -e %[1]s/mended ]; then exec %[2]s "$@"; fi
trap '' TERM
sleep 1000 &
echo $$ $! > %[1]s/pids.new; mv %[1]s/pids.new %[1]s/pids
while :; do sleep 1000; done
`, dir, birdtest.Bird(t))
	if err := os.WriteFile(hanging.binary, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s.confd(hanging, good)
	s.start()
	s.appliedAt(good, mesh(3))
	s.until("the check runs", func() bool { return read(filepath.Join(dir, "pids")) != "" })
	pids := strings.Fields(read(filepath.Join(dir, "pids")))
	s.write("cluster.yaml", cluster(4))
	s.appliedAt(good, mesh(4))
	s.runs(other, meshes(4)...)
	if body := s.get("/healthz"); body != "ok\n" {
		t.Errorf("healthz: %q", body)
	}
	if testing.Short() {
		s.end() // which ends the check as well
	} else {
		s.within(2*patience, "the check is given up", func() bool {
			return strings.Contains(s.log.String(), "bird -p did not answer within 30s")
		})
	}
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		s.until("process "+text+" is gone", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH || isZombie(pid) })
	}
	if got := protocols(t, s.bird, "BGP"); len(got) != 0 || read(filepath.Join(hanging.dir, "bird.cfg")) != "" {
		t.Errorf("BIRD runs %v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "mended"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s.stop != nil {
		s.end() // with another check under way
	}
	s.start()
	s.appliedAt(hanging, mesh(4))
	s.runs(s.bird, meshes(4)...)
}

// isZombie tells that a process has ended, but nobody has taken note.
func isZombie(pid int) bool {
	return strings.Contains(read(fmt.Sprintf("/proc/%d/stat", pid)), ") Z ")
}

func TestC8ValueThatIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	write := s.templates(`{{define "hook-90-end"}}{{end}}`)
	s.start()
	s.applied(mesh(3))
	before := s.file("bird.cfg")
	write("{{define \"hook-90-end\"}}\n# {{template \"local\"}}\n{{end}}{{define \"local\"}}{{.}}{{end}}")
	s.untilLogged("<no value>")
	s.saysNotReady("bird: there is nothing to apply, because of a problem; what was applied at")
	if s.file("bird.cfg") != before || s.reloads() != 1 {
		t.Error("something was done")
	}
	// A field that does not exist: file and line of the template.
	write("{{define \"hook-90-end\"}}\n{{.Nonsense}}\n{{end}}")
	s.untilLogged("local.tmpl:2")
	s.untilLogged("Nonsense")
	if s.file("bird.cfg") != before || s.reloads() != 1 {
		t.Error("something was done")
	}
}

// failsFrom is a template that fails for clusters with so many sessions or more.
func failsFrom(n int) string {
	return fmt.Sprintf(`{{define "hook-90-end"}}{{if ge (len .Peers) %d}}{{index .Peers 99}}{{end}}{{end}}`, n)
}

func TestC9TemplateErrorOfOneTargetLeavesTheOtherAlone(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	other := birdtest.Start(t, birdtest.Bird(t), empty)
	broken, good := s.place("broken", s.bird), s.place("good", other)
	broken.templates = t.TempDir()
	overwrite(t, filepath.Join(broken.templates, "local.tmpl"), failsFrom(3))
	s.confd(broken, good)
	s.start()
	s.appliedAt(broken, mesh(3))
	s.appliedAt(good, mesh(3))
	s.write("cluster.yaml", cluster(4))
	s.appliedAt(good, mesh(4))
	s.runs(other, meshes(4)...)
	s.runs(s.bird, meshes(3)...)
	if status := s.target("broken"); !status.Withheld || reloads(s.bird) != 1 {
		t.Errorf("status %+v", status)
	}
	if p := s.problem(calico.RuleTemplate); !strings.Contains(p.String(), "local.tmpl:1") {
		t.Errorf("problem %v", p)
	}
	s.saysNotReady("broken: there is nothing to apply")
	s.write("cluster.yaml", cluster(3))
	s.appliedAt(broken, mesh(3))
	s.until("ready", func() bool { return strings.HasPrefix(s.get("/readyz"), "ready") })
}

func TestC10P6TemplatesEditedWhileItRuns(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	write := s.templates(`{{define "hook-90-end"}}{{end}}`)
	s.start()
	s.applied(mesh(3))
	before := s.file("bird.cfg")
	write(`{{define "hook-90-end"}}{{if}}`)
	s.untilLogged("do not load; what was loaded before stays in use")
	s.untilLogged("local.tmpl:1")
	s.until("seen in the status", func() bool { return !s.report().Config.OK })
	if body := s.get("/healthz"); body != "ok\n" || s.file("bird.cfg") != before {
		t.Errorf("healthz: %q", body)
	}
	// The old templates go on.
	s.write("cluster.yaml", cluster(4))
	s.applied(mesh(4))
	// A good one is used without a change of data.
	write(`{{define "hook-90-end"}}protocol static local_extra { }{{end}}`)
	s.applied("local_extra")
	if got := protocols(t, s.bird, "Static"); !slices.Contains(got, "local_extra") || s.reloads() != 3 {
		t.Errorf("BIRD has %v after %d reloads", got, s.reloads())
	}
	s.runs(s.bird, meshes(4)...)
	if !s.report().Config.OK || s.metric("birdconfd_config_last_load_successful") != 1 {
		t.Errorf("config: %+v", s.report().Config)
	}
	s.untilLogged("configuration or templates loaded anew")
}

// While nothing could be applied the source went back to what was applied before.
func TestBackToWhatIsAppliedIsNothingToDo(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 10)
	s.start()
	s.applied(mesh(10))
	s.write("cluster.yaml", cluster(2))
	s.until("held", func() bool { return s.target("bird").Held != nil })
	s.write("cluster.yaml", strings.ReplaceAll(cluster(2), "{name: "+node+"}", "{name: other}"))
	s.until("withheld", func() bool { return s.target("bird").Withheld })
	s.write("cluster.yaml", cluster(10))
	s.until("ready", func() bool { return strings.HasPrefix(s.get("/readyz"), "ready") })
	if status := s.target("bird"); !status.PendingSince.IsZero() || s.reloads() != 1 {
		t.Errorf("%d reloads, status %+v", s.reloads(), status)
	}
}
