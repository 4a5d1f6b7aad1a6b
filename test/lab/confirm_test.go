package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/apply"
	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// onTrial is how long configurations are on trial here.
const onTrial = 8 * time.Second

// pair is a session between two hosts. Only the configuration of alpha changes.
type pair struct {
	*lab
	target apply.Target
	// write makes a configuration of one end.
	write func(end) string
}

// end is one end of a session, and how its configuration differs from a good one.
type end struct {
	own, peer int // the last byte of the addresses
	peerAS    int
	password  string
	note      string
}

var good = end{own: 11, peer: 12, peerAS: 64512, password: "sesame"}

func bird1Config(e end) string {
	return fmt.Sprintf(`# %[1]s
log stderr all;
router id 192.0.2.%[2]d;
protocol device { scan time 2; }
protocol static { route 198.51.100.%[2]d/32 blackhole; }
protocol bgp bravo {
  local 192.0.2.%[2]d as 64512;
  neighbor 192.0.2.%[3]d as %[4]d;
  password "%[5]s";
  connect delay time 1; connect retry time 1; error wait time 1,2;
  import all; export all;
}
`, e.note, e.own, e.peer, e.peerAS, e.password)
}

func bird2Config(e end) string {
	return fmt.Sprintf(`# %[1]s
log stderr all;
router id 192.0.2.%[2]d;
protocol device { scan time 2; }
protocol static { ipv4; route 198.51.100.%[2]d/32 blackhole; }
protocol bgp bravo {
  local 192.0.2.%[2]d as 64512;
  neighbor 192.0.2.%[3]d as %[4]d;
  password "%[5]s";
  connect delay time 1; connect retry time 1; error wait time 1,2;
  ipv4 { import all; export all; };
}
`, e.note, e.own, e.peer, e.peerAS, e.password)
}

// newPair starts two daemons and waits for their session.
func newPair(t *testing.T, binary string, write func(end) string) *pair {
	t.Helper()
	p := &pair{lab: newLab(t), write: write}
	for _, e := range []struct {
		host string
		end  end
	}{{"alpha", good}, {"bravo", end{own: 12, peer: 11, peerAS: 64512, password: good.password}}} {
		p.host(e.host, fmt.Sprintf("192.0.2.%d/24", e.end.own))
		if err := os.WriteFile(filepath.Join(p.dir(e.host), "bird.cfg"), []byte(write(e.end)), 0o600); err != nil {
			t.Fatal(err)
		}
		p.daemon(e.host, "bird", binary, "bird.cfg")
	}
	p.target = trialTarget(p.dir("alpha"), p.socket("alpha", "bird"), binary)
	p.up("started")
	return p
}

func trialTarget(dir, socket, binary string) apply.Target {
	return apply.Target{Name: "bird", Dir: dir, Check: bird.Checker{Binary: binary}.Check,
		Reloader: &apply.SocketReloader{Client: bird.Client{Socket: socket}, Confirm: onTrial}}
}

// up waits until the session is up and routes have come.
func (p *pair) up(when string) {
	p.t.Helper()
	var protocols, routes string
	p.untilTrue(when+", the session is up", func() bool {
		protocols, routes = p.ask("alpha", "bird", "show protocols"), p.ask("alpha", "bird", "show route")
		return exchanging(protocols) == 1 && strings.Contains(routes, "198.51.100.12/32")
	}, &protocols, &routes)
}

// runs fails unless the file of alpha is that one.
func (p *pair) runs(e end) {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir("alpha"), "bird.cfg"))
	if err != nil || string(data) != p.write(e) {
		p.t.Errorf("alpha has the file\n%s\nwant\n%s(%v)", data, p.write(e), err)
	}
}

func (p *pair) files(e end) []apply.File {
	return []apply.File{{Name: "bird.cfg", Data: []byte(p.write(e)), Secret: true}}
}

// apply applies a configuration of alpha.
func (p *pair) apply(a *apply.Applier, e end) (apply.Result, error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	return a.Apply(ctx, p.files(e))
}

func (p *pair) opened() *apply.Applier {
	p.t.Helper()
	a, err := apply.Open(p.target)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { a.Close() })
	return a
}

