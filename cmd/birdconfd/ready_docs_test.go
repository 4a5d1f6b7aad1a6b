package main

import (
	"bytes"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/recovery"
)

// The manual's table has every flag of ready, with its default.
func TestReadinessManualHasTheFlags(t *testing.T) {
	flags := flagsOf(t, "ready")
	delete(flags, "help")
	manual := readFile(t, "../../docs/readiness.md")
	for _, m := range regexp.MustCompile("(?m)^\\| `--([a-z0-9-]+)` \\| (.*?) ?\\|").FindAllStringSubmatch(manual, -1) {
		line, ok := flags[m[1]]
		if !ok {
			t.Errorf("--%s is not a flag, or is there twice", m[1])
		}
		if shown := regexp.MustCompile(`\(default ([0-9a-z]*)\)`).FindStringSubmatch(line); shown != nil && shown[1] != "never" && shown[1] != m[2] {
			t.Errorf("--%s: the manual says %q, the help%s", m[1], m[2], line)
		} else if m[2] != "" && m[1] != "format" && shown == nil {
			t.Errorf("--%s: the manual has a default that the help lacks:%s", m[1], line)
		}
		delete(flags, m[1])
	}
	if len(flags) > 0 {
		t.Errorf("the manual lacks %v", flags)
	}
}

// The manual's samples are what the program writes.
func TestReadinessSamples(t *testing.T) {
	now := time.Now()
	row := func(row string) bird.Detail {
		p, ok := bird.ParseProtocol(row)
		if !ok {
			t.Fatal(row)
		}
		return bird.Detail{Protocol: p}
	}
	up := []bird.Detail{row("a BGP master up 11:00:00 Established"), row("b BGP master up 11:00:00 Established"), row("c BGP master up 11:00:00 Established")}
	dead, shut := row("Mesh_192_0_2_3 BGP master start 11:00:00 Passive"), row("Mesh_192_0_2_4 BGP master down 11:00:00")
	known := recovery.Peers{AsOf: now, Peers: []recovery.KnownPeer{
		{Name: "Mesh_192_0_2_3", Node: "worker-3", NotReady: true, Address: netip.MustParseAddr("192.0.2.3")},
		{Name: "Global_10_0_0_1", Address: netip.MustParseAddr("10.0.0.1")},
	}}
	manual := readFile(t, "../../docs/readiness.md")
	sample := func(ready bool, seen recovery.Seen) string {
		var stdout, stderr bytes.Buffer
		v := recovery.Judge(seen, known, now, recovery.Rules{})
		r := readyReport{Ready: v.Ready, Targets: []readyTarget{{Name: "bird", Verdict: v}}}
		if err := r.show(environment{stdout: &stdout, stderr: &stderr}, "text"); err != nil || v.Ready != ready {
			t.Fatalf("%+v, %v", v, err)
		}
		return stdout.String() + stderr.String()
	}
	if want := sample(true, recovery.Seen{Sessions: append(slices.Clone(up), dead, shut)}); !strings.Contains(manual, "\n"+want+"```") {
		t.Errorf("the manual lacks\n%s", want)
	}
	dead.HoldsRecovery = true
	status := bird.Status{Recovery: bird.Recovery{InProgress: true, Waiting: 1, Left: 235 * time.Second, LeftKnown: true}}
	tor := row("Global_10_0_0_1 BGP master start 11:00:00 Active Socket: No route to host")
	if want := sample(false, recovery.Seen{Status: status, Sessions: append(up, dead, tor, shut)}); !strings.Contains(manual, "```text\n"+want+"```") {
		t.Errorf("the manual lacks\n%s", want)
	}
}

// The manual's probe is one that the program understands, and gives it the time it takes.
func TestReadinessProbe(t *testing.T) {
	m := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(readFile(t, "../../docs/readiness.md"))
	if m == nil {
		t.Fatal("docs/readiness.md has no probe")
	}
	var probe struct {
		ReadinessProbe struct {
			Exec           struct{ Command []string }
			TimeoutSeconds int `yaml:"timeoutSeconds"`
		} `yaml:"readinessProbe"`
	}
	if err := yaml.Unmarshal([]byte(m[1]), &probe); err != nil {
		t.Fatal(err)
	}
	p := probe.ReadinessProbe
	if len(p.Exec.Command) < 2 || p.Exec.Command[0] != "birdconfd" || time.Duration(p.TimeoutSeconds)*time.Second <= readyTimeout {
		t.Fatalf("%+v", p)
	}
	gone := t.TempDir() + "/bird.ctl"
	call{args: p.Exec.Command[1:], env: map[string]string{"BIRDCONFD_BIRD": gone}}.run(t).want(t, exitProblems, gone)
}
