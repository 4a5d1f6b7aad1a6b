package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/render"
)

// What BIRD has refused must not be what it finds when it is started the next time.
func TestRefusedSetIsNotThereForABirdThatStarts(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3)
	templates := t.TempDir()
	hook := `{{define "hook-90-end"}}{{if gt (len .Peers) 2}}nonsense {}{{end}}{{end}}`
	if err := os.WriteFile(filepath.Join(templates, "bad.tmpl"), []byte(hook), 0o600); err != nil {
		t.Fatal(err)
	}
	s.config = func() (*render.Config, []calico.Problem) {
		return render.Standalone(render.StandaloneOptions{Directory: s.out, Sockets: map[string]string{"bird": s.bird.Socket},
			Templates: []string{templates}, BirdDir: filepath.Dir(birdtest.Bird(t)), Families: ipv4, Check: render.CheckOff})
	}
	s.start()
	s.applied(mesh(3))
	old := s.file("bird.cfg")
	s.write("cluster.yaml", cluster(4))
	s.untilLogged("BIRD did not take the files; the ones before are back in place")
	s.bird.Kill()
	s.untilLogged("these files were refused before") // which is the next attempt
	if s.file("bird.cfg") != old {
		t.Errorf("BIRD would start with:\n%s", s.file("bird.cfg"))
	}
	s.bird.Config = filepath.Join(s.out, "bird.cfg")
	s.bird.Restart()
	s.until("sessions are back", func() bool { return len(s.sessions()) == 2 })
	s.write("cluster.yaml", strings.ReplaceAll(cluster(3), "64512", "64513"))
	s.applied("64513")
}
