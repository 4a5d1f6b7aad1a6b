package recovery

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// TestWatcherThroughALife sees a daemon recover, be steady, be killed and start again.
func TestWatcherThroughALife(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			d := alone(t, version, "graceful restart wait 5;\n", "a", "b")
			d.Kill()
			w := watch(t, bird.Client{Socket: d.Socket}, func(w *Watcher) { w.Follow([]string{"b", "unknown"}) })
			if s := w.becomes(Down); s.Start != 0 || s.Up() || s.Why != nil {
				t.Errorf("before the first start: %+v", s)
			}
			d.Restart()
			s := w.becomes(Recovering)
			if r := s.Recovery; !slices.Equal(s.Holders(), []string{"a", "b"}) || r.Waiting != 2 || !r.LeftKnown || r.Left <= 0 || r.Left > 5*time.Second {
				t.Errorf("recovering: %+v", s)
			}
			if s.Start != 1 || s.Version.Major != version || s.Booted.IsZero() || !s.Up() {
				t.Errorf("recovering: %+v", s)
			}
			s = w.becomes(Steady)
			if len(s.Sessions) != 1 || s.Sessions["b"] != (Session{}) || len(s.Holders()) != 0 || s.Start != 1 {
				t.Errorf("steady, and b is followed: %+v", s)
			}
			w.Follow(nil)
			w.until("nobody is followed", func(s State) bool { return s.Condition == Steady && s.Sessions == nil })
			w.Follow([]string{"a"})
			w.until("a is followed", func(s State) bool { _, ok := s.Sessions["a"]; return ok && len(s.Sessions) == 1 })
			w.Follow(nil)
			w.until("nobody is followed", func(s State) bool { return s.Sessions == nil })

			killed := time.Now()
			d.Kill()
			s = w.becomes(Down)
			if took := s.At.Sub(killed); took > dialEvery/2 {
				t.Errorf("the end was seen after %s, as if by chance", took)
			}
			if s.Start != 1 {
				t.Errorf("down: %+v", s)
			}
			d.Restart()
			if s := w.becomes(Recovering); s.Start != 2 || len(s.Holders()) != 2 || s.Released != nil {
				t.Errorf("after the second start: %+v", s)
			}
			if got, want := w.conditions(), []Condition{Down, Recovering, Steady, Down, Recovering}; !slices.Equal(got, want) {
				t.Errorf("seen %v, want %v", got, want)
			}
		})
	}
}

