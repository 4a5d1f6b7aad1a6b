// Package kernel asks the Linux kernel about the routes of the network namespace that the
// program is in. In goes an address family, out comes what the kernel has. It never changes
// anything.
package kernel

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Family is an address family.
type Family int

// Families.
const (
	IPv4 Family = unix.AF_INET
	IPv6 Family = unix.AF_INET6
)

// String returns the family's name.
func (f Family) String() string {
	if f == IPv6 {
		return "IPv6"
	}
	return "IPv4"
}

// attempts bounds how often routes are listed anew because they changed meanwhile.
const attempts = 5

// BirdRoutes tells whether the kernel has a route of this family with the protocol "bird"
// (RTPROT_BIRD, rtnetlink(7)) in any table.
func BirdRoutes(f Family) (bool, error) {
	found := false
	var err error
	for range attempts {
		err = netlink.RouteListFilteredIter(int(f), &netlink.Route{Table: unix.RT_TABLE_UNSPEC, Protocol: unix.RTPROT_BIRD},
			netlink.RT_FILTER_TABLE|netlink.RT_FILTER_PROTOCOL, func(netlink.Route) bool {
				found = true
				return false
			})
		if found {
			return true, nil
		}
		// A list that was interrupted may lack a route, one that was not has them all.
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	if err != nil {
		return false, fmt.Errorf("list the kernel's %s routes: %w", f, err)
	}
	return false, nil
}
