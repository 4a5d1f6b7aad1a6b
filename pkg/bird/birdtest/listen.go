package birdtest

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Listen serves connections to a control socket that no BIRD has made, each in a goroutine
// of its own, and returns its path. At the end of the test it calls end, if not nil, which
// must make those that serve return, and waits for them.
func Listen(t testing.TB, serve func(net.Conn), end func()) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "b") // the name of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		if end != nil {
			end()
		}
		running.Wait()
	})
	return socket
}
