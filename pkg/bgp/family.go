package bgp

import "net/netip"

// Family is an address family.
type Family int

// The two address families.
const (
	IPv4 Family = 4
	IPv6 Family = 6
)

// Families lists both.
var Families = []Family{IPv4, IPv6}

// String returns "IPv4" or "IPv6".
func (f Family) String() string {
	if f == IPv6 {
		return "IPv6"
	}
	return "IPv4"
}

// Bits is the length of an address, 32 or 128.
func (f Family) Bits() int {
	if f == IPv6 {
		return 128
	}
	return 32
}

// familyOf tells an address's family.
func familyOf(a netip.Addr) Family {
	if a.Is4() {
		return IPv4
	}
	return IPv6
}

func host(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
