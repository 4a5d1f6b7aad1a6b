package bird

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// running lists the static protocols that the daemon has, by their names.
func running(t *testing.T, conn *Conn) string {
	t.Helper()
	protocols, err := conn.Protocols(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range protocols {
		if p.Proto == "Static" {
			names = append(names, p.Name)
		}
	}
	return strings.Join(names, " ")
}

func wantRunning(t *testing.T, conn *Conn, want string) {
	t.Helper()
	if got := running(t, conn); got != want {
		t.Errorf("the configuration of %q runs, want %q", got, want)
	}
}

func configure(t *testing.T, conn *Conn, o ConfigureOptions, code int) {
	t.Helper()
	reply, err := conn.Configure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if reply.Code != code {
		t.Errorf("answer %04d %s, want %04d", reply.Code, reply.Words(), code)
	}
}

func TestConfigure(t *testing.T) {
	for _, kind := range daemonKinds {
		t.Run(kind.name, func(t *testing.T) {
			d := birdtest.Start(t, kind.binary(t), kind.statics("own", 1))
			conn := dial(t, client(d))
			other := write(t, d, "it's #1, löng; {odd}.conf", kind.statics("second", 1))

			configure(t, conn, ConfigureOptions{}, 3)
			wantRunning(t, conn, "own")
			reply, err := conn.Configure(t.Context(), ConfigureOptions{File: other})
			if err != nil {
				t.Fatal(err)
			}
			if want := "Reading configuration from " + other; !strings.HasPrefix(reply.Words(), want) {
				t.Errorf("BIRD says %q, want %q", reply.Words(), want)
			}
			wantRunning(t, conn, "second")
			configure(t, conn, ConfigureOptions{File: write(t, d, "many.conf", kind.statics("many", many))}, 4)
			wantRunning(t, conn, "many")
			configure(t, conn, ConfigureOptions{}, 4) // many routes go
			wantRunning(t, conn, "own")
		})
	}
}

func TestConfigureRefused(t *testing.T) {
	for _, kind := range daemonKinds {
		t.Run(kind.name, func(t *testing.T) {
			d := birdtest.Start(t, kind.binary(t), kind.statics("own", 1))
			conn := dial(t, client(d))
			bad := write(t, d, "bad.conf", "router id 10.0.0.1;\nprotocol banana { }\n")

			_, err := conn.Configure(t.Context(), ConfigureOptions{File: bad})
			refused, ok := errors.AsType[*RefusedError](err)
			if !ok || refused.Code != 8002 || refused.Config == nil {
				t.Fatalf("got %v, want a refusal with a place", err)
			}
			message, _, _ := strings.Cut(refused.Config.Message, ",") // newer versions tell more
			got := ConfigError{File: refused.Config.File, Line: refused.Config.Line, Column: refused.Config.Column, Message: message}
			if diff := cmp.Diff(ConfigError{File: bad, Line: 2, Column: 10, Message: "syntax error"}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			want := fmt.Sprintf("bird at %s: `configure \"%s\"`: refused: %s:2:10: syntax error", d.Socket, bad, bad)
			if !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if _, ok := errors.AsType[*ConfigError](err); !ok {
				t.Error("no ConfigError is found in it")
			}

			absent := filepath.Join(d.Dir, "absent.conf")
			_, err = conn.Configure(t.Context(), ConfigureOptions{File: absent})
			want = fmt.Sprintf("bird at %s: `configure \"%s\"`: refused: %s: No such file or directory (8002)", d.Socket, absent, absent)
			if fmt.Sprint(err) != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if _, ok := errors.AsType[*ConfigError](err); ok {
				t.Error("a missing file has a place")
			}

			if _, err := conn.Ask(t.Context(), "restrict"); err != nil {
				t.Fatal(err)
			}
			_, err = conn.Configure(t.Context(), ConfigureOptions{})
			if want := "bird at " + d.Socket + ": `configure`: refused: Access denied (8007)"; fmt.Sprint(err) != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			wantRunning(t, conn, "own")
		})
	}
}

func TestConfigureOptions(t *testing.T) {
	for _, tt := range []struct {
		o       ConfigureOptions
		command string // or the error
	}{
		{ConfigureOptions{}, "configure"},
		{ConfigureOptions{File: "/a b'.conf"}, `configure "/a b'.conf"`},
		{ConfigureOptions{Undo: time.Second}, "configure timeout 1"},
		{ConfigureOptions{File: "/f", Undo: time.Second + 1}, `configure "/f" timeout 2`},
		{ConfigureOptions{Undo: 1}, "configure timeout 1"},
		{ConfigureOptions{Undo: -time.Second}, "configure"},
		{ConfigureOptions{File: "f"}, `"f" is not an absolute path`},
		{ConfigureOptions{File: `/"f`}, `the path "/\"f" has characters that BIRD cannot be told`},
		{ConfigureOptions{File: "/f\n"}, `the path "/f\n" has characters that BIRD cannot be told`},
	} {
		got, err := tt.o.command()
		if err != nil {
			got = err.Error()
		}
		if got != tt.command {
			t.Errorf("%+v: %s, want %s", tt.o, got, tt.command)
		}
	}
}

func TestConfirmAndUndo(t *testing.T) {
	for _, kind := range daemonKinds {
		t.Run(kind.name, func(t *testing.T) {
			d := birdtest.Start(t, kind.binary(t), kind.statics("own", 1))
			conn := dial(t, client(d))
			trial := ConfigureOptions{File: write(t, d, "other.conf", kind.statics("second", many)), Undo: time.Hour}
			nothing := func(what string, err error) {
				t.Helper()
				want := "bird at " + d.Socket + ": `configure " + what + "`: refused: Nothing to do (0019)"
				if fmt.Sprint(err) != want {
					t.Errorf("got %v, want %s", err, want)
				}
			}
			_, err := conn.Confirm(t.Context())
			nothing("confirm", err)
			configure(t, conn, trial, 4)
			if _, err := conn.Confirm(t.Context()); err != nil {
				t.Error(err)
			}
			wantRunning(t, conn, "second")
			reply, err := conn.Undo(t.Context())
			if err != nil || reply.Code != 4 {
				t.Errorf("undo: %s, %v", reply.Words(), err)
			}
			wantRunning(t, conn, "own") // and all many routes are gone
			_, err = conn.Undo(t.Context())
			nothing("undo", err)
			_, err = conn.Confirm(t.Context())
			nothing("confirm", err)
		})
	}
}

func TestUndoByTime(t *testing.T) {
	for _, kind := range daemonKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			d := birdtest.Start(t, kind.binary(t), kind.statics("own", 1))
			conn := dial(t, client(d))
			configure(t, conn, ConfigureOptions{File: write(t, d, "other.conf", kind.statics("second", 1)), Undo: time.Second}, 4)
			wantRunning(t, conn, "second")
			// BIRD tells this connection about it, in front of some reply.
			until(t, "BIRD has gone back", func() bool { return running(t, conn) == "own" })
		})
	}
}

