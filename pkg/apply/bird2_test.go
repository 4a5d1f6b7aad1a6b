package apply

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird"
	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// TestDaemons makes one transaction of each kind with each of the daemons.
func TestDaemons(t *testing.T) {
	for _, tt := range []struct {
		name    string
		binary  func(testing.TB) string
		version int
	}{{"bird 1.6", birdtest.Bird, 1}, {"bird6 1.6", birdtest.Bird6, 1}, {"bird 2", birdtest.Bird2, 2}} {
		t.Run(tt.name, func(t *testing.T) {
			r := &reality{t: t, version: tt.version, binary: tt.binary(t), dir: t.TempDir()}
			r.daemon = birdtest.Start(t, r.binary, "router id 192.0.2.1;\nprotocol device {}\n")
			r.target = Target{Name: "bird", Dir: r.dir, Check: bird.Checker{Binary: r.binary}.Check,
				Reloader: &SocketReloader{Client: bird.Client{Socket: r.daemon.Socket}}}
			r.applies()
			r.refuses()
			r.restarts()
		})
	}
}

// reality is a real daemon.
type reality struct {
	t       *testing.T
	version int
	binary  string
	dir     string
	daemon  *birdtest.Daemon
	target  Target
}

// set makes a set of which the daemon takes the main file only with its own included file.
func (r *reality) set(n int, more string) []File {
	main, pools := "protocol static main_%[1]d { table t%[1]d; }\n", "table t%[1]d;\nprotocol static pools_%[1]d { table t%[1]d; }\n"
	if r.version == 2 {
		main, pools = "protocol static main_%[1]d { ipv4 { table t%[1]d; }; }\n",
			"ipv4 table t%[1]d;\nprotocol static pools_%[1]d { ipv4 { table t%[1]d; }; }\n"
	}
	return []File{{Name: "bird.cfg", Data: fmt.Appendf(nil, "include \"bird_ipam.cfg\";\nrouter id 192.0.2.1;\nprotocol device {}\n"+main+more, n)},
		{Name: "bird_ipam.cfg", Data: fmt.Appendf(nil, pools, n)}}
}

// has fails unless files and daemon have the whole set.
func (r *reality) has(n int) {
	r.t.Helper()
	want := map[string]string{}
	for _, f := range r.set(n, "") {
		want[f.Name] = string(f.Data)
	}
	hasFiles(r.t, r.dir, want)
	if got, want := running(r.t, r.daemon.Socket), fmt.Sprintf("main_%d pools_%d", n, n); got != want {
		r.t.Errorf("the daemon runs %q, want %q", got, want)
	}
}

// applies: a set is applied once, and again never.
func (r *reality) applies() {
	r.t.Helper()
	r.untilOld()
	a := opened(r.t, r.target)
	defer a.Close()
	for n := 1; n <= 2; n++ {
		res := want(r.t, a, r.set(n, ""), Applied, "")
		if !res.Verdict.Confirmed || !strings.Contains(res.Verdict.Words, "Reconfigur") || len(res.Changed) != 2 {
			r.t.Errorf("result %+v", res)
		}
		r.has(n)
		want(r.t, a, r.set(n, ""), Unchanged, "")
	}
}

// refuses: nothing stays of a set that the check or the daemon refuses.
func (r *reality) refuses() {
	r.t.Helper()
	bad := r.set(3, "protocol nonsense {}\n")
	a := opened(r.t, r.target)
	want(r.t, a, bad, Rejected, "check: bird.cfg:5:")
	r.has(2)
	a.Close()

	unchecked := r.target
	unchecked.Check = nil
	a = opened(r.t, unchecked)
	defer a.Close()
	want(r.t, a, bad, RolledBack, "bird.cfg:5:")
	r.has(2)
	if names := left(r.t, r.dir); len(names) > 0 {
		r.t.Errorf("left behind: %v", names)
	}
	want(r.t, a, r.set(2, ""), Unchanged, "")
	want(r.t, a, r.set(4, ""), Applied, "")
	r.has(4)
}

// restarts: a process that starts anew reloads nothing, unless the daemon has started anew.
func (r *reality) restarts() {
	r.t.Helper()
	a := opened(r.t, r.target)
	want(r.t, a, r.set(4, ""), Unchanged, "")
	a = reopened(r.t, a)
	want(r.t, a, r.set(4, ""), Unchanged, "")
	a.Close()
	r.daemon.Restart() // with its own file, which is another
	a = opened(r.t, r.target)
	defer a.Close()
	if res := want(r.t, a, r.set(4, ""), Applied, ""); len(res.Changed) > 0 || !res.Reloaded {
		r.t.Errorf("result %+v", res)
	}
	r.has(4)
	r.daemon.Kill()
	a.Distrust()
	want(r.t, a, r.set(5, ""), Placed, "no daemon listens there")
	r.daemon.Restart()
	want(r.t, a, r.set(5, ""), Applied, "")
	r.has(5)
}

// untilOld waits until the daemon's times tell it from one that is started later.
func (r *reality) untilOld() {
	r.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(30 * time.Second)
	for age := time.Duration(0); age <= justBooted+time.Second; {
		select {
		case <-tick.C:
		case <-limit:
			r.t.Fatalf("by its own clock the daemon runs for %s", age)
		}
		conn, err := bird.Client{Socket: r.daemon.Socket}.Dial(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		status, err := conn.Status(r.t.Context())
		conn.Close()
		if err != nil {
			r.t.Fatal(err)
		}
		age = status.ServerTime.Sub(status.LastReboot)
	}
}

// left are files that were on their way to their places.
func left(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if strings.Contains(e.Name(), tempMark) {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return slices.Sorted(slices.Values(names))
}

// A daemon that was started with another file loads that when it is started anew.
func TestBirdThatWasStartedWithAnotherFile(t *testing.T) {
	for name, binary := range map[string]string{"1.6": birdtest.Bird(t), "2": birdtest.Bird2(t)} {
		t.Run(name, func(t *testing.T) {
			d := birdtest.Start(t, binary, "router id 192.0.2.1;\nprotocol device {}\n")
			a := opened(t, Target{Name: "bird", Dir: t.TempDir(), Reloader: &SocketReloader{Client: bird.Client{Socket: d.Socket}}})
			main := func(n int) []File {
				return []File{{Name: "bird.cfg", Data: fmt.Appendf(nil, "router id 192.0.2.%d;\nprotocol device {}\n", n)}}
			}
			res := want(t, a, main(1), Applied, "")
			if text := "BIRD was started with the configuration " + d.Config; len(res.Notes) != 1 || !strings.Contains(res.Notes[0], text) {
				t.Errorf("notes %q, want one with %q", res.Notes, text)
			}
			if res := want(t, a, main(2), Applied, ""); len(res.Notes) != 0 {
				t.Errorf("told twice: %q", res.Notes)
			}
			d.Config = a.target.path("bird.cfg")
			d.Restart()
			a.Distrust()
			if res := want(t, a, main(2), Applied, ""); len(res.Notes) != 0 {
				t.Errorf("notes %q", res.Notes)
			}
		})
	}
}
