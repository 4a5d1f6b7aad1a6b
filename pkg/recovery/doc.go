// Package recovery knows whether a BIRD daemon is down, recovering from its start or steady,
// and what a node's View must be like for that. BIRD decides from the configuration that it
// starts with for whom a graceful restart waits (RFC 4724 section 4.1), so peers on nodes that
// are not ready have graceful restart turned off in that one, and get it back afterwards. In
// BIRD 1.6 peers can also be released while the recovery goes on.
//
// No session that is established is ever touched for that.
package recovery
