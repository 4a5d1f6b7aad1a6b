// Package grlab is a laboratory for graceful restart. It takes the program birdconfd and a
// real BIRD, and runs nodes of a cluster with them, each in a network namespace of its own,
// where nodes can lose power, and BIRD or birdconfd can crash. It tells what the kernel, BIRD
// and birdconfd of each node make of that, and never touches the network of the host.
package grlab
