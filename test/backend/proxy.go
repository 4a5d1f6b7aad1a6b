package backend

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy stands before a server at a TCP address, and gets in its way as a network does. It
// forwards everything until it is told otherwise. Its methods but Open can be
// called from any goroutine.
type Proxy struct {
	t       testing.TB
	address string
	running sync.WaitGroup

	in, out, accepted atomic.Int64

	mu       sync.Mutex
	target   string
	listener net.Listener
	open     chan struct{} // closed while it copies
	links    map[*link]bool
	ended    bool
}

// link is one connection through a proxy.
type link struct {
	client, server net.Conn // there may be no server yet
	cut            chan struct{}
}

// NewProxy makes a proxy for a server, given as host:port, that ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, target: target, open: make(chan struct{}), links: map[*link]bool{}}
	close(p.open)
	var err error
	for range portTries {
		var ports []int
		if ports, err = freePorts(1); err != nil {
			break
		}
		p.address = hostPort(ports[0])
		if err = p.listen(); err == nil {
			break
		}
	}
	check(t, err)
	t.Cleanup(p.end)
	return p
}

// Address returns where the proxy listens, as host:port.
func (p *Proxy) Address() string { return p.address }

// URL returns where the proxy listens, for a scheme such as "http".
func (p *Proxy) URL(scheme string) string { return scheme + "://" + p.address }

// Accepted returns how many connections have been accepted so far.
func (p *Proxy) Accepted() int64 { return p.accepted.Load() }

// FromServer returns how much has come from the server so far, in bytes.
func (p *Proxy) FromServer() int64 { return p.in.Load() }

// ToServer returns how much has gone to the server so far, in bytes.
func (p *Proxy) ToServer() int64 { return p.out.Load() }

// Lead has new connections go to another server, given as host:port.
func (p *Proxy) Lead(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Pause stops copying, both ways. Nothing is closed, not even what one end has closed;
// new connections are accepted, and as silent. What is on its way may still arrive.
func (p *Proxy) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
		p.open = make(chan struct{})
	default:
	}
}

// Resume goes on after Pause. Nothing has been lost.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

// Cut closes all connections. New ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
}

// Refuse closes all connections, and refuses new ones until Open.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse()
}

// Open accepts connections again, after Refuse.
func (p *Proxy) Open() {
	p.t.Helper()
	// Somebody may have the port for a moment.
	check(p.t, poll(func(context.Context) (bool, error) { return p.listen() == nil, nil }))
}

func (p *Proxy) cut() {
	for l := range p.links {
		close(l.cut)
		l.client.Close()
		if l.server != nil {
			l.server.Close()
		}
	}
	clear(p.links)
}

func (p *Proxy) refuse() {
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
	p.cut()
}

func (p *Proxy) end() {
	p.mu.Lock()
	p.ended = true
	p.refuse()
	p.mu.Unlock()
	p.running.Wait()
}

func (p *Proxy) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.listener != nil {
		return nil
	}
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		return err
	}
	p.listener = l
	p.running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if link := p.add(l, conn); link != nil {
				p.running.Go(func() { p.serve(link) })
			}
		}
	})
	return nil
}

// add notes a new connection, unless it came just before the proxy began to refuse.
func (p *Proxy) add(from net.Listener, client net.Conn) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != from {
		client.Close()
		return nil
	}
	p.accepted.Add(1)
	l := &link{client: client, cut: make(chan struct{})}
	p.links[l] = true
	return l
}

func (p *Proxy) serve(l *link) {
	defer p.drop(l)
	if !p.wait(l) || !p.connect(l) {
		return
	}
	var copies sync.WaitGroup
	copies.Go(func() { p.copy(l, l.server, l.client, &p.out) })
	copies.Go(func() { p.copy(l, l.client, l.server, &p.in) })
	copies.Wait()
}

func (p *Proxy) connect(l *link) bool {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.links[l] { // cut in the meantime
		server.Close()
		return false
	}
	l.server = server
	return true
}

func (p *Proxy) drop(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.links[l] {
		return
	}
	delete(p.links, l)
	l.client.Close()
	if l.server != nil {
		l.server.Close()
	}
}

// copy forwards one direction until its end, which it forwards too.
func (p *Proxy) copy(l *link, to, from net.Conn, count *atomic.Int64) {
	defer func() { _ = to.(*net.TCPConn).CloseWrite() }() // fails when it is closed already
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if !p.wait(l) {
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				from.Close()
				return
			}
			count.Add(int64(n))
		}
		if err != nil {
			return
		}
	}
}

// wait returns when things may go on, and whether they may.
func (p *Proxy) wait(l *link) bool {
	p.mu.Lock()
	open := p.open
	p.mu.Unlock()
	select {
	case <-open:
		return true
	case <-l.cut:
		return false
	}
}
