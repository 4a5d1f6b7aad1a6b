// Package bgp works out what one node's BIRD should run.
//
// In goes an immutable calico.Cluster and the name of a node; out comes one View per
// address family, made of typed facts that templates only have to print, and a Problem
// for everything the node does not get and why. Compute is a pure function: no I/O, no
// clock, no globals, and the same input in any order gives the same Views. It contains
// no BIRD syntax.
package bgp
