package grlab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// probeEvery is the time between two packets.
const probeEvery = 10 * time.Millisecond

// probePort is where packets are sent to.
const probePort = 9

func (n *Node) workload() string { return n.Name + "w" }

// WorkloadAddress is the address of the workload behind the node, out of the node's block.
func (n *Node) WorkloadAddress() netip.Addr { return n.Block.Addr().Next().Next() }

// Prober sends a packet every 10 ms from a workload to another, through their nodes.
type Prober struct {
	from, to *Node
	sender   *net.UDPConn
	receiver *net.UDPConn
	once     sync.Once
	stop     chan struct{}
	stopped  chan struct{} // closed when no packet is sent any more
	received chan []uint64
	sent     atomic.Uint64 // how many
	last     atomic.Uint64 // number of the packet that came last, from 1 on
}

// Probe starts to send packets.
func (l *Lab) Probe(from, to *Node) (*Prober, error) {
	p := &Prober{from: from, to: to, stop: make(chan struct{}), stopped: make(chan struct{}), received: make(chan []uint64, 1)}
	at := net.UDPAddrFromAddrPort(netip.AddrPortFrom(to.WorkloadAddress(), probePort+uint16(from.Number)))
	err := l.network.Within(to.workload(), func() (err error) {
		p.receiver, err = net.ListenUDP("udp4", at)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = l.network.Within(from.workload(), func() (err error) {
		p.sender, err = net.DialUDP("udp4", nil, at)
		return err
	})
	if err != nil {
		p.receiver.Close()
		return nil, err
	}
	go p.receive()
	go p.send()
	l.probers = append(l.probers, p)
	return p, nil
}

func (p *Prober) send() {
	defer close(p.stopped)
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			// An error, such as that of an unreachable host, is a packet that is lost.
			_, _ = p.sender.Write(binary.BigEndian.AppendUint64(nil, p.sent.Add(1)))
		case <-p.stop:
			return
		}
	}
}

func (p *Prober) receive() {
	var all []uint64
	packet := make([]byte, 8)
	for {
		if _, err := p.receiver.Read(packet); err != nil { // it was closed
			p.received <- all
			return
		}
		all = append(all, binary.BigEndian.Uint64(packet))
		p.last.Store(all[len(all)-1])
	}
}

// end ends the sending.
func (p *Prober) end() {
	p.once.Do(func() { close(p.stop) })
	<-p.stopped
}

// Stop ends the sending and tells how many packets were sent, and the numbers of those that
// have not come.
func (p *Prober) Stop() (sent uint64, lost []uint64) {
	p.end()
	sent = p.sent.Load()
	limit := time.NewTimer(time.Second)
	defer limit.Stop()
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for waiting := true; waiting && p.last.Load() < sent; {
		select {
		case <-tick.C:
		case <-limit.C:
			waiting = false
		}
	}
	p.close()
	came := map[uint64]bool{}
	for _, n := range <-p.received {
		came[n] = true
	}
	for n := uint64(1); n <= sent; n++ {
		if !came[n] {
			lost = append(lost, n)
		}
	}
	return sent, lost
}

func (p *Prober) close() {
	p.end()
	p.sender.Close()
	p.receiver.Close()
}

// Arrived waits for the first packet to come.
func (p *Prober) Arrived(ctx context.Context) error {
	return Until(ctx, 10*time.Second, "packets come from "+p.String(), func() error {
		if p.last.Load() == 0 {
			return errors.New("none has come")
		}
		return nil
	})
}

func (p *Prober) String() string { return fmt.Sprintf("%s to %s", p.from.Name, p.to.Name) }
