package backend

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"
)

// echo answers each connection with what it says.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func dialProxy(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func say(t *testing.T, conn net.Conn, line string) {
	t.Helper()
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func hears(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	got, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || got != want+"\n" {
		t.Errorf("heard %q, %v, want %q", got, err, want)
	}
}

// silent tells whether nothing arrives for a moment. The less, the weaker is the test, but
// it never fails for a machine that is busy.
func silent(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(make([]byte, 1))
	if failure, ok := err.(net.Error); n > 0 || !ok || !failure.Timeout() {
		t.Errorf("not silent: read %d bytes, %v", n, err)
	}
}

func closed(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Read(make([]byte, 1))
	if failure, ok := err.(net.Error); err == nil || ok && failure.Timeout() {
		t.Errorf("the connection is there: %v", err)
	}
}

func TestProxyPause(t *testing.T) {
	p := NewProxy(t, echo(t))
	conn := dialProxy(t, p)
	say(t, conn, "one")
	hears(t, conn, "one")
	p.Pause()
	say(t, conn, "two")
	silent(t, conn)
	other := dialProxy(t, p)
	say(t, other, "three")
	silent(t, other)
	p.Resume()
	hears(t, conn, "two")
	hears(t, other, "three")
	if n := p.Accepted(); n != 2 {
		t.Errorf("%d connections", n)
	}
	if in, out := p.FromServer(), p.ToServer(); in != 14 || out != 14 {
		t.Errorf("%d bytes in, %d out", in, out)
	}
}

func TestProxyCut(t *testing.T) {
	p := NewProxy(t, echo(t))
	conn := dialProxy(t, p)
	say(t, conn, "one")
	hears(t, conn, "one")
	p.Cut()
	closed(t, conn)
	conn = dialProxy(t, p)
	say(t, conn, "two")
	hears(t, conn, "two")
	p.Pause()
	p.Cut()
	closed(t, conn)
}

func TestProxyRefuse(t *testing.T) {
	p := NewProxy(t, echo(t))
	conn := dialProxy(t, p)
	p.Refuse()
	closed(t, conn)
	if other, err := net.Dial("tcp", p.Address()); err == nil {
		other.Close()
		t.Error("a connection was accepted")
	}
	p.Open()
	conn = dialProxy(t, p)
	say(t, conn, "two")
	hears(t, conn, "two")
}

func TestProxyOfNobodyHangsUp(t *testing.T) {
	ports, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, dialProxy(t, NewProxy(t, hostPort(ports[0]))))
}

func TestProxyPassesOnTheEnd(t *testing.T) {
	p := NewProxy(t, echo(t))
	conn := dialProxy(t, p)
	say(t, conn, "one")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "one\n" {
		t.Errorf("heard %q, %v", got, err)
	}
}