func TestTwoClientsAtOnce(t *testing.T) {
	for _, kind := range daemonKinds {
		t.Run(kind.name, func(t *testing.T) {
			d := birdtest.Start(t, kind.binary(t), kind.statics("many", many))
			raw, conn, looking := dial(t, client(d)), dial(t, client(d)), dial(t, client(d))
			small := write(t, d, "small.conf", base)
			ctx, cancel := context.WithCancel(t.Context())
			// A third one asks all the time; without its rests BIRD 1.6 would soon hang up.
			var looks sync.WaitGroup
			looks.Go(func() {
				for ctx.Err() == nil {
					if _, err := looking.Protocols(ctx); err != nil && ctx.Err() == nil {
						t.Error(err)
						return
					}
				}
			})
			for range 3 {
				// One client does not wait until it is done, the other one comes then.
				reply, err := raw.Ask(t.Context(), `configure "`+small+`"`)
				if err != nil || reply.Code != codeInProgress {
					t.Errorf("%s, %v", reply.Words(), err)
				}
				configure(t, conn, ConfigureOptions{}, 3)
				wantRunning(t, conn, "many")
			}
			cancel()
			looks.Wait()
			if strings.Contains(d.Log(), "Queueing") {
				t.Error("a configuration was loaded before the one before it was done")
			}
		})
	}
}

