package keys

import (
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/bgp"
	"github.com/birdconfd/birdconfd/pkg/calico"
)

// Root is where the tree begins.
const Root = "/calico"

// Trigger is the path that counts as changed with whatever getBGPConfig depends on, in Calico
// 3.33 and later. It never has a value.
const Trigger = Root + "/bgpconfig"

// Source is what a Tree shows.
type Source struct {
	Cluster *calico.Cluster
	// Node is whose Views and workloads they are.
	Node    string
	Options bgp.Options
	Views   bgp.Views
}

// Tree has the keys of a cluster. It is not for use by several goroutines.
type Tree struct {
	root dir
}

// builder makes a Tree.
type builder struct {
	Source
	peerings *bgp.Peerings
	// owners are the nodes that have each address, of several the one that gets the sessions.
	owners map[netip.Addr]*calico.Node
}

// New makes the tree of a cluster.
func New(s Source) *Tree {
	b := &builder{Source: s, peerings: bgp.NewPeerings(s.Cluster, s.Node, s.Options)}
	t := &Tree{}
	top := t.root.make("calico")
	top.lazy(b.global, "bgp", "v1", "global")
	top.lazy(b.hosts, "bgp", "v1", "host")
	top.lazy(b.pools, "v1", "ipam")
	top.lazy(b.blocks, "ipam", "v2", "host")
	top.lazy(b.resources, "resources", "v3", "projectcalico.org")
	for _, f := range bgp.Families {
		b.services(top, f)
	}
	return t
}

// Store shows what a template sees that asks for keys with a prefix: the values whose paths
// begin with one of the joined paths, as characters, with the prefix taken away. NODENAME is
// what stands for the node's name in them, as Calico's confd has it.
func (t *Tree) Store(prefix string, wanted []string, node string) *Store {
	prefix, cover := Expand(prefix, wanted, node)
	base := path.Clean(prefix)
	if !t.cuts(base, cover) {
		at := t.root.at(elementsOf(base))
		if at == nil {
			at = &dir{}
		}
		return &Store{root: at, base: base, cover: cover}
	}
	cut := &dir{}
	all := &Store{root: &t.root, base: "/", cover: cover}
	all.walk(&t.root, "/", func(at, value string) {
		cut.set(value, elementsOf(path.Join("/", strings.TrimPrefix(at, prefix)))...)
	})
	return &Store{root: cut, base: "/"}
}

// cuts tells that taking a prefix away leaves the rest of a name. Nobody has that, but confd can.
func (t *Tree) cuts(prefix string, cover []string) bool {
	parent := t.root.at(elementsOf(path.Dir(prefix)))
	if parent == nil || !slices.Contains(cover, prefix) {
		return false
	}
	return slices.ContainsFunc(parent.sorted(), func(name string) bool {
		return name != path.Base(prefix) && strings.HasPrefix(name, path.Base(prefix))
	})
}

// nodeName stands for the node's name in a prefix or a key.
const nodeName = "//NODENAME"

// Expand returns the prefix that is taken away from paths, and the beginnings of the paths
// that are seen (calico/node's confd: the prefix and each key are joined and cleaned).
func Expand(prefix string, wanted []string, node string) (string, []string) {
	if !strings.HasPrefix(prefix, "/") {
		prefix = "/" + prefix
	}
	prefix = strings.Replace(prefix, nodeName, "/"+node, 1)
	cover := []string{} // without any nothing is seen
	for _, k := range wanted {
		cover = append(cover, path.Join(prefix, strings.Replace(k, nodeName, "/"+node, 1)))
	}
	return prefix, cover
}

// Number writes a number, "" for 0.
func Number[T uint8 | uint16 | uint32](n T) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(n), 10)
}

// suffix is what names of a family's keys end in.
func suffix(f bgp.Family) string { return "v" + strconv.Itoa(int(f)) }

// optional gives a place below a value, unless that is empty.
func (d *dir) optional(value string, elements ...string) {
	if value != "" {
		d.set(value, elements...)
	}
}
