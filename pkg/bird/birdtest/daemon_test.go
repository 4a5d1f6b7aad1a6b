package birdtest

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const config = "log stderr all;\nrouter id 10.0.0.1;\nprotocol device { }\n"

func TestDaemon(t *testing.T) {
	for _, tt := range []struct {
		name   string
		binary func(testing.TB) string
	}{{"bird 1.6", Bird}, {"bird6 1.6", Bird6}, {"bird 2", Bird2}} {
		t.Run(tt.name, func(t *testing.T) {
			d := Start(t, tt.binary(t), config)
			first := d.Pid
			d.Kill()
			d.Kill()
			if _, err := os.Stat(d.Socket); err != nil || d.answers() {
				t.Errorf("after a kill there should be a socket that does not answer: %v, %v", err, d.answers())
			}
			d.Restart()
			if !d.answers() || d.Pid == first {
				t.Errorf("after a restart of process %d, process %d answers: %v", first, d.Pid, d.answers())
			}
			d.Restart()
			d.Stop()
			d.Stop()
			if _, err := os.Stat(d.Socket); !os.IsNotExist(err) {
				t.Errorf("after an orderly end the socket is there: %v", err)
			}
			if n := strings.Count(d.Log(), "Started"); n != 3 {
				t.Errorf("started %d times according to the log, want 3:\n%s", n, d.Log())
			}
		})
	}
}

func TestDaemonEndsWithTheTest(t *testing.T) {
	var d *Daemon
	t.Run("test", func(t *testing.T) { d = Start(t, Bird(t), config) })
	select {
	case <-d.ended:
	default:
		t.Error("the daemon has outlived its test")
	}
	if _, err := os.Stat(d.Dir); !os.IsNotExist(err) {
		t.Errorf("its directory is still there: %v", err)
	}
}

func TestDaemonKeepsItsFlags(t *testing.T) {
	d := Start(t, Bird(t), config, "-R")
	d.Restart()
	if n := strings.Count(d.Log(), "Graceful restart started"); n != 2 {
		t.Errorf("%d of 2 starts were with the flag:\n%s", n, d.Log())
	}
}
