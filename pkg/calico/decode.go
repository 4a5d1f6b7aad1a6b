package calico

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Decode reads the resources of a YAML or JSON stream: several documents, objects of
// kind List and typed lists such as BGPPeerList. Each resource is read alone, so a bad
// one never spoils its neighbours; what is wrong comes back as Problems, sorted by
// place. Objects come in the order of the text. The name of the file is only used for
// positions.
func Decode(file string, data []byte) ([]Object, []Problem) {
	d := &decoder{file: file}
	d.stream(data)
	SortProblems(d.problems)
	return d.objects, d.problems
}

const (
	// maxAliased is how many values of one document may be reached through aliases, and
	// maxAliasDepth how many aliases may lead to one: enough for any file written by
	// hand, and little enough that a document built to explode does not.
	maxAliased    = 100_000
	maxAliasDepth = 32
	// maxListDepth is how deep lists may hold lists.
	maxListDepth = 4
)

// decoder collects what a stream holds.
type decoder struct {
	file string
	// whole tells that places inside the text mean nothing to anybody.
	whole    bool
	line     int // lines of the file before the nodes being read
	aliased  int // values of this document reached through aliases so far
	objects  []Object
	problems []Problem
}

// kindReader reads one kind in one API version.
type kindReader struct {
	// read returns nil when there is nothing to keep, reported or not.
	read func(*object, mapping) Object
	noun string // for messages: "the peer is left out"
	// namespaced kinds have a namespace, "default" when the text names none.
	namespaced bool
	// foreign kinds are Kubernetes' own: they have many fields that mean nothing here.
	foreign bool
	// sparse kinds come by the thousands: they remember only the positions that their
	// reader notes.
	sparse bool
	// verbatim kinds keep their spec as it was read.
	verbatim bool
	// hush keeps values out of messages.
	hush bool
}

const (
	calicoV3 = "projectcalico.org/v3"
	calicoV1 = "crd.projectcalico.org/v1"
	coreV1   = "v1"
)

// kindReaders holds the kinds that are read, by name and apiVersion.
var kindReaders = map[string]map[string]kindReader{
	"BGPConfiguration": calicoVersions(kindReader{read: readBGPConfiguration, noun: "configuration", verbatim: true}),
	"BGPPeer":          calicoVersions(kindReader{read: readBGPPeer, noun: "peer", verbatim: true}),
	"BGPFilter":        calicoVersions(kindReader{read: readBGPFilter, noun: "filter", verbatim: true}),
	"IPPool":           calicoVersions(kindReader{read: readIPPool, noun: "pool"}),
	"BlockAffinity":    calicoVersions(kindReader{read: readBlockAffinity, noun: "affinity", sparse: true}),
	"Node": {
		calicoV3: {read: readNode, noun: "node", sparse: true},
		coreV1:   {read: readKubernetesNode, noun: "node", sparse: true, foreign: true},
	},
	"Service": {
		coreV1: {read: readService, noun: "Service", sparse: true, foreign: true, namespaced: true},
	},
	"EndpointSlice": {
		"discovery.k8s.io/v1": {read: readEndpointSlice, noun: "EndpointSlice", sparse: true, foreign: true, namespaced: true},
	},
	"Secret": {
		coreV1: {read: readSecret, noun: "Secret", sparse: true, foreign: true, namespaced: true, hush: true},
	},
}

func calicoVersions(k kindReader) map[string]kindReader {
	return map[string]kindReader{calicoV3: k, calicoV1: k}
}

// document reads one document, the tree of which starts after line lines of the file.
func (d *decoder) document(root *yaml.Node, line int) {
	d.line, d.aliased = line, 0
	o := &object{d: d}
	v := value{o: o, fate: fate{text: "the document is left out"}}.child(root, "")
	if !v.null() {
		d.resource(v, "", "", 0)
	}
}

// resource reads an object or a list of them. Items of a typed list may leave out what
// the list says of them, hence the kind and the version to fall back on.
func (d *decoder) resource(v value, kind, version string, depth int) {
	if v.node.Kind != yaml.MappingNode {
		v.bad(RuleWrongType, v.typeName()+" stands where a resource belongs", "a resource is a mapping with apiVersion, kind, metadata and spec")
		return
	}
	m := v.mapping()
	kind, okKind := m.typeField("kind", kind)
	version, okVersion := m.typeField("apiVersion", version)
	if !okKind || !okVersion {
		return
	}
	o := v.o
	o.version, o.meta.Kind, o.meta.Origin.Position = version, kind, v.position()
	if item, isList := strings.CutSuffix(kind, "List"); isList && (item == "" || kindReaders[item] != nil) {
		d.list(m, item, version, depth)
		return
	}
	if d.recognize(m) {
		if object := o.read(m); object != nil && !o.lost {
			if o.verbatim {
				object.Common().Origin.Spec = m.spec()
			}
			d.objects = append(d.objects, object)
		}
	}
}

