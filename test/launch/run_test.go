package launch

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/birdconfd/birdconfd/pkg/bird/birdtest"
)

// cluster has one node, whose router ID tells which version of the resources it is.
const cluster = `apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {name: default}
spec: {asNumber: 64512}
---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: alpha}
spec: {bgp: {ipv4Address: 192.0.2.%d/24}}
`

// daemon starts "birdconfd run" in the node's network namespace.
func (n *node) daemon() *launched {
	n.t.Helper()
	return n.start(exec.Command("ip", "netns", "exec", n.namespace, built(n.t), "run", "--node", "alpha", "--output", n.dir, "--family", "ipv4",
		"--socket", "bird="+n.socket, "--bird-dir", filepath.Dir(n.binary), filepath.Join(n.dir, "in")))
}

// resources replaces what "birdconfd run" reads.
func (n *node) resources(number int) {
	n.t.Helper()
	n.run("mkdir", "-p", filepath.Join(n.dir, "in"))
	n.write("new.yaml", fmt.Sprintf(cluster, number))
	n.run("mv", filepath.Join(n.dir, "new.yaml"), filepath.Join(n.dir, "in", "c.yaml"))
}

// With the daemon: whichever is there first waits for the other, BIRD can end and start at
// any time, also while birdconfd runs, and each time it starts with the newest set.
func TestWithTheDaemon(t *testing.T) {
	n := newNode(t, birdtest.Bird(t))
	n.resources(1)
	b := n.launch()
	b.untilSays("waiting")
	d := n.daemon()
	n.untilRuns(1)
	for i := range 5 { // at once, before the daemon can have noticed
		b.signal(syscall.SIGKILL)
		<-b.ended
		started := time.Now()
		b = n.launch()
		n.untilRuns(1)
		if took := time.Since(started); took > 20*time.Second {
			t.Errorf("start %d took %s", i, took)
		}
		b.said("starting " + n.binary)
	}
	n.resources(2)
	n.untilRuns(2)

	// Both end, and resources change; birdconfd comes back later.
	b.signal(syscall.SIGKILL)
	<-b.ended
	d.signal(syscall.SIGKILL)
	<-d.ended
	n.resources(3)
	b = n.launch()
	b.untilSays("no birdconfd takes care of it now")
	n.nobodyRuns()
	n.daemon()
	n.untilRuns(3)
	b.kept(n.binary)
	if b.args("-R") != 0 {
		t.Error("-R without routes in the kernel")
	}
}
