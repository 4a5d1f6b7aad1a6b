package grlab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	configurationFile = "bgp.yaml"
	poolFile          = "pool.yaml"
)

func calicoFile(n *Node) string { return "calico-" + n.Name + ".yaml" }

func (n *Node) kubernetesFile() string { return "kubernetes-" + n.Name + ".yaml" }

// writeCluster writes the resources that one node knows.
func (n *Node) writeCluster() error {
	err := errors.Join(os.MkdirAll(n.resources(), 0o700), n.writeConfiguration(), n.Write(poolFile, `apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: pods}
spec: {cidr: 10.244.0.0/16, blockSize: 26}
`))
	for _, o := range n.lab.Nodes {
		err = errors.Join(err, n.Write(calicoFile(o), fmt.Sprintf(`apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: %[1]s}
spec: {bgp: {ipv4Address: %[2]s/24}}
---
apiVersion: projectcalico.org/v3
kind: BlockAffinity
metadata: {name: %[1]s}
spec: {node: %[1]s, cidr: %[3]s, state: confirmed, deleted: false}
`, o.Name, o.Address, o.Block)), n.SetReady(o, "True"))
	}
	return err
}

func (n *Node) writeConfiguration() error {
	text := `apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {name: default}
spec:
  asNumber: 64512
`
	if w := n.lab.options.Wait; w != "" {
		text += "  gracefulRestartWait: " + w + "\n"
	}
	if w := n.lab.options.WaitFor; w != "" {
		text += "  gracefulRestartWaitFor: " + w + "\n"
	}
	return n.Write(configurationFile, text)
}

// SetReady has this node's resources say whether a node is ready.
func (n *Node) SetReady(node *Node, status string) error {
	return n.Write(node.kubernetesFile(), fmt.Sprintf(`apiVersion: v1
kind: Node
metadata: {name: %s}
status: {conditions: [{type: Ready, status: %q}]}
`, node.Name, status))
}

// RemoveNode removes what this node's resources say of another node.
func (n *Node) RemoveNode(node *Node) error {
	return errors.Join(n.Remove(calicoFile(node)), n.Remove(node.kubernetesFile()))
}

// Write writes or replaces a file of this node's resources, all at once.
func (n *Node) Write(name, text string) error {
	next := filepath.Join(n.resources(), ".next")
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(n.resources(), name))
}

// Remove removes a file of this node's resources, unless it is not there.
func (n *Node) Remove(name string) error {
	err := os.Remove(filepath.Join(n.resources(), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
