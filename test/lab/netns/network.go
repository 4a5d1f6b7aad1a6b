// Package netns makes small networks out of network namespaces of this machine, which leave
// its own network alone. It needs root and iproute2.
package netns

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// commandTimeout bounds one command of iproute2.
const commandTimeout = 20 * time.Second

// Network is a switch and hosts at it, each in a network namespace. The namespaces are named
// after Prefix, which must be nobody else's.
type Network struct {
	Prefix string
	spaces []string // those that there are, by their short names
}

// switchName is the namespace of the switch.
const switchName = "switch"

// New makes a switch.
func New(prefix string) (*Network, error) {
	n := &Network{Prefix: prefix}
	err := n.add(switchName)
	if err == nil {
		err = n.commands([][]string{
			{"-n", n.Namespace(switchName), "link", "add", "br0", "type", "bridge"},
			{"-n", n.Namespace(switchName), "link", "set", "br0", "up"},
		})
	}
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// Close removes all namespaces. What runs in them must have ended.
func (n *Network) Close() error {
	var errs []error
	for len(n.spaces) > 0 {
		errs = append(errs, n.Remove(n.spaces[len(n.spaces)-1]))
	}
	return errors.Join(errs...)
}

// Namespace is the name that "ip netns" knows a host by.
func (n *Network) Namespace(host string) string { return n.Prefix + host }

func (n *Network) add(host string) error {
	n.spaces = append(n.spaces, host) // it may be there even if that fails
	_, err := run("netns", "add", n.Namespace(host))
	return err
}

// removals is how often it is tried to remove a namespace.
const removals = 3

// Remove removes a host, or what is behind one. It is forgotten even if that is refused.
func (n *Network) Remove(host string) error {
	n.spaces = slices.DeleteFunc(n.spaces, func(s string) bool { return s == host })
	for try := 1; ; try++ {
		_, err := run("netns", "delete", n.Namespace(host))
		if err == nil || try == removals {
			return err
		}
	}
}

// Host adds a host with an interface eth0 at the switch. With a hardware address, "" for any,
// a host that comes back is the same for the others.
func (n *Network) Host(host, hardware string, addresses ...string) error {
	if err := n.add(host); err != nil {
		return err
	}
	own, hub := n.Namespace(host), n.Namespace(switchName)
	link := []string{"-n", hub, "link", "add", host, "type", "veth", "peer", "name", "eth0", "netns", own}
	if hardware != "" {
		link = append(link, "address", hardware)
	}
	commands := [][]string{
		link,
		{"-n", hub, "link", "set", host, "master", "br0", "up"},
		{"-n", own, "link", "set", "lo", "up"},
		{"-n", own, "link", "set", "eth0", "up"},
	}
	for _, a := range addresses {
		command := []string{"-n", own, "address", "add", a, "dev", "eth0"}
		if strings.Contains(a, ":") {
			command = append(command, "nodad") // it can be used at once
		}
		commands = append(commands, command)
	}
	return n.commands(commands)
}

// Unplug takes a host off the switch, as a loss of power does: nothing that it sends comes
// through any more.
func (n *Network) Unplug(host string) error {
	_, err := run("-n", n.Namespace(switchName), "link", "delete", host)
	return err
}

// Behind adds a namespace that is connected to a host alone, with the address, for which the
// host gets a route, with the metric that Calico gives such routes.
func (n *Network) Behind(host, name, address string) error {
	if err := n.add(name); err != nil {
		return err
	}
	own, router := n.Namespace(name), n.Namespace(host)
	err := n.commands([][]string{
		{"-n", router, "link", "add", "cali0", "type", "veth", "peer", "name", "eth0", "netns", own},
		{"-n", router, "link", "set", "cali0", "up"},
		{"-n", router, "address", "add", gateway, "dev", "cali0"},
		{"-n", router, "route", "add", address, "dev", "cali0", "metric", "1024"},
		{"-n", own, "link", "set", "lo", "up"},
		{"-n", own, "link", "set", "eth0", "up"},
		{"-n", own, "address", "add", address, "dev", "eth0"},
		{"-n", own, "route", "add", gateway, "dev", "eth0"},
		{"-n", own, "route", "add", "default", "via", gateway, "dev", "eth0"},
	})
	if err != nil {
		return err
	}
	return n.Within(host, forward)
}

// gateway is what a host is for what is behind it.
const gateway = "169.254.1.1"

// IP runs "ip" in a host's namespace.
func (n *Network) IP(host string, args ...string) (string, error) {
	return run(append([]string{"-n", n.Namespace(host)}, args...)...)
}

func (n *Network) commands(all [][]string) error {
	for _, args := range all {
		if _, err := run(args...); err != nil {
			return err
		}
	}
	return nil
}

// Apart makes a process one that a terminal's signals do not reach: whoever starts it ends it.
func Apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ip", args...)
	cmd.SysProcAttr = Apart()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}
