package daemon

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// manager listens as a service manager does.
func manager(t *testing.T, address string) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", address)
	return conn
}

func received(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 4096)
	n, err := conn.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	return string(buffer[:n])
}

func TestNotifierTellsTheServiceManager(t *testing.T) {
	noLeaks(t)
	conn := manager(t, filepath.Join(shortDir(t), "notify"))
	n := NewNotifier(nil)
	for _, step := range []struct {
		tell func()
		want string
	}{
		{func() { n.Status("2 of 3 sessions\nREADY=1\x1b") }, "STATUS=2 of 3 sessions READY=1?"},
		{n.Ready, "READY=1"},
		{n.Reloaded, "READY=1"},
		{n.Alive, "WATCHDOG=1"},
		{n.Stopping, "STOPPING=1"},
	} {
		step.tell()
		if got := received(t, conn); got != step.want {
			t.Errorf("%q, want %q", got, step.want)
		}
	}
	n.Reloading()
	if got := received(t, conn); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") {
		t.Errorf("%q, which Type=notify-reload does not accept", got)
	}
}

func TestTheFirstLoadIsNotReady(t *testing.T) {
	noLeaks(t)
	conn := manager(t, filepath.Join(shortDir(t), "notify"))
	n := NewNotifier(nil)
	n.Reloading()
	n.Reloaded()
	n.Stopping()
	if got := received(t, conn); got != "STOPPING=1" {
		t.Errorf("it told %q before it was ready", got)
	}
}

func TestNotifierReachesAnAbstractSocket(t *testing.T) {
	noLeaks(t)
	conn := manager(t, fmt.Sprintf("@birdconfd-%s", filepath.Base(shortDir(t))))
	NewNotifier(nil).Ready()
	if got := received(t, conn); got != "READY=1" {
		t.Errorf("%q", got)
	}
}

func TestNotifierDoesNothingWithoutAServiceManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	var log bytes.Buffer
	n := NewNotifier(slog.New(slog.NewTextHandler(&log, nil)))
	n.Ready()
	n.Reloading()
	n.Status("x")
	n.Stopping()
	if log.Len() > 0 {
		t.Errorf("it complains: %s", &log)
	}
}

func TestAServiceManagerThatIsGoneIsLogged(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(shortDir(t), "nothing"))
	var log bytes.Buffer
	NewNotifier(slog.New(slog.NewTextHandler(&log, nil))).Ready()
	if !strings.Contains(log.String(), "the service manager cannot be told") {
		t.Errorf("log: %q", &log)
	}
}

func TestWatchdog(t *testing.T) {
	for _, tt := range []struct {
		name, usec, pid string
		want            time.Duration
	}{
		{"none", "", "", 0},
		{"one for everybody", "20000000", "", 20 * time.Second},
		{"one for another process", "20000000", "1", 0},
		{"nonsense", "soon", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("WATCHDOG_USEC", tt.usec)
			t.Setenv("WATCHDOG_PID", tt.pid)
			if got := NewNotifier(nil).WatchdogInterval(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestTickComesTwiceInAnInterval(t *testing.T) {
	t.Setenv("WATCHDOG_USEC", "20000000")
	t.Setenv("WATCHDOG_PID", "")
	synctest.Test(t, func(t *testing.T) {
		tick := NewNotifier(nil).Tick()
		defer tick.Stop()
		started := time.Now()
		<-tick.C
		if d := time.Since(started); d != 10*time.Second {
			t.Errorf("the first tick came after %s", d)
		}
	})
}

func TestTickNeverComesWithoutAWatchdog(t *testing.T) {
	t.Setenv("WATCHDOG_USEC", "")
	tick := NewNotifier(nil).Tick()
	tick.Stop()
	if tick.C != nil {
		t.Error("it ticks")
	}
}
