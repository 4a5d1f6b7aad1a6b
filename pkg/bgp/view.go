package bgp

import (
	"net/netip"
	"time"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// View is what one node's BIRD should run for one address family. Addresses that are
// absent are the zero netip.Addr, for which IsValid is false. All lists are in the order
// in which they are to be rendered.
type View struct {
	Family Family
	Node   NodeInfo
	// Address is this node's address of the family. Invalid: the node runs no BGP in it.
	Address netip.Addr
	// RouterID is a dotted quad in both families (RFC 6286). Invalid only for IPv4 on a
	// node without an IPv4 address, where BIRD picks one of an interface.
	RouterID netip.Addr
	Listen   Listen
	// GracefulRestartWait is the longest time BIRD holds back routes after a start, in
	// whole seconds; nil leaves BIRD's 240 s, zero is a real value.
	GracefulRestartWait *time.Duration
	// GracefulRestartWaitFor is never empty.
	GracefulRestartWaitFor calico.WaitFor
	// Phase is what the View is for: a BIRD that starts, or one that has started.
	Phase    Phase
	LogLevel calico.LogLevel // never empty
	// IgnoredInterfaces are patterns that the direct protocol leaves out, besides those
	// that are always left out.
	IgnoredInterfaces []string
	// RoutePriority is the kernel metric of ordinary routes.
	RoutePriority uint32

	// Blackholes are the prefixes this node originates: its blocks and service routes.
	Blackholes []Route
	// Gateways are host routes to peers that are reached through another address.
	Gateways []Gateway
	// HasStatic tells whether the static protocol is there at all; it can be with
	// nothing in it.
	HasStatic bool
	// Aggregates are this node's blocks, announced as a whole in place of the addresses inside.
	Aggregates []Route

	Communities []CommunityRule
	// PoolRejects and PoolAccepts are the pools that are kept from and given to BGP peers.
	PoolRejects []PoolReject
	PoolAccepts []Route
	// TunnelInterfaces are patterns of devices whose routes are not given to internal peers.
	TunnelInterfaces []string
	// ServiceRoutes are the service prefixes this node announces.
	ServiceRoutes []Route
	// ReflectedRanges are service ranges whose routes a route reflector passes on.
	ReflectedRanges []Route

	// ServiceRejects are the service ranges that BIRD must not put into the kernel.
	ServiceRejects []Route
	// OwnServiceRejects are the service routes of this node outside those ranges; BIRD's
	// own blackholes for them must not get into the kernel.
	OwnServiceRejects []Route
	// WireguardNextHops are the nodes whose routes WireGuard programs.
	WireguardNextHops []NextHop
	Kernel            []KernelRule

	Filters        []FilterFunction
	ImportPolicies []Policy
	ExportPolicies []Policy
	Peers          []Peer // sorted by name
}

// Phase tells a configuration that BIRD starts with from one for a BIRD that has recovered
// from its start: BIRD decides by the first for whom a graceful restart waits.
type Phase string

// The two phases.
const (
	// Starting: BIRD is not running, or is recovering from its start (RFC 4724 section 4.1).
	Starting Phase = "starting"
	// Steady: the recovery is over.
	Steady Phase = "steady"
)

// NodeInfo is the node a View is for.
type NodeInfo struct {
	Name     string
	ASNumber uint32
	// ClusterID is valid on a route reflector (RFC 4456).
	ClusterID netip.Addr
}

// Listen says where BIRD listens for BGP. Zero values leave BIRD's defaults.
type Listen struct {
	Address netip.Addr
	Port    uint16
}

// Route is a prefix and where it came from.
type Route struct {
	Prefix netip.Prefix
	Why    string
}

// PoolReject is a pool whose routes are kept from BGP peers, except those inside smaller
// pools that are not.
type PoolReject struct {
	Prefix netip.Prefix
	Except []netip.Prefix
	Why    string
}

// Gateway is a host route to Address through Via.
type Gateway struct {
	Address, Via netip.Addr
	Why          string
}

// NextHop is a BGP next hop and where it came from.
type NextHop struct {
	Address netip.Addr
	Why     string
}

// CommunityRule adds communities to the routes inside a prefix.
type CommunityRule struct {
	Prefix      netip.Prefix
	Communities []calico.Community
	Why         string
}

// KernelAction is what happens to a pool's routes on their way to the kernel.
type KernelAction string

// What can happen to a pool's routes.
const (
	// KernelReject: another agent programs them.
	KernelReject KernelAction = "reject"
	// KernelAccept: BIRD programs them as they are.
	KernelAccept KernelAction = "accept"
	// KernelTunnel: BIRD programs them through Tunnel.
	KernelTunnel KernelAction = "tunnel"
	// KernelCrossSubnet: as KernelTunnel, except when the next hop is inside Subnet.
	KernelCrossSubnet KernelAction = "cross-subnet"
)

// KernelRule decides about one pool's routes on their way to the kernel.
type KernelRule struct {
	Prefix netip.Prefix
	Action KernelAction
	Tunnel string       // device name, with KernelTunnel and KernelCrossSubnet
	Subnet netip.Prefix // with KernelCrossSubnet
	Why    string
}

// PeerType is where a peering comes from; it decides the protocol's name.
type PeerType string

// The four kinds of peers. Their names appear in protocol names that other tools read.
const (
	Mesh          PeerType = "Mesh"
	Global        PeerType = "Global"
	NodeSpecific  PeerType = "Node"
	LocalWorkload PeerType = "Local_Workload"
)

// Peer is one BGP session.
type Peer struct {
	// Name is the protocol's name, such as Mesh_192_0_2_1.
	Name    string
	Type    PeerType
	Address netip.Addr
	Port    uint16 // 0: 179
	// ASNumber is the peer's AS number, LocalASNumber ours towards it; 0 means the node's own.
	ASNumber, LocalASNumber uint32
	// Internal is true for iBGP: the peer's AS number equals ours towards it.
	Internal      bool
	SourceAddress netip.Addr
	// TTLSecurity is the number of hops of RFC 5082, 0 for off.
	TTLSecurity uint8
	Password    Secret
	// GracefulRestartOff keeps the session from holding up a restart of this node, and
	// takes graceful restart (RFC 4724) away from it.
	GracefulRestartOff bool
	// GracefulRestartTime and KeepaliveTime are in whole seconds, nil for BIRD's defaults.
	GracefulRestartTime, KeepaliveTime *time.Duration
	// RouteReflectorClient is true when this node reflects routes to the peer, under
	// ClusterID, its own cluster id.
	RouteReflectorClient     bool
	ClusterID                netip.Addr
	NextHopSelf, NextHopKeep bool
	// AllowLocalAS is how often our own AS number may stand in a received path.
	AllowLocalAS uint32
	// Passive peers are not connected to; the other side does it.
	Passive bool
	// Import and Export name policies of the View.
	Import, Export string
	// NodeName is the node of this cluster at the other end, if the peer is one, and
	// NodeNotReady tells that Kubernetes says that it is not ready.
	NodeName     string
	NodeNotReady bool
	// Why says where the peering came from: BGPPeer/rack-1 via nodeSelector.
	Why string
}

// FilterFunction is one direction of a BGPFilter.
type FilterFunction struct {
	// Name is the function's name, at most 64 characters.
	Name string
	// BGPFilter is the resource's name.
	BGPFilter string
	// HasPeerType tells that some rule asks for a peer type, so that callers pass whether
	// the peer is internal.
	HasPeerType bool
	Rules       []FilterRule
}

// FilterRule is one rule: all conditions hold → the operations, then the action.
type FilterRule struct {
	Field      string          // such as spec.importV4[2]
	PeerType   calico.PeerType // "" for both
	Conditions []Condition
	Operations []Operation
	Accept     bool
}

// Condition is one thing a rule asks of a route; exactly one field is set.
type Condition struct {
	Prefix       *PrefixCondition
	FromPeer     bool // the route was learned over BGP
	Interface    string
	Community    *calico.Community
	ASPathPrefix []uint32
	LocalPref    uint32 // BGP local preference that stands for a priority
}

// PrefixCondition compares a route's prefix with another.
type PrefixCondition struct {
	Operator calico.MatchOperator
	Prefix   netip.Prefix
	// HasLengths: Min and Max bound the length (with In and NotIn only).
	HasLengths bool
	Min, Max   int
}

// Operation changes a route; exactly one field is set.
type Operation struct {
	AddCommunity *calico.Community
	// PrependAS is prepended once; operations are already in the order of execution.
	PrependAS uint32
	LocalPref uint32
}

// Policy is an import or export filter shared by all peers that treat routes alike.
type Policy struct {
	Name string
	// Internal is what an export policy passes on about the peer; import policies use it
	// for calls with HasPeerType only.
	Internal bool
	Calls    []FilterCall
}

// FilterCall calls a FilterFunction from a policy.
type FilterCall struct {
	Function    string
	HasPeerType bool
	BGPFilter   string
}

// MaxMetric is the sum of a kernel metric and the BGP local preference that stands for it.
const MaxMetric = 2147483647

// LocalPref returns the BGP local preference that stands for a kernel metric.
func LocalPref(metric uint32) uint32 { return MaxMetric - metric }

// MaxMetric lets templates use the constant.
func (v *View) MaxMetric() uint32 { return MaxMetric }

// NormalLocalPref is the local preference that stands for RoutePriority.
func (v *View) NormalLocalPref() uint32 { return LocalPref(v.RoutePriority) }