// A daemon that hangs up is neither gone nor another one.
func TestWatcherIsHungUp(t *testing.T) {
	t.Parallel()
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			p := birdtest.NewProxy(t, alone(t, version, "", "a"))
			w := watch(t, bird.Client{Socket: p.Socket}, nil)
			w.becomes(Recovering)
			for i := range 5 { // while it waits
				p.HangUp()
				within(t, "it asks again", func() bool { return p.Count("") > 0 && p.Count("show status") > 1+i })
			}
			for _, ends := range []string{"show status", "show protocols all"} { // and while it asks
				cut := make(chan struct{})
				var once sync.Once
				p.Answers(func(command string, _ []string) string {
					if command != ends {
						return birdtest.Forward
					}
					once.Do(func() { close(cut) })
					p.Opens()
					return "1000-half an ans" + birdtest.HangsUp
				})
				p.HangUp() // so that sessions are looked at anew
				select {
				case <-cut:
				case <-time.After(patience):
					t.Fatalf("%s was not asked", ends)
				}
				n := p.Count("show status")
				within(t, "it asks again", func() bool { return p.Count("show status") > n+1 })
			}
			for _, s := range w.seen() {
				if s.Condition != Recovering || s.Start != 1 || !slices.Equal(s.Holders(), []string{"a"}) {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

// A daemon that hangs up each time is not asked all the time.
func TestWatcherDoesNotHurry(t *testing.T) {
	t.Parallel()
	p := birdtest.NewProxy(t, alone(t, 1, "", "a"))
	p.Answers(func(command string, _ []string) string {
		if command == "show status" {
			return birdtest.HangsUp
		}
		return birdtest.Forward
	})
	began := time.Now()
	w := watch(t, bird.Client{Socket: p.Socket}, nil)
	within(t, "it has asked some times", func() bool { return p.Count("show status") > 10 })
	if took := time.Since(began); took < 9*redialEvery {
		t.Errorf("it asked ten times in %s", took)
	}
	p.Opens()
	w.becomes(Recovering)
}

// A daemon that does not answer is perhaps there, and then the same as before.
func TestWatcherOfADaemonThatIsStopped(t *testing.T) {
	t.Parallel()
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			d := alone(t, version, "", "a")
			w := watch(t, bird.Client{Socket: d.Socket, Timeout: 300 * time.Millisecond}, nil)
			w.becomes(Recovering)
			if err := syscall.Kill(d.Pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			s := w.becomes(Silent)
			if s.Why == nil || !strings.Contains(s.Why.Error(), "within 300ms") || s.Start != 1 || s.Up() || s.Sessions != nil {
				t.Errorf("%+v", s)
			}
			if err := syscall.Kill(d.Pid, syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if s := w.becomes(Recovering); s.Start != 1 || s.Why != nil || len(s.Holders()) != 1 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// What listens may be no BIRD at all.
func TestWatcherOfGarbage(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{"a mail server": "220 mail.example ESMTP\r\n", "nothing": "", "a part": "0001 BI"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			socket := birdtest.Listen(t, func(c net.Conn) {
				_, _ = io.WriteString(c, says)
				c.Close()
			}, nil)
			w := watch(t, bird.Client{Socket: socket}, nil)
			if s := w.becomes(Silent); s.Why == nil || s.Start != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
	t.Run("answers to questions", func(t *testing.T) {
		t.Parallel()
		p := birdtest.NewProxy(t, alone(t, 1, "", "a"))
		p.Answers(func(command string, _ []string) string {
			if command == "show status" {
				return "0013 \x00\xff\n"
			}
			return birdtest.Forward
		})
		w := watch(t, bird.Client{Socket: p.Socket}, nil)
		s := w.becomes(Steady) // it is not known to recover
		p.Answers(func(command string, _ []string) string {
			if command == "" {
				return birdtest.Forward
			}
			return "8000 not now\n"
		})
		w.Look()
		if got := w.becomes(Silent); !strings.Contains(got.Why.Error(), "unexpected answer: 8000 not now") || got.Start != s.Start {
			t.Errorf("%+v", got)
		}
	})
}

// All of a Watcher's methods may be called at any time, and none is forgotten.
func TestWatcherIsAskedFromEverywhere(t *testing.T) {
	t.Parallel()
	d := alone(t, 1, "graceful restart wait 1;\n", "a", "b")
	w := watch(t, bird.Client{Socket: d.Socket}, nil)
	var asking sync.WaitGroup
	for i := range 4 {
		asking.Go(func() {
			for n := range 200 {
				switch (i + n) % 3 {
				case 0:
					w.Look()
				case 1:
					w.Follow([]string{"a", "b"}[:n%3])
				case 2:
					w.Release(Policy{Unreachable: time.Hour * time.Duration(n)})
				}
			}
		})
	}
	asking.Wait()
	w.Follow([]string{"b"})
	w.until("b is followed", func(s State) bool {
		_, ok := s.Sessions["b"]
		return s.Condition == Steady && ok && len(s.Sessions) == 1
	})
	for i := range 30 { // as soon as one look ends, the next is asked for
		names := []string{"a", "b"}[:1+i%2]
		began := time.Now()
		w.Follow(names)
		s := w.until("they are followed", func(s State) bool { return len(s.Sessions) == len(names) })
		if took := s.At.Sub(began); took > steadyEvery/2 {
			t.Errorf("it looked after %s, as if nobody had asked", took)
		}
	}
}

// The end of the context ends everything, whatever goes on; TestMain looks for what is left.
func TestWatcherEnds(t *testing.T) {
	t.Parallel()
	d := alone(t, 1, "", "a")
	silent := birdtest.NewProxy(t, d)
	silent.Answers(func(string, []string) string { return birdtest.Silent })
	for name, socket := range map[string]string{"while it waits": d.Socket, "while it asks": silent.Socket, "while nobody is there": d.Dir + "/none"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			reported := make(chan State, 1)
			done := make(chan struct{})
			go func() {
				defer close(done)
				NewWatcher(bird.Client{Socket: socket}, func(s State) { reported <- s }).Run(ctx)
			}()
			if name == "while it asks" {
				within(t, "it asks", func() bool { return silent.Count("") > 0 })
			} else {
				<-reported
			}
			cancel()
			select {
			case <-done:
			case <-time.After(patience):
				t.Error("it goes on")
			}
			select {
			case s := <-reported:
				t.Errorf("at its end it reports %+v", s)
			default:
			}
		})
	}
}
