package calico

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
)

// family is 4 or 6, or 0 for either.
type family int

func (f family) String() string { return "IPv" + strconv.Itoa(int(f)) }

func familyOf(a netip.Addr) family {
	if a.Is4() {
		return 4
	}
	return 6
}

// parseAddr reads an IP address. IPv6 that stands for IPv4 (::ffff:192.0.2.1) is IPv4.
func parseAddr(s string, want family) (netip.Addr, *fault) {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return netip.Addr{}, &fault{RuleAddress, "is not an IP address", ""}
	case a.Zone() != "":
		return netip.Addr{}, &fault{RuleAddress, "has a zone, which BIRD's configuration cannot express", "use an address that is not link-local"}
	}
	a = a.Unmap()
	if f := familyOf(a); want != 0 && f != want {
		return netip.Addr{}, &fault{RuleFamily, fmt.Sprintf("is %s where %s belongs", f, want), ""}
	}
	return a, nil
}

// checkPeerAddr refuses addresses that BIRD refuses as a neighbour's, or that mean
// nothing. IPv4's link-local range stays: clouds use it for BGP, and BIRD takes it.
func checkPeerAddr(a netip.Addr) *fault {
	what := ""
	switch {
	case a.IsUnspecified():
		what = "is the unspecified address"
	case a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		what = "is the broadcast address"
	case a.Is6() && a.IsLinkLocalUnicast():
		return &fault{RuleAddress, "is link-local, which BIRD refuses with multihop", "use a global or unique local address"}
	default:
		return nil
	}
	return &fault{RuleAddress, what, ""}
}

// checkNodeAddr refuses addresses that cannot be a node's own for BGP.
func checkNodeAddr(a netip.Addr) *fault {
	switch {
	case a.IsLoopback():
		return &fault{RuleAddress, "is a loopback address", ""}
	case a.IsLinkLocalUnicast():
		return &fault{RuleAddress, "is link-local", ""}
	}
	return checkPeerAddr(a)
}

// parsePeerIP reads IPv4, IPv4:port, IPv6, [IPv6] or [IPv6]:port. The port is 0 if there
// is none.
func parsePeerIP(s string) (netip.Addr, uint16, *fault) {
	host, port := s, ""
	if rest, ok := strings.CutPrefix(s, "["); ok {
		host, port, ok = strings.Cut(rest, "]")
		if !ok || !strings.Contains(host, ":") || port != "" && port[0] != ':' {
			return netip.Addr{}, 0, &fault{RuleAddress, "is not an address with a port", "write 192.0.2.1:179 or [2001:db8::1]:179"}
		}
	} else if i := strings.IndexByte(s, ':'); i == strings.LastIndexByte(s, ':') && i >= 0 {
		host, port = s[:i], s[i:]
	}
	n := uint64(0)
	if port != "" {
		var ok bool
		if n, ok = parseDecimal(port[1:]); !ok || n == 0 || n > math.MaxUint16 {
			return netip.Addr{}, 0, &fault{RuleAddress, "has a port that is not a decimal number from 1 to 65535", ""}
		}
	}
	a, f := parseAddr(host, 0)
	if f == nil {
		f = checkPeerAddr(a)
	}
	if f != nil {
		return netip.Addr{}, 0, f
	}
	return a, uint16(n), nil
}

// peerIP reads the address and the port of a peer.
func (v value) peerIP() (netip.Addr, uint16) {
	s, ok := v.text()
	if !ok || s == "" {
		return netip.Addr{}, 0
	}
	a, port, f := parsePeerIP(s)
	if f != nil {
		v.refuse(s, f)
	}
	v.doubtMulticast(s, a)
	return a, port
}

// gateway reads the address of a router on the way to a peer; the zero Addr if it is
// empty or bad.
func (v value) gateway() netip.Addr {
	a := v.addr(0)
	if !a.IsValid() {
		return a
	}
	if f := checkPeerAddr(a); f != nil {
		v.refuse(v.node.Value, f)
		return netip.Addr{}
	}
	v.doubtMulticast(v.node.Value, a)
	return a
}

