package grlab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Change is one of a route of BIRD's in a node's kernel.
type Change struct {
	At     time.Time
	Gone   bool // the route was removed; otherwise it was added or replaced
	Prefix netip.Prefix
	Via    netip.Addr // the next hop; not valid for one that has none
}

func (c Change) String() string {
	verb := "+"
	if c.Gone {
		verb = "-"
	}
	return fmt.Sprintf("%s %s %s via %s", c.At.Format("15:04:05.000"), verb, c.Prefix, c.Via)
}

// monitor notes the changes of routes in the kernel of a node, with the kernel's own times.
type monitor struct {
	node *Node
	cmd  *exec.Cmd
	done chan struct{}

	mu      sync.Mutex
	changes []Change
	probed  bool // a change that it caused itself has come
}

func newMonitor(n *Node) *monitor { return &monitor{node: n} }

// probe is a route that tells whether the monitor hears of changes yet.
const probe = "192.0.2.255"

// start starts the monitor and waits until it hears of changes.
func (m *monitor) start() error {
	network, name := m.node.lab.network, m.node.Name
	cmd := exec.Command("ip", "-n", network.Namespace(name), "-ts", "monitor", "route")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	m.cmd, m.done, m.probed = cmd, make(chan struct{}), false
	go func() {
		defer close(m.done)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			m.note(lines.Text())
		}
		_ = cmd.Wait() // it was killed
	}()
	return Until(context.Background(), 10*time.Second, "changes of routes are noted", func() error {
		_, errAdd := network.IP(name, "route", "add", "blackhole", probe)
		_, errDelete := network.IP(name, "route", "delete", "blackhole", probe)
		if err := errors.Join(errAdd, errDelete); err != nil {
			return err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if !m.probed {
			return errors.New("nothing was heard of a change")
		}
		return nil
	})
}

func (m *monitor) stop() {
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Kill() // fails only when it has ended
	<-m.done
	m.cmd = nil
}

// changed matches what "ip -ts monitor route" prints of a route.
var changed = regexp.MustCompile(`^\[([0-9T:.-]+)\] (Deleted )?(?:blackhole )?([0-9./]+) (?:via ([0-9.]+) )?.*`)

func (m *monitor) note(line string) {
	fields := changed.FindStringSubmatch(line)
	if fields == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if fields[3] == probe {
		m.probed = true
	}
	at, err := time.ParseInLocation("2006-01-02T15:04:05.999999", fields[1], time.Local)
	prefix, errPrefix := netip.ParsePrefix(fields[3])
	if !strings.Contains(line, " proto bird ") || err != nil || errPrefix != nil {
		return
	}
	c := Change{At: at, Gone: fields[2] != "", Prefix: prefix}
	c.Via, _ = netip.ParseAddr(fields[4]) // "" for none
	m.changes = append(m.changes, c)
}

// Changes are those of BIRD's routes in the node's kernel since then.
func (n *Node) Changes(since time.Time) []Change {
	n.monitor.mu.Lock()
	defer n.monitor.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(n.monitor.changes), func(c Change) bool { return c.At.Before(since) })
}

// FirstRoute is the first route to another node that BIRD added since then.
func (n *Node) FirstRoute(since time.Time) (Change, bool) {
	for _, c := range n.Changes(since) {
		if !c.Gone && c.Via.IsValid() {
			return c, true
		}
	}
	return Change{}, false
}

// Routed is when the node got its first route to another node's block since then.
func (n *Node) Routed(to *Node, since time.Time) (time.Time, bool) {
	for _, c := range n.Changes(since) {
		if !c.Gone && c.Prefix == to.Block && c.Via == to.Address {
			return c.At, true
		}
	}
	return time.Time{}, false
}

// Missing is how long the node had no route to another node's block since then, when it must
// have had one, up to now.
func (n *Node) Missing(to *Node, since time.Time) time.Duration {
	var sum time.Duration
	var gone time.Time
	for _, c := range n.Changes(since) {
		switch {
		case c.Prefix != to.Block:
		case c.Gone && gone.IsZero():
			gone = c.At
		case !c.Gone && !gone.IsZero():
			sum, gone = sum+c.At.Sub(gone), time.Time{}
		}
	}
	if !gone.IsZero() {
		sum += time.Since(gone)
	}
	return sum
}

// Routes are the next hops of BIRD's routes in the node's kernel, by their prefixes; those
// without one are left out.
func (n *Node) Routes() (map[netip.Prefix]netip.Addr, error) {
	out, err := n.lab.network.IP(n.Name, "route", "show", "proto", "bird")
	if err != nil {
		return nil, err
	}
	routes := map[netip.Prefix]netip.Addr{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 3 || f[1] != "via" {
			continue
		}
		prefix, err := netip.ParsePrefix(f[0])
		via, errVia := netip.ParseAddr(f[2])
		if err := errors.Join(err, errVia); err != nil {
			return nil, fmt.Errorf("route %q: %w", line, err)
		}
		routes[prefix] = via
	}
	return routes, nil
}
