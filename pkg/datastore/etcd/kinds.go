package etcd

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/birdconfd/birdconfd/pkg/calico"
	"github.com/birdconfd/birdconfd/pkg/datastore/internal/live"
)

const (
	resources  = "/calico/resources/v3/projectcalico.org/"
	affinities = "/calico/ipam/v2/host/"
	calicoV3   = "projectcalico.org/v3"
)

// kind is one list of keys: those below a prefix that ends in a slash, so that the keys of
// node-10 are not among those of node-1.
type kind struct {
	prefix string
	part   *live.Part
	// ours tells whether a key is of this kind at all.
	ours func(key string) bool
	// next is the revision that has not been seen yet.
	next int64
}

// kinds adds a part to the store for each kind.
func kinds(store *live.Store, o Options) []*kind {
	var all []*kind
	for _, k := range []struct{ plural, name string }{
		{"bgpconfigurations", "BGPConfiguration"}, {"bgppeers", "BGPPeer"}, {"bgpfilters", "BGPFilter"},
		{"ippools", "IPPool"}, {"nodes", "Node"},
	} {
		prefix := resources + k.plural + "/"
		all = append(all, &kind{prefix: prefix,
			ours: func(key string) bool {
				name := strings.TrimPrefix(key, prefix)
				return name != "" && !strings.Contains(name, "/")
			},
			part: store.Part(live.PartOptions{Name: k.name + "s", HoldEmpty: o.HoldEmpty, Vital: vital(k.plural, prefix), Decode: func(i live.Item) (calico.Object, []calico.Problem) {
				return decodeResource(k.name, i.Key, strings.TrimPrefix(i.Key, prefix), i.Data)
			}})})
	}
	if !o.UsePodCIDR {
		prefix := affinities + o.Node + "/"
		all = append(all, &kind{prefix: prefix,
			ours: func(key string) bool { _, ok := blockOf(strings.TrimPrefix(key, prefix)); return ok },
			part: store.Part(live.PartOptions{Name: "BlockAffinities", HoldEmpty: o.HoldEmpty, Decode: func(i live.Item) (calico.Object, []calico.Problem) {
				cidr, _ := blockOf(strings.TrimPrefix(i.Key, prefix))
				return decodeAffinity(i.Key, o.Node, cidr, i.Data)
			}})})
	}
	return all
}

// vital is for the BGPConfiguration with the settings of all nodes: without it there are other
// AS numbers, and a mesh.
func vital(plural, prefix string) func(string) bool {
	if plural != "bgpconfigurations" {
		return nil
	}
	return func(key string) bool { return key == prefix+"default" }
}

// decodeResource reads one of the resources that etcd has as a document of its own. What the
// document says of itself must be what the key says.
func decodeResource(kind, key, name string, data []byte) (calico.Object, []calico.Problem) {
	var head struct {
		Kind       string
		APIVersion string
		Metadata   struct{ Name string }
	}
	var fault string
	switch err := json.Unmarshal(data, &head); {
	case err != nil: // calico.DecodeObject says what is wrong
	case head.Kind != kind || head.APIVersion != calicoV3:
		fault = fmt.Sprintf("the value is not a %s of %s", kind, calicoV3)
	case head.Metadata.Name != name:
		fault = fmt.Sprintf("the value has another name than its key, %.253q", head.Metadata.Name)
	}
	if fault != "" {
		return nil, []calico.Problem{{Severity: calico.Error, Rule: calico.RuleName, Resource: kind + "/" + calico.Printable(name),
			Position: calico.Position{File: key}, Message: fault + "; it is left out", Hint: "write it again with calicoctl"}}
	}
	return calico.DecodeObject(key, data)
}

// blockOf reads the end of an affinity's key, such as ipv4/block/10.244.1.0-26.
func blockOf(end string) (cidr string, ok bool) {
	parts := strings.Split(end, "/")
	if len(parts) != 3 || parts[0] != "ipv4" && parts[0] != "ipv6" || parts[1] != "block" {
		return "", false
	}
	address, length, ok := strings.Cut(parts[2], "-")
	return address + "/" + length, ok
}

// decodeAffinity reads the short form that affinities have in etcd. An empty value is old and
// means that the block is confirmed.
func decodeAffinity(key, node, cidr string, data []byte) (calico.Object, []calico.Problem) {
	var value struct {
		State   string `json:"state"`
		Deleted bool   `json:"deleted"`
	}
	if len(data) > 0 && json.Unmarshal(data, &value) != nil {
		return nil, []calico.Problem{{Severity: calico.Error, Rule: calico.RuleSyntax, Position: calico.Position{File: key},
			Message: "the value is not the state of a block affinity in JSON; it is left out"}}
	}
	type metadata struct {
		Name string `json:"name"`
	}
	type spec struct {
		Node    string `json:"node"`
		CIDR    string `json:"cidr"`
		State   string `json:"state"`
		Deleted bool   `json:"deleted"`
	}
	document, err := json.Marshal(struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Metadata   metadata `json:"metadata"`
		Spec       spec     `json:"spec"`
	}{calicoV3, "BlockAffinity", metadata{affinityName(node, cidr)}, spec{node, cidr, value.State, value.Deleted}})
	if err != nil {
		panic(err) // texts and a bool always make JSON
	}
	return calico.DecodeObject(key, document)
}

// affinityName is the name that an affinity has where it is a resource.
func affinityName(node, cidr string) string {
	return node + "-" + strings.Trim(strings.NewReplacer(".", "-", ":", "-", "/", "-").Replace(cidr), "-")
}
