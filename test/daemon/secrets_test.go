package daemon

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// Passwords that must be nowhere but in BIRD's files.
const (
	oldSecret = "c4nary-0ne-s3cret"
	newSecret = "c4nary-tw0-s3cret"
)

func secretYAML(keys string) string {
	return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: bgp-keys, namespace: kube-system}\nstringData: {" + keys + "}\n"
}

// withPassword makes a BGPPeer whose password is under a key of the Secret.
func withPassword(name, ip string, as int, key string) string {
	return strings.TrimSuffix(peerYAML(name, ip, as), "}\n") + ", password: {secretKeyRef: {name: bgp-keys, key: " + key + "}}}\n"
}

// keepsSecrets checks everything that can be seen from outside.
func (s *setup) keepsSecrets() {
	s.t.Helper()
	seen := map[string]string{"the log": s.log.String()}
	for _, path := range []string{"/status", "/metrics", "/readyz", "/healthz"} {
		seen[path] = s.get(path)
	}
	for where, text := range seen {
		for _, secret := range []string{oldSecret, newSecret} {
			if i := strings.Index(text, secret); i >= 0 {
				s.t.Errorf("a password is in %s: %s", where, text[max(0, i-300):i+len(secret)])
			}
		}
	}
}

// script makes a program.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestP12PasswordsAreInNoOutput(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	s.level = slog.LevelDebug
	s.write("peers.yaml", secretYAML("tor: "+oldSecret+", rack: '"+oldSecret+"\"'")+withPassword("tor", "192.0.2.10", 64500, "tor"))

	// The line with the password is what BIRD refuses.
	refused := s.place("refused", nil)
	refused.templates = t.TempDir()
	overwrite(t, filepath.Join(refused.templates, "local.tmpl"),
		`{{define "hook-40-peer"}}{{if .Password.IsSet}}  password {{quote .Password}} {{quote .Password}};{{end}}{{end}}`)
	// A check that fails in its own way, and says all that it was given.
	failing := s.place("failing", nil)
	failing.binary = script(t, "bird", `[ "$1" = --version ] && exec `+birdtest.Bird(t)+` --version
cat "$3" >&2; grep -o 'c4nary[^"]*' "$3"; exit 1`)
	// A reload that does the same.
	reloading := s.place("reloading", nil)
	reloading.socket, reloading.more = "", fmt.Sprintf("  reload: {command: [/bin/sh, -c, 'cat %[1]s/bird.cfg; grep -o \"c4nary[^\\\"]*\" %[1]s/bird.cfg; exit 1']}\n", reloading.dir)
	// And one that succeeds.
	chatty := s.place("chatty", nil)
	chatty.socket, chatty.more = "", strings.ReplaceAll(strings.Replace(reloading.more, "exit 1", "exit 0", 1), reloading.dir, chatty.dir)
	// A template that fails with the password in hand.
	broken := s.place("broken", nil)
	broken.templates = t.TempDir()
	overwrite(t, filepath.Join(broken.templates, "local.tmpl"), `{{define "hook-40-peer"}}{{if .Password.IsSet}}{{index .Password 99}}{{end}}{{end}}`)
	good := s.place("good", s.bird)
	s.confd(refused, failing, reloading, chatty, broken, good)
	s.start()
	s.appliedAt(good, oldSecret)
	s.appliedAt(chatty, oldSecret)
	s.runs(s.bird, append(meshes(3), session("192.0.2.10"))...)
	for _, name := range []string{"refused", "failing", "reloading"} {
		s.until(name+" has failed", func() bool { return s.target(name).Failures > 0 })
	}
	s.until("withheld", func() bool { return s.target("broken").Withheld })
	if p := s.problem(calico.RuleBirdCheck); p == (calico.Problem{}) {
		t.Errorf("problems: %v", s.report().Problems)
	}
	s.keepsSecrets()

	// Nobody else reads it on the disk either.
	for _, p := range []place{refused, failing, reloading, chatty, broken, good} {
		err := filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.Contains(read(path), oldSecret) {
				return nil // what is gone again is no longer of interest
			}
			if info, err := e.Info(); err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has the mode %v", path, info.Mode())
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}

	// Another password, and one that cannot be written.
	s.write("peers.yaml", secretYAML("tor: "+newSecret+", rack: '"+oldSecret+"\"'")+
		withPassword("tor", "192.0.2.10", 64500, "tor")+withPassword("rack", "192.0.2.11", 64501, "rack"))
	s.appliedAt(good, newSecret)
	s.until("the one that cannot be written is reported", func() bool { return strings.Contains(s.get("/status"), "BGPPeer/rack") })
	s.keepsSecrets()
	s.end()
	s.keepsSecrets()
}

// A set is being checked while its password is replaced: the error still has the old one.
func TestP12PasswordOfAnOlderSetIsInNoOutput(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	peer := withPassword("tor", "192.0.2.10", 64500, "tor")
	s.write("peers.yaml", secretYAML("tor: "+oldSecret)+peer)
	dir := t.TempDir()
	slow := s.place("slow", nil)
	slow.binary = script(t, "bird", fmt.Sprintf(`[ "$1" = --version ] && exec %s --version
touch %[2]s/runs
until [ -e %[2]s/go ]; do sleep 0.02; done
grep -o 'c4nary[^"]*' "$3"; exit 1`, birdtest.Bird(t), dir))
	s.confd(slow)
	s.start()
	s.until("the check runs", func() bool { _, err := os.Stat(filepath.Join(dir, "runs")); return err == nil })
	before := s.target("slow").Desired
	s.write("peers.yaml", secretYAML("tor: "+newSecret)+peer)
	s.until("a newer set waits", func() bool { d := s.target("slow").Desired; return d != "" && d != before })
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.untilLogged("nothing was replaced")
	s.until("both have failed", func() bool { return s.target("slow").Outcomes["rejected"] >= 2 })
	s.keepsSecrets()
}

// F5 of the log of BIRD's reports.
func TestF5SecretThatAppearsLater(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	s.write("peers.yaml", withPassword("tor", "192.0.2.10", 64500, "tor")+peerYAML("other", "192.0.2.11", 64501))
	s.start()
	s.applied(session("192.0.2.11"))
	s.runs(s.bird, append(meshes(3), session("192.0.2.11"))...)
	var found calico.Problem
	for _, p := range s.report().Problems {
		if p.Resource == "BGPPeer/tor" {
			found = p
		}
	}
	for _, word := range []string{"bgp-keys", "tor", "kube-system"} {
		if !strings.Contains(found.String(), word) {
			t.Errorf("%q is not in the problem: %s", word, found)
		}
	}
	if strings.Contains(s.file("bird.cfg"), session("192.0.2.10")) {
		t.Error("a session without its password")
	}
	s.write("secret.yaml", secretYAML("tor: "+oldSecret))
	s.applied(oldSecret)
	s.runs(s.bird, append(meshes(3), session("192.0.2.10"), session("192.0.2.11"))...)
	s.untilLogged("problems are gone")
	s.keepsSecrets()
	// Taken away again: the session is not left without a password.
	s.remove("secret.yaml")
	s.runs(s.bird, append(meshes(3), session("192.0.2.11"))...)
}
