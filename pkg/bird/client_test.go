package bird

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

func TestSession(t *testing.T) {
	for _, kind := range daemonKinds {
		t.Run(kind.name, func(t *testing.T) {
			binary := kind.binary(t)
			want, err := ReadVersion(t.Context(), binary)
			if err != nil {
				t.Fatal(err)
			}
			c := client(birdtest.Start(t, binary, kind.statics("st", 3)))
			conn := dial(t, c)
			if conn.Version() != want {
				t.Errorf("version %v, want %v", conn.Version(), want)
			}
			for _, tt := range []struct {
				command string
				code    int
			}{
				{"show status", 13}, {"show protocols", 0}, {"banana", 9001}, {"show route all", 0}, {"", 9001},
				{"show symbols", 0},
			} {
				reply, err := conn.Ask(t.Context(), tt.command)
				if err != nil {
					t.Fatal(err)
				}
				if reply.Code != tt.code {
					t.Errorf("%q: %04d %s, want %04d", tt.command, reply.Code, reply.Words(), tt.code)
				}
			}
			longest := "show status" + strings.Repeat(" ", maxCommand-len("show status"))
			if _, err := dial(t, c).Ask(t.Context(), longest); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDialWithoutDaemon(t *testing.T) {
	for _, kind := range daemonKinds {
		t.Run(kind.name, func(t *testing.T) {
			d := birdtest.Start(t, kind.binary(t), base)
			d.Kill()
			_, err := client(d).Dial(t.Context())
			if want := "bird at " + d.Socket + ": no daemon listens there: connect: connection refused"; fmt.Sprint(err) != want || !errors.Is(err, ErrNotRunning) {
				t.Errorf("with a stale socket: got %v, want %s", err, want)
			}
			d.Restart()
			dial(t, client(d))
			d.Stop()
			_, err = client(d).Dial(t.Context())
			if want := "bird at " + d.Socket + ": no daemon listens there: connect: no such file or directory"; fmt.Sprint(err) != want || !errors.Is(err, ErrNotRunning) {
				t.Errorf("without a socket: got %v, want %s", err, want)
			}
		})
	}
	long := "/" + strings.Repeat("x", maxSocket)
	_, err := Client{Socket: long}.Dial(t.Context())
	if want := "bird at " + long + ": the path is longer than 107 bytes, which no socket can have"; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestDialSomethingElse(t *testing.T) {
	for _, tt := range []struct{ rule, greeting, want string }{
		{"another protocol", "220 mail ESMTP\n", `a new session: this is not BIRD: it says "220 mail ESMTP"`},
		{"another code", "0000 BIRD 1.6.8 ready.\n", `this is not BIRD: it greets with "BIRD 1.6.8 ready."`},
		{"another program", "0001 Quagga 1.2.4 ready.\n", `this is not BIRD: it greets with "Quagga 1.2.4 ready."`},
		{"no version", "0001 BIRD banana ready.\n", `this is not BIRD: it greets with "BIRD banana ready."`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			c := fake(t, script(tt.greeting))
			_, err := c.Dial(t.Context())
			if want := "bird at " + c.Socket + ": " + tt.want; fmt.Sprint(err) != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
	conn := dial(t, fake(t, script("+x\n0001 BIRD v0.3.3+birdv1.6.8 ready.\n")))
	if conn.Version() != (Version{1, 6, 8}) {
		t.Errorf("Calico's fork is taken for %v", conn.Version())
	}
}

// freeze makes a daemon silent.
func freeze(t *testing.T, d *birdtest.Daemon) {
	t.Helper()
	if err := syscall.Kill(d.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

func TestSilence(t *testing.T) {
	for _, kind := range daemonKinds {
		t.Run(kind.name, func(t *testing.T) {
			d := birdtest.Start(t, kind.binary(t), base)
			c := client(d)
			c.Timeout = 30 * time.Millisecond
			conn := dial(t, client(d))
			conn.timeout = c.Timeout
			freeze(t, d)
			_, err := conn.Configure(t.Context(), ConfigureOptions{})
			silent(t, err, "bird at "+d.Socket+" did not answer `show status` within 30ms: context deadline exceeded")
			_, err = conn.Ask(t.Context(), "show status")
			silent(t, err, "bird at "+d.Socket+" did not answer `show status` within 30ms: context deadline exceeded; now `show status` cannot be asked")

			_, err = c.Dial(t.Context())
			silent(t, err, "bird at "+d.Socket+" did not answer a new session within 30ms: context deadline exceeded")
			// In the end the queue of connections that it has not accepted is full.
			full := "bird at " + d.Socket + ": did not accept a connection within 30ms: context deadline exceeded"
			for range 20 {
				if _, err = c.Dial(t.Context()); fmt.Sprint(err) == full {
					break
				}
			}
			silent(t, err, full)
		})
	}
}

func silent(t *testing.T, err error, want string) {
	t.Helper()
	if fmt.Sprint(err) != want || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestAskRefusesWhatIsNotOneCommand(t *testing.T) {
	conn := dial(t, client(birdtest.Start(t, birdtest.Bird(t), base)))
	for _, command := range []string{"show status\ndown", "show\rstatus", "show\tstatus", "\x00", "down\x7f", strings.Repeat("x", maxCommand+1)} {
		if reply, err := conn.Ask(t.Context(), command); err == nil {
			t.Errorf("%.20q: %s", command, reply.Words())
		}
	}
	if _, err := conn.Status(t.Context()); err != nil {
		t.Errorf("after that: %v", err)
	}
}

func TestBirdEndsInTheMiddle(t *testing.T) {
	for _, rest := range []string{"", "0002-Reading\n", "0002-Reading\n0003 Recon"} {
		c := fake(t, script(greeting, rest+hangUp))
		conn := dial(t, c)
		_, err := conn.Ask(t.Context(), "configure")
		want := "bird at " + c.Socket + " closed the connection instead of answering `configure`: unexpected EOF"
		if fmt.Sprint(err) != want || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after %q: got %v, want %s", rest, err, want)
		}
	}
	d := birdtest.Start(t, birdtest.Bird(t), base)
	conn := dial(t, client(d))
	d.Kill()
	if _, err := conn.Ask(t.Context(), "show status"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("after a kill: %v", err)
	}
}

func TestCancel(t *testing.T) {
	stop := errors.New("shutting down")
	d := birdtest.Start(t, birdtest.Bird(t), base)
	conn, waiting := dial(t, client(d)), dial(t, client(d))
	freeze(t, d)
	ctx, cancel := context.WithCancelCause(t.Context())
	results := make(chan error, 3)
	var running sync.WaitGroup
	running.Go(func() { _, err := conn.Ask(ctx, "show status"); results <- err })
	running.Go(func() { _, err := client(d).Dial(ctx); results <- err })
	running.Go(func() { results <- waiting.Wait(ctx) })
	cancel(stop)
	running.Wait()
	for range 3 {
		if err := <-results; !errors.Is(err, stop) {
			t.Errorf("got %v", err)
		}
	}
	_, err := waiting.Ask(ctx, "show status")
	if want := "bird at " + d.Socket + ": `show status`: shutting down"; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := syscall.Kill(d.Pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if _, err := waiting.Status(t.Context()); err != nil {
		t.Errorf("what only waited can still ask, but: %v", err)
	}
}

func TestWait(t *testing.T) {
	for _, kind := range daemonKinds {
		for rule, end := range map[string]func(*birdtest.Daemon){"killed": (*birdtest.Daemon).Kill, "stopped": (*birdtest.Daemon).Stop} {
			t.Run(kind.name+"/"+rule, func(t *testing.T) {
				d := birdtest.Start(t, kind.binary(t), base)
				conn := dial(t, client(d))
				if _, err := conn.Ask(t.Context(), "echo all"); err != nil { // BIRD's log, as asynchronous lines
					t.Fatal(err)
				}
				dial(t, client(d)) // it logs this
				ended := make(chan error, 1)
				go func() { ended <- conn.Wait(t.Context()) }()
				end(d)
				if err := <-ended; err != nil {
					t.Errorf("got %v", err)
				}
				if _, err := conn.Ask(t.Context(), "show status"); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("after its end: %v", err)
				}
			})
		}
	}
}

func TestWaitDropsWhatIsNotAskedFor(t *testing.T) {
	conn := dial(t, fake(t, script(greeting+"+one\n+two\n0000 what?\n+three\n"+hangUp)))
	if err := conn.Wait(t.Context()); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestCloseEndsWait(t *testing.T) {
	d := birdtest.Start(t, birdtest.Bird(t), base)
	conn := dial(t, client(d))
	ended := make(chan error, 1)
	go func() { ended <- conn.Wait(t.Context()) }()
	conn.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestDialThroughWhatIsNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Client{Socket: file + "/s"}.Dial(t.Context())
	if errors.Is(err, ErrNotRunning) || !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("got %v, which tells nothing about a daemon", err)
	}
}
