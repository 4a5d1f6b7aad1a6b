package calico

import (
	"net/netip"
	"time"
)

// LogLevel is how much BIRD is asked to log, after the mapping of Calico's severities.
type LogLevel string

// The three levels that Calico's log severities come down to. The empty level means unset.
const (
	LogNone  LogLevel = "none"
	LogInfo  LogLevel = "info"
	LogDebug LogLevel = "debug"
)

// WaitFor says which peers may hold up a graceful restart.
type WaitFor string

// Values of gracefulRestartWaitFor. The empty value means unset, hence ReadyNodes.
const (
	WaitForReadyNodes WaitFor = "ReadyNodes"
	WaitForAllPeers   WaitFor = "AllPeers"
)

// ProgramClusterRoutes says which pools' routes BIRD puts into the kernel.
type ProgramClusterRoutes string

// Values of programClusterRoutes. The empty value means unset, hence EnabledNoEncapOnly.
const (
	ProgramEnabled     ProgramClusterRoutes = "Enabled"
	ProgramDisabled    ProgramClusterRoutes = "Disabled"
	ProgramIPIPOnly    ProgramClusterRoutes = "EnabledIPIPOnly"
	ProgramNoEncapOnly ProgramClusterRoutes = "EnabledNoEncapOnly"
)

// SecretKeyRef names one key of a Secret in the daemon's own namespace.
type SecretKeyRef struct {
	Name, Key string
}

// Community is a standard (two parts) or large (three parts) BGP community
// (RFC 1997, RFC 8092). Parts of a standard one are at most 65535.
type Community struct {
	Parts [3]uint32
	Large bool
}

// NamedCommunity is an entry of spec.communities.
type NamedCommunity struct {
	Name  string
	Value Community
}

// PrefixAdvertisement asks for communities on the routes inside a prefix. The
// communities are resolved against the same resource, unique, and sorted by their text.
type PrefixAdvertisement struct {
	Prefix      netip.Prefix
	Communities []Community
	// Index is the entry's place in spec.prefixAdvertisements.
	Index int
}

// ServiceRange is one entry of a list of Service addresses to advertise.
type ServiceRange struct {
	Prefix netip.Prefix
	// Field is the entry's path, such as spec.serviceClusterIPs[0].
	Field string
}

// BGPConfiguration holds cluster-wide settings (named "default") or one node's
// (named "node." and the node's name). Pointers, zeros and empty values mean unset.
type BGPConfiguration struct {
	Meta
	LogLevel               LogLevel
	NodeToNodeMeshEnabled  *bool
	ASNumber               uint32
	ServiceClusterIPs      []ServiceRange
	ServiceExternalIPs     []ServiceRange
	ServiceLoadBalancerIPs []ServiceRange
	// ServiceAggregationDisabled is serviceLoadBalancerAggregation: Disabled.
	ServiceAggregationDisabled bool
	PrefixAdvertisements       []PrefixAdvertisement
	ListenPort                 uint16
	// NodeMeshPassword is set whenever a password is asked for: a reference that could
	// not be read has neither name nor key, as the mesh must not run without password.
	NodeMeshPassword       *SecretKeyRef
	NodeMeshMaxRestartTime *time.Duration // whole seconds, 0 to 4095
	// BindToNodeIP is bindMode: NodeIP.
	BindToNodeIP            bool
	IgnoredInterfaces       []string // patterns of letters, digits, _ . * -
	ProgramClusterRoutes    ProgramClusterRoutes
	IPv4NormalRoutePriority uint32 // kernel metric, 1 to 2147483646
	IPv6NormalRoutePriority uint32
	// GracefulRestartWait is the longest time BIRD holds routes back after a start,
	// in whole seconds from 0 to 18 h; nil means that BIRD's own 240 s serve.
	GracefulRestartWait    *time.Duration
	GracefulRestartWaitFor WaitFor
}

// NextHopMode is nextHopMode of a BGPPeer.
type NextHopMode string

// Values of nextHopMode. The empty value means unset.
const (
	NextHopAuto NextHopMode = "Auto"
	NextHopSelf NextHopMode = "Self"
	NextHopKeep NextHopMode = "Keep"
)

// BGPPeer asks for peerings between a set of this cluster's nodes (the local side)
// and a peer given by address, by node selector or by workload selector (the remote
// side). Exactly one of PeerIP, PeerSelector and LocalWorkloadSelector is set; Node
// and NodeSelector are not set together.
type BGPPeer struct {
	Meta
	Node         string    // "" when unset
	NodeSelector *Selector // nil when unset
	PeerIP       netip.Addr
	// PeerPort is the port of peerIP, 0 when it names none.
	PeerPort              uint16
	PeerSelector          *Selector
	LocalWorkloadSelector *Selector
	ASNumber              uint32
	LocalASNumber         uint32
	KeepOriginalNextHop   bool // false when NextHopMode is set
	NextHopMode           NextHopMode
	Password              *SecretKeyRef
	// NoSourceAddress is sourceAddress: None.
	NoSourceAddress          bool
	MaxRestartTime           *time.Duration // whole seconds, 0 to 4095
	KeepaliveTime            *time.Duration // whole seconds, 1 to 65535
	NumAllowedLocalASNumbers uint32
	TTLSecurity              uint8 // hops, 0 = off
	ReachableBy              netip.Addr
	Filters                  []string // BGPFilter names in order, "" for one that could not be read
	// ReversePeeringManual is reversePeering: Manual.
	ReversePeeringManual bool
}

// MatchOperator relates a route's prefix to a rule's.
type MatchOperator string

