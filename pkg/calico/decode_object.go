package calico

import (
	"encoding/json"
	"strings"
)

// object is a resource being read: who it is so far, and whether it can be kept.
type object struct {
	d       *decoder
	version string
	kindReader
	meta Meta
	// annotations are the object's own, with their positions.
	annotations mapping
	// suggested counts the words for which a better one was looked up.
	suggested int
	// lost tells that something is wrong without which the object makes no sense.
	lost bool
}

// read fills in the metadata and has the kind's reader do the rest.
func (o *object) read(m mapping) Object {
	m.fate, m.hush = o.fate(), o.hush
	m.fate.whole = false
	if !o.readMetadata(m) {
		return nil
	}
	return o.kindReader.read(o, m)
}

// fate is that of the whole object.
func (o *object) fate() fate {
	return fate{text: "the " + o.noun + " is left out", lost: &o.lost, whole: true}
}

// resource names the object in Problems as well as it is known.
func (o *object) resource() string {
	if o.meta.Name == "" {
		return o.meta.Kind
	}
	return o.meta.ID.String()
}

// suggest is DidYouMean for words that there may be any number of: who has made twenty
// slips in one object needs no hint for the rest, and hints take their time.
func (o *object) suggest(word string, candidates []string) string {
	const enough = 20
	if o.suggested++; o.suggested > enough {
		return ""
	}
	return DidYouMean(word, candidates)
}

// note remembers where a field stands.
func (o *object) note(path string, p Position) {
	if o.d.whole {
		return
	}
	if o.meta.Origin.fields == nil {
		o.meta.Origin.fields = map[string]Position{}
	}
	o.meta.Origin.fields[path] = p
}

// report adds a Problem about a field that was read, or about where it would be.
func (o *object) report(s Severity, rule, field, message, hint string) {
	o.d.problems = append(o.d.problems, o.meta.Problem(s, rule, field, message, hint))
}

// reject reports what makes the whole object useless.
func (o *object) reject(rule, field, message, hint string) {
	f := o.fate()
	o.report(Error, rule, field, message+"; "+f.text, hint)
	o.lost = true
}

// metadataReader is metadata while it is read.
type metadataReader struct {
	labels, annotations map[string]string
	annotationPairs     mapping
}

var metadataFields = fields[metadataReader]{
	// These two are read before all others, so that messages can have them.
	"name": skip[metadataReader], "namespace": skip[metadataReader],
	"labels": func(m *metadataReader, v value) { m.labels = v.mapping().stringMap() },
	"annotations": func(m *metadataReader, v value) {
		m.annotationPairs = v.mapping()
		m.annotations = m.annotationPairs.stringMap()
	},
	"uid": skip[metadataReader], "resourceVersion": skip[metadataReader],
	"creationTimestamp": skip[metadataReader], "generation": skip[metadataReader],
	"managedFields": skip[metadataReader], "ownerReferences": skip[metadataReader],
	"finalizers": skip[metadataReader], "selfLink": skip[metadataReader],
	"generateName": skip[metadataReader], "deletionTimestamp": skip[metadataReader],
	"deletionGracePeriodSeconds": skip[metadataReader],
}

// readMetadata reports whether the object has a usable name.
func (o *object) readMetadata(m mapping) bool {
	v, ok := m.get("metadata")
	if !ok {
		m.missing("metadata.name", "")
		return false
	}
	v.fate = o.fate()
	v.fate.whole = false
	md := v.mapping()
	md.require("name")
	if name, ok := md.get("name"); ok {
		o.meta.Name = name.essential().name()
	}
	if o.namespaced {
		o.meta.Namespace = "default" // as kubectl has it
		if namespace, ok := md.get("namespace"); ok {
			o.meta.Namespace = namespace.essential().name()
		}
	}
	if o.lost {
		return false
	}
	var r metadataReader
	if o.foreign {
		metadataFields.readKnown(&r, md)
	} else {
		metadataFields.readFrom(&r, md)
	}
	o.annotations = r.annotationPairs
	if !o.unfold(&r) || o.lost {
		return false
	}
	o.meta.Labels, o.meta.Annotations = r.labels, r.annotations
	return true
}

const (
	// foldedMetadata is the annotation in which a crd.projectcalico.org/v1 object
	// carries the metadata it has in projectcalico.org/v3.
	foldedMetadata = "projectcalico.org/metadata"
	// lastApplied is kubectl's copy of the whole object.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// unfold gives a v1 object the labels and annotations of v3, and drops annotations that
// only repeat the object. It reports false if they cannot be read.
func (o *object) unfold(r *metadataReader) bool {
	if text, ok := r.annotations[foldedMetadata]; ok && o.version == calicoV1 {
		var inner struct {
			Labels, Annotations map[string]string
		}
		path := annotationPath(foldedMetadata)
		if json.Unmarshal([]byte(text), &inner) != nil {
			o.reject(RuleMetadata, path, "the annotation does not hold metadata in JSON, so the object's own labels and annotations are unknown",
				"write the object again with calicoctl")
			return false
		}
		r.labels = overlay(r.labels, inner.Labels)
		r.annotations = overlay(r.annotations, inner.Annotations)
		for key := range inner.Annotations {
			if strings.HasPrefix(key, ownAnnotations) {
				o.note(annotationPath(key), o.meta.Origin.At(path))
			}
		}
	}
	delete(r.annotations, foldedMetadata)
	delete(r.annotations, lastApplied)
	return true
}

// overlay adds the entries of top to those of base.
func overlay(base, top map[string]string) map[string]string {
	if base == nil {
		return top
	}
	for key, value := range top {
		base[key] = value
	}
	return base
}
