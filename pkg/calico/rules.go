package calico

// Identifiers of the rules that a Problem can name. They are stable: operators
// silence and search by them. docs/problems.md explains each.
const (
	RuleSyntax             = "syntax"              // not YAML or JSON
	RuleUnreadable         = "unreadable"          // file or directory cannot be read
	RuleEmptied            = "emptied"             // a server says that all objects of a kind are gone
	RuleNotInstalled       = "not-installed"       // a server does not know a kind
	RulePruned             = "pruned"              // a server drops a field
	RuleForbidden          = "forbidden"           // a server does not let us read something
	RuleNotRead            = "not-read"            // a directory inside a directory
	RuleUnknownKind        = "unknown-kind"        // a kind that is not read here
	RuleUnknownVersion     = "unknown-version"     // a kind of ours with an apiVersion that is not
	RuleUnknownField       = "unknown-field"       // a field that the kind does not have
	RuleDuplicateField     = "duplicate-field"     // the same key twice in one mapping
	RuleDuplicateResource  = "duplicate-resource"  // the same resource twice
	RuleMissingField       = "missing-field"       // a required field is absent
	RuleWrongType          = "wrong-type"          // a string where a number belongs, and the like
	RuleName               = "name"                // metadata.name is not a DNS subdomain
	RuleIgnoredName        = "ignored-name"        // a BGPConfiguration that is neither default nor node.*
	RuleIgnoredField       = "ignored-field"       // a field without effect on this object
	RuleEnum               = "enum"                // not one of the allowed words
	RuleRange              = "range"               // a number outside its range
	RuleDuration           = "duration"            // not a duration, or not in whole seconds
	RuleAddress            = "address"             // not an IP address, or one that cannot be used
	RulePrefix             = "prefix"              // not a CIDR
	RulePrefixHostBits     = "prefix-host-bits"    // a CIDR with bits set beyond its length
	RuleFamily             = "family"              // an address or prefix of the wrong family
	RuleSelector           = "selector"            // a selector that does not parse
	RuleCommunity          = "community"           // not a BGP community
	RuleUndefinedCommunity = "undefined-community" // a community name that is not defined
	RuleInterface          = "interface"           // not an interface pattern
	RuleConflict           = "conflict"            // fields that exclude each other
	RulePrefixLength       = "prefix-length"       // bounds that match nothing
	RuleMetadata           = "metadata"            // an annotation that carries metadata is broken
	RuleAnnotation         = "annotation"          // an annotation disagrees with the field it stands for
	RuleSecretValue        = "secret-value"        // a Secret's value that cannot be decoded
	RuleEndpointStatus     = "endpoint-status"     // an endpoint-status file that cannot be used

	RuleNodeUnknown      = "node-unknown"      // the node to render for is not in the data
	RuleNodeAddress      = "node-address"      // a node without usable address, or two with one
	RuleRouterID         = "router-id"         // no router id, or a bad one
	RulePassword         = "password"          // a password that is missing or that BIRD cannot hold
	RuleDuplicatePeer    = "duplicate-peer"    // two resources ask for one session
	RuleMeshReplaced     = "mesh-replaced"     // an explicit peer takes the place of a mesh session
	RuleMissingFilter    = "missing-filter"    // a peer names a BGPFilter that does not exist
	RulePeerMismatch     = "peer-mismatch"     // the two ends of a session between nodes do not agree
	RulePeerAS           = "peer-as"           // a peer without AS number
	RuleLocalAS          = "local-as"          // a local AS that has no or only half an effect
	RuleUnusedConfig     = "unused-config"     // a node.* BGPConfiguration without its node
	RuleUnknownWorkload  = "unknown-workload"  // an endpoint-status file names a missing BGPPeer
	RuleDuplicatePool    = "duplicate-pool"    // two pools with one CIDR
	RuleTunnelEverything = "tunnel-everything" // CrossSubnet on a node without a subnet
	RuleServiceAddress   = "service-address"   // a Service address outside the configured ranges
	RuleEnvironment      = "environment"       // an environment variable with a bad value

	RuleTemplate  = "template"   // a template does not load or fails
	RuleBirdCheck = "bird-check" // BIRD refuses the rendered set, or could not be asked

	RuleWrite  = "write"  // files cannot be put in place
	RuleReload = "reload" // BIRD does not use the files that are in place
	RuleGuard  = "guard"  // a configuration that would take most sessions away is held back
)
