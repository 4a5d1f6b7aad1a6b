package backend

import (
	"crypto/sha3"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// LeftOut is a document that an API server does not take, and why.
type LeftOut struct {
	Kind, Name string
	Reason     string // what the server has said, or this package
}

// metadataAnnotation is where clients of Calico put an object's own metadata in the group v1.
const metadataAnnotation = "projectcalico.org/metadata"

// Load is TryLoad for documents that the server must take.
func (k *Kube) Load(t testing.TB, group, yamlText string) {
	t.Helper()
	for _, left := range k.TryLoad(t, group, yamlText) {
		t.Fatalf("%s %s: %s", left.Kind, left.Name, left.Reason)
	}
}

// TryLoad puts documents into an API server as a cluster has them: Calico's resources as
// objects of GroupV1 or GroupV3, whose CRDs must be installed, Calico's Nodes as Nodes of
// Kubernetes with annotations, and objects of Kubernetes as they are, with their status, but
// for a Service without ports, which gets one. What else there is stays. It returns the
// documents that cannot be had this way.
func (k *Kube) TryLoad(t testing.TB, group, yamlText string) []LeftOut {
	t.Helper()
	_, left := k.loadAll(t, group, yamlText)
	return left
}

// Replace is TryLoad, and removes all other objects that birdconfd reads, of both groups.
// Those that stay are not removed in between.
func (k *Kube) Replace(t testing.TB, group, yamlText string) []LeftOut {
	t.Helper()
	keep, left := k.loadAll(t, group, yamlText)
	if err := k.clearObjects(Groups, keep); err != nil {
		t.Fatal(err)
	}
	return left
}

// place is where an object is.
type place struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

func (k *Kube) loadAll(t testing.TB, group, yamlText string) (map[place]bool, []LeftOut) {
	t.Helper()
	gv, err := groupVersion(group)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := parse(yamlText)
	if err != nil {
		t.Fatal(err)
	}
	loaded := map[place]bool{}
	var left []LeftOut
	for _, doc := range docs {
		reason, err := k.load(gv, doc, loaded)
		if err != nil {
			t.Fatal(err)
		}
		if reason != "" {
			left = append(left, LeftOut{doc.GetKind(), doc.GetName(), reason})
		}
	}
	return loaded, left
}

// load puts one document into the server, or returns why that cannot be.
func (k *Kube) load(gv schema.GroupVersion, doc *unstructured.Unstructured, loaded map[place]bool) (reason string, err error) {
	o, err := inKube(gv, doc)
	if err != nil {
		return err.Error(), nil
	}
	info, err := kindOf(o.GroupVersionKind())
	if err != nil {
		return "", err
	}
	at := placeOf(info, o)
	if loaded[at] {
		return "there is another of this kind and name", nil
	}
	err = k.apply(o)
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) {
		return err.Error(), nil
	}
	loaded[at] = err == nil
	return "", err
}

func placeOf(info kindInfo, o *unstructured.Unstructured) place {
	at := place{info.resource, o.GetNamespace(), o.GetName()}
	if info.namespaced && at.namespace == "" {
		at.namespace = "default"
	}
	return at
}

// inKube returns how a cluster has a document.
func inKube(gv schema.GroupVersion, doc *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if !isCalico(doc) {
		if doc.GetKind() == "Service" {
			addPort(doc)
		}
		return doc, nil
	}
	doc = unfolded(doc)
	if doc.GetKind() == "Node" {
		return nodeInKube(doc)
	}
	if doc.GetKind() == "BlockAffinity" {
		if err := completeAffinity(gv, doc); err != nil {
			return nil, err
		}
	}
	if gv.String() == GroupV1 {
		if err := fold(doc); err != nil {
			return nil, err
		}
	}
	doc.SetAPIVersion(gv.String())
	return doc, nil
}

// addPort gives a Service the port without which no API server takes it.
func addPort(doc *unstructured.Unstructured) {
	spec, ok := doc.Object["spec"].(map[string]any)
	if ok && spec["ports"] == nil && spec["type"] != "ExternalName" {
		spec["ports"] = []any{map[string]any{"port": int64(80)}}
	}
}

// staysOutside tells which labels and annotations Calico's clients leave on the object itself.
func staysOutside(key string) bool {
	return strings.Contains(key, "projectcalico.org/") || strings.Contains(key, "operator.tigera.io/")
}

// fold puts labels and annotations into the one annotation of the group v1, if there are any.
func fold(doc *unstructured.Unstructured) error {
	inside, outside := split(doc.GetLabels())
	insideNotes, outsideNotes := split(doc.GetAnnotations())
	if len(inside)+len(insideNotes) > 0 {
		folded, err := json.Marshal(map[string]any{"creationTimestamp": nil, "labels": inside, "annotations": insideNotes})
		if err != nil {
			return err
		}
		outsideNotes[metadataAnnotation] = string(folded)
	}
	doc.SetLabels(outside)
	doc.SetAnnotations(outsideNotes)
	return nil
}

func split(all map[string]string) (inside, outside map[string]string) {
	inside, outside = map[string]string{}, map[string]string{}
	for key, value := range all {
		if staysOutside(key) {
			outside[key] = value
		} else {
			inside[key] = value
		}
	}
	return inside, outside
}

// unfolded is the reverse of fold, on a copy.
func unfolded(doc *unstructured.Unstructured) *unstructured.Unstructured {
	doc = doc.DeepCopy()
	notes := doc.GetAnnotations()
	folded, has := notes[metadataAnnotation]
	var meta struct{ Labels, Annotations map[string]string }
	if !has || json.Unmarshal([]byte(folded), &meta) != nil {
		return doc
	}
	labels := doc.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	delete(notes, metadataAnnotation)
	maps.Copy(labels, meta.Labels)
	maps.Copy(notes, meta.Annotations)
	doc.SetLabels(labels)
	doc.SetAnnotations(notes)
	return doc
}

// completeAffinity adds what Calico's address management writes.
func completeAffinity(gv schema.GroupVersion, doc *unstructured.Unstructured) error {
	node, cidr, virtual := affinityOf(doc)
	spec, ok := doc.Object["spec"].(map[string]any)
	if !ok {
		return fmt.Errorf("it has no spec")
	}
	spec["deleted"] = affinityDeleted(doc)
	if gv.String() == GroupV1 {
		spec["deleted"] = fmt.Sprint(spec["deleted"])
	}
	labels := doc.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["projectcalico.org/hostname-hash"] = HostnameHash(node)
	labels["projectcalico.org/affinity-type"] = "host"
	if virtual {
		labels["projectcalico.org/affinity-type"] = "virtual"
	}
	if block, err := netip.ParsePrefix(cidr); err == nil {
		labels["projectcalico.org/ip-version"] = "4"
		if block.Addr().Is6() {
			labels["projectcalico.org/ip-version"] = "6"
		}
	}
	doc.SetLabels(labels)
	return nil
}

// HostnameHash returns the value of the label that says which node a block affinity is of.
func HostnameHash(node string) string {
	sum := sha3.Sum256([]byte(node))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
}