// doubtMulticast warns of addresses that BIRD takes and that cannot work.
func (v value) doubtMulticast(s string, a netip.Addr) {
	switch {
	case a.IsMulticast():
		v.doubt(s, &fault{RuleAddress, "is a multicast address", "is one of the first digits wrong?"}, "it is used all the same")
	case a.IsLoopback():
		v.doubt(s, &fault{RuleAddress, "is a loopback address", ""}, "it is used all the same")
	}
}

// addr reads an address of a family; the zero Addr if it is empty or bad.
func (v value) addr(want family) netip.Addr {
	s, ok := v.text()
	if !ok || s == "" {
		return netip.Addr{}
	}
	a, f := parseAddr(s, want)
	if f != nil {
		v.refuse(s, f)
	}
	return a
}

// parsePrefix reads a CIDR with its host bits. A bare address is a fault unless it may
// stand for the prefix that holds nothing else.
func parsePrefix(s string, want family, bare bool) (netip.Prefix, *fault) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		a, addrErr := netip.ParseAddr(s)
		switch {
		case addrErr != nil || a.Zone() != "":
			return netip.Prefix{}, &fault{RulePrefix, "is not a CIDR", ""}
		case !bare:
			return netip.Prefix{}, &fault{RulePrefix, "is an address without a prefix length",
				fmt.Sprintf("write %s/%d if this one address is meant", a, a.BitLen())}
		}
		a = a.Unmap()
		p = netip.PrefixFrom(a, a.BitLen())
	}
	if p.Addr().Is4In6() {
		return netip.Prefix{}, &fault{RulePrefix, "is IPv4 written as IPv6", "write it as IPv4"}
	}
	if f := familyOf(p.Addr()); want != 0 && f != want {
		return netip.Prefix{}, &fault{RuleFamily, fmt.Sprintf("is %s where %s belongs", f, want), ""}
	}
	return p, nil
}

// prefix reads a CIDR; the zero Prefix if it is bad. Bits beyond its length are reported
// and set to zero, since BIRD refuses them.
func (v value) prefix(want family) netip.Prefix { return v.prefixOr(want, false) }

// prefixOrAddr is prefix where a bare address may stand for a prefix.
func (v value) prefixOrAddr() netip.Prefix { return v.prefixOr(0, true) }

func (v value) prefixOr(want family, bare bool) netip.Prefix {
	s, ok := v.text()
	if !ok {
		return netip.Prefix{}
	}
	p, f := parsePrefix(s, want, bare)
	if f != nil {
		v.refuse(s, f)
		return netip.Prefix{}
	}
	masked := p.Masked()
	if masked != p {
		v.doubt(s, &fault{RulePrefixHostBits, "has bits set beyond its length", "write " + masked.String()}, "it is taken for "+masked.String())
	}
	return masked
}

// parseNodeAddr reads a node's address for BGP, with its network or without.
func parseNodeAddr(s string, want family) (netip.Prefix, *fault) {
	p, f := parsePrefix(s, want, true)
	if f == nil {
		f = checkNodeAddr(p.Addr())
	}
	if f != nil {
		return netip.Prefix{}, f
	}
	return p, nil
}

// nodeAddr reads a node's address. The second result tells that there is one and it is
// bad.
func (v value) nodeAddr(want family) (p netip.Prefix, bad bool) {
	v = v.or(fmt.Sprintf("the node has no %s address for BGP", want))
	s, ok := v.text()
	if !ok || s == "" {
		return netip.Prefix{}, !ok
	}
	p, f := parseNodeAddr(s, want)
	if f != nil {
		v.refuse(s, f)
		return p, true
	}
	v.doubtMulticast(s, p.Addr())
	return p, false
}
