package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/daemon"
)

// damage does to the files what nobody should.
func (s *setup) damage() {
	s.t.Helper()
	err := errors.Join(os.Remove(filepath.Join(s.out, "bird_aggr.cfg")),
		os.WriteFile(filepath.Join(s.out, "bird.cfg"), []byte("garbage {"), 0o644))
	if err != nil {
		s.t.Fatal(err)
	}
}

// A BIRD that ends because of its files could never start again.
func TestDamagedFilesAreMendedWhenBirdEnds(t *testing.T) {
	s := newSetup(t, 3)
	s.start()
	s.applied(mesh(3))
	main := s.file("bird.cfg")
	s.damage()
	s.bird.Kill()
	s.until("files are back", func() bool { return s.file("bird.cfg") == main && s.file("bird_aggr.cfg") != "" })
	s.bird.Config = filepath.Join(s.out, "bird.cfg")
	s.bird.Restart()
	s.until("sessions are back", func() bool { return len(s.sessions()) == 2 })
	s.applied(mesh(3))
}

// USR1 looks at once.
func TestDamagedFilesAreMendedWhenAskedTo(t *testing.T) {
	s := newSetup(t, 3)
	override := make(chan struct{}, 1)
	s.change = func(o *daemon.Options) { o.Override = override }
	s.start()
	s.applied(mesh(3))
	main := s.file("bird.cfg")
	s.damage()
	override <- struct{}{}
	s.until("files are back", func() bool { return s.file("bird.cfg") == main && s.file("bird_aggr.cfg") != "" })
	s.untilLogged("files were not what was applied, and were put right")
}

// Somebody has BIRD load another configuration, and later nothing happens.
func TestForeignConfigurationIsNoticed(t *testing.T) {
	s := newSetup(t, 3)
	s.change = func(o *daemon.Options) { o.LookEvery = 200 * time.Millisecond }
	s.start()
	s.applied(mesh(3))
	s.until("a while has passed, so that BIRD's times tell", func() bool {
		status := s.birdStatus()
		return status.ServerTime.Sub(status.LastReconfiguration) > 3*time.Second
	})
	if n := s.reloads(); n != 1 {
		t.Errorf("%d reloads although nothing has happened", n)
	}
	conn, err := bird.Client{Socket: s.bird.Socket}.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Configure(t.Context(), bird.ConfigureOptions{File: s.bird.Config}); err != nil {
		t.Fatal(err)
	}
	s.untilLogged("BIRD had loaded something else; applied")
	s.until("sessions are back", func() bool { return len(s.sessions()) == 2 })
}