// Values of matchOperator.
const (
	MatchEqual    MatchOperator = "Equal"
	MatchNotEqual MatchOperator = "NotEqual"
	MatchIn       MatchOperator = "In"
	MatchNotIn    MatchOperator = "NotIn"
)

// PeerType limits a rule to internal or external peers.
type PeerType string

// Values of peerType. The empty value means both.
const (
	PeerEBGP PeerType = "eBGP"
	PeerIBGP PeerType = "iBGP"
)

// FilterOperation changes a route; exactly one of the fields is set.
type FilterOperation struct {
	AddCommunity  *Community
	PrependASPath []uint32 // first listed comes first in the path
	SetPriority   uint32   // kernel metric, 1 to 2147483646
}

// FilterRule is one rule of a BGPFilter. Zero values match everything.
type FilterRule struct {
	// Field is the rule's path, such as spec.importV4[2].
	Field  string
	Accept bool // else Reject
	Prefix netip.Prefix
	Match  MatchOperator
	// MinLength and MaxLength bound the length of prefixes inside Prefix; they are
	// only set with In and NotIn, and then Prefix.Bits() <= MinLength <= MaxLength.
	// HasLengths tells whether the rule bounds it at all.
	HasLengths           bool
	MinLength, MaxLength int
	RemotePeersOnly      bool // source: RemotePeers
	Interface            string
	PeerType             PeerType
	Community            *Community
	ASPathPrefix         []uint32
	Priority             uint32
	Operations           []FilterOperation // only with Accept
}

// BGPFilter is four ordered lists of rules. Rules that could not be read are left out.
type BGPFilter struct {
	Meta
	ImportV4, ExportV4, ImportV6, ExportV6 []FilterRule
}

// EncapMode says when a pool's traffic is encapsulated.
type EncapMode string

// Values of ipipMode and vxlanMode.
const (
	EncapNever       EncapMode = "Never"
	EncapAlways      EncapMode = "Always"
	EncapCrossSubnet EncapMode = "CrossSubnet"
)

// IPPool is a range of workload addresses. The modes are never empty, and at most
// one of them is other than Never.
type IPPool struct {
	Meta
	CIDR             netip.Prefix
	IPIPMode         EncapMode
	VXLANMode        EncapMode
	DisableBGPExport bool
	// What follows means nothing to BGP.
	NATOutgoing bool
	Disabled    bool
	AllowedUses []string // Workload, Tunnel, LoadBalancer
	// ManualAssignment is assignmentMode: Manual.
	ManualAssignment bool
}

// Node is a node as Calico sees it, from a Calico Node or from the annotations of a
// Kubernetes Node. An address that is absent is the zero Prefix; one that is present
// keeps its host bits and has length 32 or 128 when written without one.
type Node struct {
	Meta
	IPv4, IPv6 netip.Prefix
	// BadIPv4 and BadIPv6 tell that an address was given but could not be read.
	BadIPv4, BadIPv6 bool
	ASNumber         uint32     // 0 when unset
	ClusterID        netip.Addr // IPv4 form; valid means route reflector
	// WireguardIPv4 and WireguardIPv6 are the addresses of the node's WireGuard interfaces.
	WireguardIPv4, WireguardIPv6 netip.Addr
	PodCIDRs                     []netip.Prefix
	// Kubernetes tells that this was read from a Kubernetes Node.
	Kubernetes bool
	// NotReady tells that the Kubernetes Node of this name has a Ready condition which is
	// False, or Unknown: that is what Kubernetes makes of it when it hears nothing from the
	// node any more. Without such a condition a node counts as ready.
	NotReady bool
}

// AffinityState is the state of a block affinity. The empty state counts as confirmed.
type AffinityState string

// States of a block affinity that are not dropped on reading. Pending and deleted ones are.
const (
	AffinityConfirmed       AffinityState = "confirmed"
	AffinityPendingDeletion AffinityState = "pendingDeletion"
)

// BlockAffinity gives a block of addresses to a node. Only affinities of type host
// that are neither pending nor deleted get this far.
type BlockAffinity struct {
	Meta
	Node  string
	CIDR  netip.Prefix
	State AffinityState // never empty
}

// Service is the part of a Kubernetes Service that decides what is advertised.
type Service struct {
	Meta
	Type                  string // ClusterIP when unset
	ClusterIP             string // as written: an address, "None" or ""
	ClusterIPs            []netip.Addr
	ExternalIPs           []netip.Addr
	LoadBalancerIP        netip.Addr
	IngressIPs            []netip.Addr // status.loadBalancer.ingress[].ip
	ExternalTrafficPolicy string       // Cluster, Local or ""
	IPFamilies            []string     // IPv4, IPv6
}

// Endpoint is one endpoint of an EndpointSlice.
type Endpoint struct {
	NodeName string
	Ready    bool // true when the condition is absent
}

// EndpointSlice is the part of a Kubernetes EndpointSlice that decides what is advertised.
type EndpointSlice struct {
	Meta
	ServiceName string // label kubernetes.io/service-name
	AddressType string // IPv4, IPv6 or FQDN
	Endpoints   []Endpoint
}

// Secret is a Kubernetes Secret. Its values are secrets: they are never put into a Problem.
type Secret struct {
	Meta
	Data map[string][]byte
}

// WorkloadEndpoint is a workload on this node that may be a BGP peer, from one of the
// endpoint-status files that Calico's agent writes. Address fields are invalid when absent.
type WorkloadEndpoint struct {
	Position    Position
	Interface   string
	IPv4, IPv6  netip.Addr
	BGPPeerName string
}
