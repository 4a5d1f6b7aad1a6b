package birdtest

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

// Speaker is one end of the BGP sessions of a test with StartHere.
type Speaker struct {
	Binary  func(testing.TB) string
	Address string // a loopback one
	Port    int

	two bool
}

// NewSpeaker returns one for BIRD 1.6 or 2, at a port of the address that nobody listened on
// a moment ago.
func NewSpeaker(t testing.TB, version int, address string) Speaker {
	t.Helper()
	l, err := net.Listen("tcp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := Speaker{Binary: Bird, Address: address, Port: l.Addr().(*net.TCPAddr).Port}
	if version == 2 {
		s.Binary, s.two = Bird2, true
	}
	return s
}

// Base is the configuration before the sessions.
func (s Speaker) Base() string {
	base := fmt.Sprintf("router id %s;\nprotocol device { }\n", s.Address)
	if s.two {
		return base
	}
	return base + fmt.Sprintf("listen bgp address %s port %d;\n", s.Address, s.Port)
}

// Session is the configuration of a session with a peer, with more statements.
func (s Speaker) Session(name string, peer Speaker, more ...string) string {
	own := fmt.Sprintf("local %s as 64512;\n", s.Address)
	if s.two {
		own = fmt.Sprintf("local %s port %d as 64512;\nstrict bind;\nipv4 { import all; export all; };\n", s.Address, s.Port)
	}
	return fmt.Sprintf("protocol bgp %s {\n%sneighbor %s port %d as 64512;\nmultihop; connect delay time 1; connect retry time 1; error wait time 1,1;\n%s\n}\n",
		name, own, peer.Address, peer.Port, strings.Join(more, "\n"))
}

// Start runs the daemon with the sessions.
func (s Speaker) Start(t testing.TB, sessions string, flags ...string) *Daemon {
	t.Helper()
	return StartHere(t, s.Binary(t), s.Base()+sessions, flags...)
}