// status is a reply to "show status".
func status(server, loaded, state string) string {
	return "1000-BIRD 1.6.8\n1011-Router ID is 10.0.0.1\n Current server time is " + server +
		"\n Last reboot on 2026-11-30 20:00:00\n Last reconfiguration on " + loaded + "\n0013 " + state + "\n"
}

func TestConfigureThatTakesTime(t *testing.T) {
	const (
		inProgress = "0002-Reading configuration from /f\n0004 Reconfiguration in progress\n"
		queued     = "0005 Reconfiguration already in progress, queueing new config\n"
		up         = "Daemon is up and running"
		busy       = "Reconfiguration in progress"
	)
	idle := status("2026-11-30 21:00:00", "2026-11-30 20:00:00", up)
	working := status("2026-11-30 21:00:01", "2026-11-30 21:00:01", busy)
	for _, tt := range []struct {
		rule    string
		answers []string
		want    string // error, after the daemon's name
	}{
		{"done after a while", []string{idle, inProgress, working, working, status("2026-11-30 21:00:02", "2026-11-30 21:00:01", up)}, ""},
		{"clocks that jump by a second are no difference", []string{idle, inProgress, status("2026-11-30 21:00:00", "2026-11-30 20:59:59", up)}, ""},
		{"somebody else's later configuration", []string{idle, queued, status("2026-11-30 22:00:00", "2026-11-30 22:00:00", up)}, ""},
		{"times that cannot be read", []string{idle, inProgress, status("21:00:00", "20:00:00", up)}, ""},
		{"undone by somebody else", []string{idle, queued, working, status("2026-11-30 21:00:02", "2026-11-30 20:00:00", up)},
			": `configure`: BIRD says that it does not run this configuration, but one that it has loaded at 2026-11-30 20:00:00"},
		{"it shuts down", []string{idle, inProgress, status("2026-11-30 21:00:02", "2026-11-30 21:00:00", "Shutdown in progress")},
			": `configure`: refused: Shutdown in progress (0006)"},
		{"it was shutting down", []string{status("2026-11-30 21:00:02", "2026-11-30 21:00:00", "Shutdown in progress"), "0006 Reconfiguration ignored, shutting down\n"},
			": `configure`: refused: Reconfiguration ignored, shutting down (0006)"},
		{"it does not know the command", []string{idle, "9001 syntax error\n"}, ": `configure`: refused: syntax error (9001)"},
		{"control characters in its words", []string{idle, "8002 /f:1:2 \x1b[2J\n"}, ": `configure`: refused: /f:1:2: \ufffd[2J"},
		{"never done", []string{idle, inProgress, working}, ": `show status`: the reconfiguration did not finish within 100ms: context deadline exceeded"},
		{"what was before is never done", []string{working}, ": `show status`: the reconfiguration did not finish within 100ms: context deadline exceeded"},
		{"silent afterwards", []string{idle, inProgress, ""}, " did not answer `show status` within 50ms: context deadline exceeded"},
		{"gone afterwards", []string{idle, inProgress, hangUp}, " closed the connection instead of answering `show status`: unexpected EOF"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			c := fake(t, script(append([]string{greeting}, tt.answers...)...))
			if strings.Contains(tt.want, "50ms") {
				c.Timeout = 50 * time.Millisecond
			}
			if strings.Contains(tt.want, "100ms") {
				c.Settle = 100 * time.Millisecond
			}
			_, err := dial(t, c).Configure(t.Context(), ConfigureOptions{})
			want := "<nil>"
			if tt.want != "" {
				want = "bird at " + c.Socket + tt.want
			}
			// The time may also end in the pause before the next question.
			got := fmt.Sprint(err)
			if got != want && got != strings.Replace(want, ": `show status`: the rec", ": the rec", 1) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if strings.Contains(want, "deadline") && !errors.Is(err, context.DeadlineExceeded) {
				t.Error("no context.DeadlineExceeded in it")
			}
		})
	}
}
