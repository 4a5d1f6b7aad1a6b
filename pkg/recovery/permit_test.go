package recovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// TestPermit makes Plans for a daemon in one state, and carries them out in another.
func TestPermit(t *testing.T) {
	t.Parallel()
	for _, version := range []int{1, 2} {
		s := birdtest.NewSpeaker(t, version, "127.0.0.1")
		sessions := s.Session("a", nobody, "passive;")
		daemons := map[Condition]*birdtest.Daemon{
			Recovering: s.Start(t, sessions, "-R"),
			Steady:     birdtest.NewSpeaker(t, version, "127.0.0.1").Start(t, ""),
			Down:       birdtest.NewSpeaker(t, version, "127.0.0.1").Start(t, ""),
		}
		daemons[Down].Kill()
		for now, d := range daemons {
			client := bird.Client{Socket: d.Socket}
			for _, made := range []Condition{Unseen, Silent, Down, Recovering, Steady} {
				err := new(Plan).Permit(t.Context(), client, State{Condition: made})
				fits := made == now || made == Unseen || made == Silent
				if fits != (err == nil) || !fits && !errors.Is(err, ErrMoved) {
					t.Errorf("%d: made for %q, which is now %q: %v", version, made, now, err)
				}
				if want := fmt.Sprintf("it was %s and is %s", made, now); !fits && !strings.HasSuffix(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
			}
		}
	}
	none := bird.Client{Socket: filepath.Join(t.TempDir(), "none")}
	if err := new(Plan).Permit(t.Context(), none, State{Condition: Down}); err != nil {
		t.Errorf("without a socket: %v", err)
	}
	if err := new(Plan).Permit(t.Context(), none, State{Condition: Steady}); !errors.Is(err, ErrMoved) {
		t.Errorf("without a socket: %v", err)
	}
}

// A session that has come up since, or is about to, is not changed.
func TestPermitOfFlips(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.3:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() }) // it takes connections, and says nothing
	slow := birdtest.Speaker{Address: "127.0.0.3", Port: l.Addr().(*net.TCPAddr).Port}
	for _, version := range []int{1, 2} {
		a, b := birdtest.NewSpeaker(t, version, "127.0.0.1"), birdtest.NewSpeaker(t, version, "127.0.0.2")
		b.Start(t, b.Session("back", a))
		d := a.Start(t, a.Session("live", b, "passive;")+a.Session("slow", slow)+a.Session("gone", nobody, "passive;"))
		within(t, "sessions are as they should be", func() bool { return row(t, d, "live").Established() && row(t, d, "slow").ComingUp() })
		client := bird.Client{Socket: d.Socket}
		for name, touchy := range map[string]bool{"live": true, "slow": true, "gone": false, "removed": false} {
			p := Plan{Flips: []string{"another", name}}
			err := p.Permit(t.Context(), client, State{Condition: Steady})
			if errors.Is(err, ErrMoved) != touchy || touchy && !strings.HasSuffix(err.Error(), "the session "+name+" has come up") || !touchy && err != nil {
				t.Errorf("%d: %s: %v", version, name, err)
			}
		}
	}
}

// Whoever loads the configuration finds out what is wrong with a daemon that cannot be asked.
func TestPermitOfADaemonThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	d := alone(t, 1, "graceful restart wait 0;\n", "a")
	p := birdtest.NewProxy(t, d)
	permit := func(ctx context.Context) error {
		plan := Plan{Flips: []string{"a"}}
		return plan.Permit(ctx, bird.Client{Socket: p.Socket, Timeout: 100 * time.Millisecond}, State{Condition: Steady})
	}
	for _, at := range []string{"", "show status", "show protocols"} {
		for _, what := range []string{birdtest.Silent, "8000 not now\n", birdtest.HangsUp} {
			asked := p.Count(at)
			p.Answers(func(command string, _ []string) string {
				if command == at {
					return what
				}
				return birdtest.Forward
			})
			if err := permit(t.Context()); err != nil || p.Count(at) == asked {
				t.Errorf("%q at %q: %v", what, at, err)
			}
		}
	}
	p.Opens()
	if err := syscall.Kill(d.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := permit(t.Context()); err != nil {
		t.Errorf("a daemon that was stopped: %v", err)
	}
	d.Kill() // the proxy is still there
	if err := permit(t.Context()); err != nil {
		t.Errorf("a daemon that has ended behind another: %v", err)
	}
}
