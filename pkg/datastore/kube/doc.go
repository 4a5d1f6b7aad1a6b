// Package kube reads and watches Calico's resources, Nodes, Services, EndpointSlices and
// named Secrets from the Kubernetes API.
//
// In go a way to reach an API server and a node's name; out come the objects, cut down to the
// fields that are used, into a store of package live. It asks for no more than is needed: block
// affinities of one node, Secrets by their names, Services only while they matter. A resource
// that the server does not have any more is not taken for one without objects. It never
// writes.
package kube
