package daemon

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// What a proxy can do with a command besides answering it with a text.
const (
	forward = "(forward)" // to BIRD
	silent  = ""
	hangsUp = "(hang up)"
)

// proxy stands between birdconfd and a BIRD, for answers that a real one does not give. What
// BIRD says goes through unchanged.
type proxy struct {
	Socket string
	bird   *birdtest.Daemon

	mu     sync.Mutex
	answer func(command string, before []string) string
	asked  []string
	conns  []net.Conn
}

// newProxy makes a proxy that forwards everything. The answer to a new connection, whose
// command is "", is to forward it, or to be silent.
func newProxy(t *testing.T, d *birdtest.Daemon) *proxy {
	t.Helper()
	p := &proxy{bird: d}
	p.answers(func(string, []string) string { return forward })
	p.Socket = birdtest.Listen(t, p.serve, p.hangUpAll)
	return p
}

// answers changes what is done with commands from now on. before has those that came over
// the same connection earlier.
func (p *proxy) answers(answer func(command string, before []string) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// opens has everything forwarded from now on.
func (p *proxy) opens() { p.answers(func(string, []string) string { return forward }) }

// count counts the commands that begin with a text, answered or not.
func (p *proxy) count(prefix string) int {
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

func (p *proxy) decide(command string, before []string) string {
	p.mu.Lock()
	answer := p.answer
	p.asked = append(p.asked, command)
	p.mu.Unlock()
	return answer(command, before)
}

func (p *proxy) hold(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, conn)
}

func (p *proxy) hangUpAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	p.hold(client)
	in := bufio.NewScanner(client)
	if p.decide("", nil) != forward {
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
		text, ends := strings.CutSuffix(p.decide(command, before), hangsUp)
		before = append(before, command)
		to := io.Writer(client)
		if text == forward {
			to, text = up, command+"\n"
		}
		if _, err := io.WriteString(to, text); err != nil || ends {
			return
		}
	}
}

// loadCommand begins the command that has BIRD load a file, unlike "configure check".
const loadCommand = `configure "`
