package daemon

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// jsonLog: each line of the log is an object, also when things go wrong.
func jsonLog(t *testing.T, path string) {
	p := newProgram(t, path, 3)
	p.run("--log-format", "json", "--log-level", "debug", "--templates", p.template(broken))
	p.untilLogged("BIRD refuses the file")
	p.reload(`{{define "hook-90-end"}}{{nope}}{{end}}`)
	p.untilLogged("do not load")
	p.reload(`{{define "hook-90-end"}}# fine{{end}}`)
	p.applied("# fine")
	p.bird.Kill()
	p.untilLogged("BIRD is not running")
	p.end()
	for line := range strings.Lines(p.log.String()) {
		var entry struct {
			Time       time.Time
			Level, Msg string
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Time.IsZero() || entry.Level == "" || entry.Msg == "" {
			t.Errorf("%v: %s", err, line)
		}
	}
}

// twoForOneDirectory: the second leaves the first alone, says so, and takes over when the
// first has ended.
func twoForOneDirectory(t *testing.T, path string) {
	p := newProgram(t, path, 3)
	p.run()
	p.applied(mesh(3))
	q := p.with()
	q.run("--once")
	q.exits(1, "another birdconfd takes care of this target")
	q = p.with()
	q.run()
	q.untilLogged("another birdconfd takes care of this target")
	if !strings.Contains(q.log.String(), p.out) {
		t.Errorf("the log does not name the directory:\n%s", q.log)
	}
	p.write("cluster.yaml", cluster(4))
	p.applied(mesh(4))
	if body := q.get("/readyz"); !strings.Contains(body, "takes care") {
		t.Errorf("the second says it is: %s", body)
	}
	p.end()
	if strings.Contains(p.log.String(), "level=ERROR") {
		t.Errorf("log of the first:\n%s", p.log)
	}
	q.applied(mesh(4))
	q.write("cluster.yaml", cluster(5))
	q.applied(mesh(5))
	q.end()
}

// secretsInRefusals makes BIRD and templates stumble over a password. newProgram looks
// through all that was said.
func secretsInRefusals(t *testing.T, path string) {
	refused := `{{define "hook-40-peer"}}{{if .Password.IsSet}}  nonsense {{quote .Password}};{{end}}{{end}}`
	for _, tt := range []struct{ name, template, check, logged string }{
		{"by the check", refused, "require", "nothing was replaced"},
		{"by BIRD", refused, "off", "BIRD did not take the files"},
		{"a password that is a symbol", `{{define "hook-40-peer"}}{{if .Password.IsSet}}  import filter {{.Password}};{{end}}{{end}}`, "off", "level=ERROR"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProgram(t, path, 3)
			p.run("--log-level", "debug", "--check", tt.check, "--templates", p.template(tt.template))
			p.untilLogged(tt.logged)
			p.reload(`{{define "hook-90-end"}}# fine{{end}}`)
			p.applied("# fine")
			if !strings.Contains(p.file("bird.cfg"), canary) {
				t.Error("the password is not in use, so that it could not be shown")
			}
			p.end()
		})
	}
}
