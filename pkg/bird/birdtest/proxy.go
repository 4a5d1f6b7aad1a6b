package birdtest

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// What a Proxy can do with a command besides answering it with a text.
const (
	Forward = "(forward)" // to BIRD
	Silent  = ""
	HangsUp = "(hang up)"
)

// Proxy stands before the control socket of a BIRD, for answers that a real one does not
// give. What BIRD says goes through unchanged.
type Proxy struct {
	Socket string
	bird   *Daemon

	mu     sync.Mutex
	answer func(command string, before []string) string
	asked  []string
	conns  []net.Conn
}

// NewProxy makes a Proxy that forwards everything. The answer to a new connection, whose
// command is "", is to forward it, or to be silent.
func NewProxy(t testing.TB, d *Daemon) *Proxy {
	t.Helper()
	p := &Proxy{bird: d}
	p.Opens()
	p.Socket = Listen(t, p.serve, p.HangUp)
	return p
}

// Answers changes what is done with commands from now on. before has those that came over
// the same connection earlier.
func (p *Proxy) Answers(answer func(command string, before []string) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// Opens has everything forwarded from now on.
func (p *Proxy) Opens() { p.Answers(func(string, []string) string { return Forward }) }

// Count counts the commands that begin with a text, answered or not.
func (p *Proxy) Count(prefix string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, command := range p.asked {
		if strings.HasPrefix(command, prefix) {
			n++
		}
	}
	return n
}

// HangUp closes all connections that there are. BIRD goes on.
func (p *Proxy) HangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}

func (p *Proxy) decide(command string, before []string) string {
	p.mu.Lock()
	answer := p.answer
	p.asked = append(p.asked, command)
	p.mu.Unlock()
	return answer(command, before)
}

func (p *Proxy) hold(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, conn)
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	p.hold(client)
	in := bufio.NewScanner(client)
	if p.decide("", nil) != Forward {
		in.Scan() // until the client goes
		return
	}
	up, err := net.Dial("unix", p.bird.Socket)
	if err != nil {
		return
	}
	p.hold(up)
	copied := make(chan struct{})
	go func() { defer close(copied); _, _ = io.Copy(client, up); client.Close() }()
	defer func() { up.Close(); <-copied }()
	var before []string
	for in.Scan() {
		command := in.Text()
		text, ends := strings.CutSuffix(p.decide(command, before), HangsUp)
		before = append(before, command)
		to := io.Writer(client)
		if text == Forward {
			to, text = up, command+"\n"
		}
		if _, err := io.WriteString(to, text); err != nil || ends {
			return
		}
	}
}
