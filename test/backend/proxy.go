package backend

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy stands between a client and a server.
type Proxy struct {
	listener net.Listener

	mu      sync.Mutex
	target  string
	flowing *sync.Cond
	paused  bool
	refuse  bool
	ended   bool
	conns   map[net.Conn]bool
	running sync.WaitGroup

	accepted        atomic.Int64
	toServer, fromS atomic.Int64
}

// NewProxy makes a Proxy for a server's host and port, which lets everything through.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, target: target, conns: map[net.Conn]bool{}}
	p.flowing = sync.NewCond(&p.mu)
	p.running.Go(p.serve)
	t.Cleanup(func() {
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
		l.Close()
		p.Cut()
		p.Resume()
		p.running.Wait()
	})
	return p
}

// Address is the proxy's host and port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Pause has nothing get through any more. Connections stay, and new ones are accepted.
func (p *Proxy) Pause() { p.set(func() { p.paused = true }) }

// Resume lets everything through that was stopped.
func (p *Proxy) Resume() { p.set(func() { p.paused = false }) }

// Refuse cuts all connections, and each new one.
func (p *Proxy) Refuse() {
	p.set(func() { p.refuse = true })
	p.Cut()
}

// Open accepts connections again.
func (p *Proxy) Open() { p.set(func() { p.refuse = false }) }

// Lead has new connections go to another server.
func (p *Proxy) Lead(target string) { p.set(func() { p.target = target }) }

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.flowing.Broadcast()
}

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// Accepted counts connections.
func (p *Proxy) Accepted() int64 { return p.accepted.Load() }

// FromServer and ToServer count bytes.
func (p *Proxy) FromServer() int64 { return p.fromS.Load() }

// ToServer counts bytes.
func (p *Proxy) ToServer() int64 { return p.toServer.Load() }

func (p *Proxy) serve() {
	for {
		c, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.running.Go(func() { p.connect(c) })
		}
	}
}

// keep notes a connection, and closes it if there are to be none.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse || p.ended {
		c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) forget(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	c.Close()
}

func (p *Proxy) connect(client net.Conn) {
	if !p.keep(client) {
		return
	}
	p.accepted.Add(1)
	defer p.forget(client)
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil || !p.keep(server) {
		return
	}
	defer p.forget(server)
	var both sync.WaitGroup
	both.Go(func() { p.pump(server, client, &p.toServer) })
	both.Go(func() { p.pump(client, server, &p.fromS) })
	both.Wait()
}

// pump copies in one direction. When one side ends, both do.
func (p *Proxy) pump(to, from net.Conn, count *atomic.Int64) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		for p.paused {
			p.flowing.Wait()
		}
		p.mu.Unlock()
		count.Add(int64(n))
		if _, e := to.Write(buffer[:n]); e != nil || err != nil {
			return
		}
	}
}
