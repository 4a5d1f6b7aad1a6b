package calico

import (
	"encoding/json"
	"net/netip"
	"strings"
)

// calicoNodeAnnotations are the annotations in which Calico keeps its part of a
// Kubernetes Node. An address that is bad is an Error, as it costs the node its
// sessions; anything else that is bad counts as unset, as it does for Calico.
var calicoNodeAnnotations = fields[kubernetesNode]{
	"projectcalico.org/IPv4Address": func(n *kubernetesNode, v value) {
		v.o.note(v.path, v.position())
		n.IPv4, n.BadIPv4 = v.nodeAddr(4)
	},
	"projectcalico.org/IPv6Address": func(n *kubernetesNode, v value) {
		v.o.note(v.path, v.position())
		n.IPv6, n.BadIPv6 = v.nodeAddr(6)
	},
	"projectcalico.org/ASNumber":                   func(n *kubernetesNode, v value) { n.ASNumber = v.annotatedAS() },
	"projectcalico.org/RouteReflectorClusterID":    func(n *kubernetesNode, v value) { n.ClusterID = v.annotatedClusterID() },
	"projectcalico.org/IPv4WireguardInterfaceAddr": func(n *kubernetesNode, v value) { n.WireguardIPv4 = v.annotatedAddr(4) },
	"projectcalico.org/IPv6WireguardInterfaceAddr": func(n *kubernetesNode, v value) { n.WireguardIPv6 = v.annotatedAddr(6) },
	"projectcalico.org/labels":                     func(n *kubernetesNode, v value) { n.calicoLabels = v.annotatedLabels() },
}

// kubernetesNode is a Kubernetes Node while it is read.
type kubernetesNode struct {
	Node
	calicoLabels map[string]string
}

var kubernetesNodeRoot = fields[kubernetesNode]{
	"spec": fields[kubernetesNode]{
		"podCIDRs": func(n *kubernetesNode, v value) { n.PodCIDRs = v.prefixes() },
	}.known,
	"status": fields[kubernetesNode]{"conditions": readConditions}.known,
}

// readConditions looks for the one that tells whether the node is ready.
func readConditions(n *kubernetesNode, v value) {
	for _, e := range v.entries() {
		var c nodeCondition
		nodeConditionFields.known(&c, e)
		if c.kind != "Ready" && strings.EqualFold(c.kind, "Ready") {
			e.report(Warning, RuleEnum, "a condition of this type means nothing; the node counts as ready", "write it as Ready")
		}
		if c.kind == "Ready" && c.status.node == nil {
			e.report(Warning, RuleMissingField, "the condition has no status; the node counts as ready", "")
		}
		if c.kind == "Ready" && c.status.node != nil {
			word := c.status.or("the node counts as ready").oneOf("True", "False", "Unknown")
			n.NotReady = word == "False" || word == "Unknown"
		}
	}
}

// nodeCondition is one of the conditions of a Kubernetes Node.
type nodeCondition struct {
	kind   string
	status value
}

// Times are not among them: they change with each heartbeat.
var nodeConditionFields = fields[nodeCondition]{
	"type":   func(c *nodeCondition, v value) { c.kind, _ = v.text() },
	"status": func(c *nodeCondition, v value) { c.status = v },
}

// readKubernetesNode makes of a Kubernetes Node what Calico makes of it.
func readKubernetesNode(o *object, m mapping) Object {
	n := &kubernetesNode{Node: Node{Kubernetes: true}}
	kubernetesNodeRoot.readKnown(n, m)
	for _, p := range o.annotations.pairs {
		if into, ok := calicoNodeAnnotations[p.name]; ok {
			v := o.annotations.of(p)
			v.path = annotationPath(p.name)
			known := len(o.d.problems)
			into(n, v)
			if _, isText := o.meta.Annotations[p.name]; !isText {
				o.d.problems = o.d.problems[:known] // the same was reported with the annotations
			}
		}
	}
	n.Meta = o.meta
	n.Annotations = nil
	n.Labels = overlay(n.calicoLabels, o.meta.Labels)
	return &n.Node
}

// annotation reads the text of an annotation with one of the parsers of this package. A
// bad one gives the zero value.
func annotation[T any](v value, parse func(string) (T, *fault)) T {
	var none T
	s, ok := v.text()
	if !ok || s == "" {
		return none
	}
	t, f := parse(s)
	if f != nil {
		v.report(Error, f.rule, v.show(s)+" "+f.what+"; it counts as unset", f.hint)
		return none
	}
	return t
}

func (v value) annotatedAS() uint32 {
	return annotation(v, func(s string) (uint32, *fault) {
		n, f := parseASNumber(s)
		if f == nil && n == 0 {
			f = &fault{RuleRange, "is outside 1 to 4294967295", ""}
		}
		return n, f
	})
}

func (v value) annotatedAddr(want family) netip.Addr {
	return annotation(v, func(s string) (netip.Addr, *fault) { return parseAddr(s, want) })
}

// annotatedClusterID takes a masked CIDR for its address, as Calico does.
func (v value) annotatedClusterID() netip.Addr {
	return annotation(v, func(s string) (netip.Addr, *fault) {
		p, err := netip.ParsePrefix(s)
		if err == nil && p == p.Masked() {
			s = p.Addr().String()
		}
		return parseAddr(s, 4)
	})
}

func (v value) annotatedLabels() map[string]string {
	return annotation(v, func(s string) (map[string]string, *fault) {
		var labels map[string]string
		if json.Unmarshal([]byte(s), &labels) != nil {
			return nil, &fault{RuleMetadata, "is not a JSON mapping of labels", ""}
		}
		return labels, nil
	})
}
