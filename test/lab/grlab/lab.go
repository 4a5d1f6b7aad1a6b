package grlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/birdconfd/birdconfd/test/lab/netns"
)

// Flavor is a BIRD to run the nodes with.
type Flavor struct {
	Name   string // for people
	Set    string // the built-in set of templates that goes with it
	Binary string // the path of the program
}

// Options describe a laboratory.
type Options struct {
	Flavor
	Program string // the path of birdconfd
	Nodes   int    // how many; 4 when zero
	// Wait and WaitFor are gracefulRestartWait and gracefulRestartWaitFor, "" when absent.
	Wait, WaitFor string
	// Templates is a directory of templates, "" for none.
	Templates string
	// Args are further arguments of "birdconfd run".
	Args []string
	// Launch has the supervisor start BIRD by "birdconfd launch". BIRD's files then outlive a
	// loss of power, and are out of date when it is over.
	Launch bool
	// Pause is how long the supervisor waits before it starts BIRD anew, 1 s when zero.
	Pause time.Duration
	// Workloads gives each node a namespace of its own behind it, to send packets between.
	Workloads bool
}

// Lab is a cluster of nodes, which know each other as a full mesh and are all without power
// at first. Its methods are for one goroutine.
type Lab struct {
	Nodes   []*Node // node N is Nodes[N-1]
	options Options
	network *netns.Network
	dir     string
	probers []*Prober
}

var labs atomic.Int32

// New makes a laboratory. It needs root, iproute2 and a kernel with network namespaces.
func New(o Options) (*Lab, error) {
	if o.Nodes == 0 {
		o.Nodes = 4
	}
	if o.Pause == 0 {
		o.Pause = time.Second
	}
	dir, err := os.MkdirTemp("", "grlab") // a short name, as there will be sockets in it
	if err != nil {
		return nil, err
	}
	network, err := netns.New(fmt.Sprintf("grlab%d-%d-", os.Getpid(), labs.Add(1)))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	l := &Lab{options: o, network: network, dir: dir}
	for i := range o.Nodes {
		l.Nodes = append(l.Nodes, newNode(l, i+1))
	}
	for _, n := range l.Nodes {
		if err := n.writeCluster(); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// Close takes the power off all nodes and removes everything.
func (l *Lab) Close() error {
	for _, p := range l.probers {
		p.close()
	}
	var errs []error
	for _, n := range l.Nodes {
		errs = append(errs, n.PowerOff())
	}
	return errors.Join(append(errs, l.network.Close(), os.RemoveAll(l.dir))...)
}

// Node returns a node by its number, from 1 on. The one with the lowest number is passive
// towards all others, that with the highest active.
func (l *Lab) Node(number int) *Node { return l.Nodes[number-1] }

// Start gives power to all nodes and waits until they have all routes.
func (l *Lab) Start(ctx context.Context) error {
	for _, n := range l.Nodes {
		if err := n.PowerOn(); err != nil {
			return err
		}
	}
	return Until(ctx, time.Minute, "all nodes have all sessions and routes", func() error {
		for _, n := range l.Nodes {
			if err := n.settled(ctx, l.Others(n)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Others are all nodes but some.
func (l *Lab) Others(but ...*Node) []*Node {
	return slices.DeleteFunc(slices.Clone(l.Nodes), func(n *Node) bool { return slices.Contains(but, n) })
}

// SetReady has every node's resources say whether a node is ready: "True", "False", "Unknown".
func (l *Lab) SetReady(node *Node, status string) error {
	for _, n := range l.Nodes {
		if err := n.SetReady(node, status); err != nil {
			return err
		}
	}
	return nil
}

// Configure changes gracefulRestartWait and gracefulRestartWaitFor in every node's resources.
func (l *Lab) Configure(wait, waitFor string) error {
	l.options.Wait, l.options.WaitFor = wait, waitFor
	for _, n := range l.Nodes {
		if err := n.writeConfiguration(); err != nil {
			return err
		}
	}
	return nil
}
