// Package calico holds birdconfd's own types for the Calico and Kubernetes
// resources that decide a node's BGP configuration, and reads them from YAML or
// JSON one object at a time.
//
// In goes text, with its file name; out come typed objects (addresses, prefixes,
// AS numbers and durations, never strings of them), an immutable Cluster made of
// them, and a Problem for everything that was wrong or doubtful. It never reads
// files or the network by itself and never renders anything: a bad value is
// reported and left out here, so no later package has to distrust what it gets.
package calico