// spec is the field of that name as JSON; nil when there is none that can be.
func (m mapping) spec() []byte {
	v, ok := m.get("spec")
	if !ok {
		return nil
	}
	var spec map[string]any
	if v.node.Decode(&spec) != nil {
		return nil // a merge or a key that JSON does not have
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil
	}
	return text
}

// typeField reads kind or apiVersion, which decide how all the rest is read.
func (m mapping) typeField(name, fallback string) (string, bool) {
	v, ok := m.get(name)
	switch v = v.with(m.fate); {
	case ok:
		s, ok := v.text()
		if ok && s == "" {
			v.bad(RuleMissingField, name+" is empty", "")
		}
		return s, ok && s != ""
	case fallback == "":
		m.missing(name, "")
		return "", false
	}
	return fallback, true
}

// recognize finds the reader for an object and reports when there is none.
func (d *decoder) recognize(m mapping) bool {
	o := m.o
	versions, ours := kindReaders[o.meta.Kind]
	if k, ok := versions[o.version]; ours && ok {
		o.kindReader = k
		return true
	}
	// For these messages the name is only looked at, and taken if it can be shown.
	if md, ok := m.get("metadata"); ok && md.node.Kind == yaml.MappingNode {
		if name, ok := md.mapping().get("name"); ok && checkName(name.node.Value) == nil {
			o.meta.Name = name.node.Value
		}
	}
	kind := plain(o.meta.Kind)
	o.meta.Kind = kind
	near := nearKind(kind)
	switch {
	case ours && d.ourGroup(o.version):
		want := sortedKeys(versions)
		slices.SortStableFunc(want, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
		m.field("apiVersion").report(Error, RuleUnknownVersion,
			fmt.Sprintf("%s is not a version of %s that is read here; the object is left out", quote(o.version), kind),
			"write apiVersion: "+strings.Join(want, " or "))
	case ours || near == "":
		m.report(Info, RuleUnknownKind, fmt.Sprintf("%s of %s is not read", kind, plain(o.version)), "")
	default:
		m.field("kind").report(Error, RuleUnknownKind, "there is no such kind; the object is left out", fmt.Sprintf("did you mean %q?", near))
	}
	return false
}

// nearKind returns the kind of ours that another one is a slip of, or "". Kinds are long
// and end alike, so at most two letters may differ: FelixConfiguration is no slip.
func nearKind(kind string) string {
	const slips = 2
	item, isList := strings.CutSuffix(kind, "List")
	near := closest(item, append(sortedKeys(kindReaders), "List"))
	if near == "" || editDistance(strings.ToLower(item), strings.ToLower(near), slips) > slips {
		return ""
	}
	if isList {
		near += "List"
	}
	return near
}

// rank puts the version to recommend first.
func rank(version string) int {
	if version == calicoV3 {
		return 0
	}
	return 1
}

// ourGroup tells whether an apiVersion belongs to, or looks like a slip of, one of the
// groups that are read. MetalLB has a BGPPeer and Knative a Service too: those are not
// mistakes.
func (d *decoder) ourGroup(version string) bool {
	group, _, ok := strings.Cut(version, "/")
	return !ok || closest(group, []string{"projectcalico.org", "crd.projectcalico.org", "discovery.k8s.io"}) != ""
}

// itemList is a list while it is read.
type itemList struct {
	items value
	found bool
}

var listFields = fields[itemList]{
	"apiVersion": skip[itemList],
	"kind":       skip[itemList],
	"metadata":   skip[itemList],
	"items":      func(l *itemList, v value) { l.items, l.found = v, true },
}

func (d *decoder) list(m mapping, kind, version string, depth int) {
	if depth == maxListDepth {
		m.bad(RuleSyntax, fmt.Sprintf("lists are nested more than %d deep", maxListDepth), "")
		return
	}
	if kind == "" {
		version = ""
	}
	m.o.sparse = true
	var l itemList
	listFields.readFrom(&l, m)
	if !l.found {
		if _, given := m.find("items"); !given {
			m.missing("items", "")
		}
		return
	}
	for _, item := range l.items.entries() {
		if item.null() {
			continue
		}
		// Each item is a resource of its own, whose paths start afresh.
		item.o, item.path, item.fate = &object{d: d}, "", fate{text: "this item of the list is left out"}
		d.resource(item, kind, version, depth+1)
	}
}