// undone applies a bad configuration, which must be undone.
func (p *pair) undone(a *apply.Applier, bad, before end) {
	p.t.Helper()
	begin := time.Now()
	res, err := p.apply(a, bad)
	collapsed, ok := errors.AsType[*apply.CollapsedError](err)
	if !ok || res.Outcome != apply.RolledBack {
		p.t.Fatalf("outcome %q, error %v", res.Outcome, err)
	}
	if len(collapsed.Lost) != 1 || collapsed.Before != 1 || !strings.Contains(err.Error(), "the change was undone: bravo") {
		p.t.Errorf("error: %v", err)
	}
	if took := time.Since(begin); took < onTrial/2 {
		p.t.Errorf("it was judged after %s", took)
	}
	p.runs(before)
	p.up("after it was undone")
}

// TestTrial puts configurations on trial that do no harm, and such that cost the session.
func TestTrial(t *testing.T) {
	for _, tt := range []struct {
		name   string
		binary func(testing.TB) string
		write  func(end) string
		killed bool
	}{{"bird 1.6", birdtest.Bird, bird1Config, true}, {"bird 2", birdtest.Bird2, bird2Config, false}} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t, tt.binary(t), tt.write)
			a := p.opened()
			harmless, otherAS, otherPassword := good, good, good
			harmless.note, otherAS.peerAS, otherPassword.password = "harmless", 64999, "open"

			begin := time.Now()
			if res, err := p.apply(a, harmless); err != nil || res.Outcome != apply.Applied || !res.Verdict.Confirmed {
				t.Fatalf("%+v, %v", res, err)
			}
			confirmed := time.Now()
			if took := confirmed.Sub(begin); took > onTrial/2 {
				t.Errorf("it was confirmed only after %s", took)
			}
			p.untilTrue("the time for the trial is over", func() bool {
				if exchanging(p.ask("alpha", "bird", "show protocols")) != 1 {
					t.Fatal("the session went down by a harmless change")
				}
				return time.Since(confirmed) > onTrial+time.Second
			})
			p.runs(harmless)
			if status := p.ask("alpha", "bird", "configure undo"); !strings.Contains(status, "0003") && !strings.Contains(status, "0004") {
				t.Errorf("nothing to undo, so BIRD has gone back by itself: %s", status)
			}

			p.undone(a, otherAS, harmless)
			p.undone(a, otherPassword, harmless)
			if tt.killed {
				a.Close()
				p.killedOnTrial(otherAS, harmless)
			}
		})
	}
}

// killedOnTrial kills the process while a bad configuration is on trial. The next one must
// not take the session for one that has always been down, whether it starts before BIRD has
// gone back by itself or after that.
func (p *pair) killedOnTrial(bad, before end) {
	p.t.Helper()
	p.killOnTrial(bad)
	a := p.opened()
	p.undone(a, bad, before)
	a.Close()

	p.killOnTrial(bad)
	p.up("when BIRD has gone back by itself")
	p.runs(bad) // nobody could put the files back
	a = p.opened()
	p.undone(a, bad, before)
	after := before
	after.note = "mended"
	if res, err := p.apply(a, after); err != nil || res.Outcome != apply.Applied {
		p.t.Errorf("%+v, %v", res, err)
	}
	p.runs(after)
	p.up("in the end")
}

// killOnTrial has another process apply a configuration, and kills it when the session has
// gone down.
func (p *pair) killOnTrial(bad end) {
	p.t.Helper()
	set := filepath.Join(p.t.TempDir(), "bad.cfg")
	if err := os.WriteFile(set, []byte(p.write(bad)), 0o600); err != nil {
		p.t.Fatal(err)
	}
	other := exec.Command(os.Args[0], "-test.run=^TestTrialInAnotherProcess$")
	other.Env = append(os.Environ(), strings.Join([]string{trialVariable + "=" + set, p.target.Dir, p.socket("alpha", "bird")}, "|"))
	other.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := other.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.untilTrue("the session goes down", func() bool {
		reply := p.ask("alpha", "bird", "show protocols")
		return reply != "" && exchanging(reply) == 0
	})
	_ = other.Process.Kill()
	_ = other.Wait() // it was killed
}

const trialVariable = "BIRDCONFD_TEST_TRIAL"

// TestTrialInAnotherProcess is what killedOnTrial starts and kills.
func TestTrialInAnotherProcess(t *testing.T) {
	words := strings.Split(os.Getenv(trialVariable), "|")
	if len(words) != 3 {
		return // it is no test of its own
	}
	data, err := os.ReadFile(words[0])
	if err != nil {
		t.Fatal(err)
	}
	a, err := apply.Open(trialTarget(words[1], words[2], birdtest.Bird(t)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Apply(t.Context(), []apply.File{{Name: "bird.cfg", Data: data, Secret: true}})
	t.Fatalf("it was not killed in time: %v", err)
}
