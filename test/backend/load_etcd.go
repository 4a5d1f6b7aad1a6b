package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Load puts documents into etcd as Calico keeps them there: its resources as they are,
// in JSON, and block affinities in their short form. What else there is stays. It returns
// the documents that etcd is no place for, those of Kubernetes itself, in YAML; "" when
// there are none.
func (e *Etcd) Load(t testing.TB, c *clientv3.Client, yamlText string) (kubernetes string) {
	t.Helper()
	_, kubernetes = e.load(t, c, yamlText)
	return kubernetes
}

// Replace is Load, and removes every other key of Calico's, so that etcd has what the
// documents say and no more. Keys that stay are not removed in between.
func (e *Etcd) Replace(t testing.TB, c *clientv3.Client, yamlText string) (kubernetes string) {
	t.Helper()
	keys, kubernetes := e.load(t, c, yamlText)
	Do(t, "remove the other keys", func(ctx context.Context) error {
		now, err := c.Get(ctx, rootKey, clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		for _, kv := range now.Kvs {
			if slices.Contains(keys, string(kv.Key)) {
				continue
			}
			if _, err := c.Delete(ctx, string(kv.Key)); err != nil {
				return err
			}
		}
		return nil
	})
	return kubernetes
}

func (e *Etcd) load(t testing.TB, c *clientv3.Client, yamlText string) (keys []string, kubernetes string) {
	t.Helper()
	docs, err := parse(yamlText)
	if err != nil {
		t.Fatal(err)
	}
	var values, others []string
	for _, doc := range docs {
		if !isCalico(doc) {
			text, err := yaml.Marshal(doc.Object)
			if err != nil {
				t.Fatal(err)
			}
			others = append(others, string(text))
			continue
		}
		key, value, err := inEtcd(doc)
		if err != nil {
			t.Fatal(err)
		}
		keys, values = append(keys, key), append(values, value)
	}
	Do(t, "load documents", func(ctx context.Context) error {
		for i, key := range keys {
			if _, err := c.Put(ctx, key, values[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return keys, strings.Join(others, "---\n")
}

// isCalico tells whether a document is of Calico's, in either group.
func isCalico(doc *unstructured.Unstructured) bool {
	return slices.Contains(Groups, doc.GetAPIVersion())
}

// inEtcd returns how Calico keeps a resource in etcd.
func inEtcd(doc *unstructured.Unstructured) (key, value string, err error) {
	if doc.GetKind() == "BlockAffinity" {
		return affinityInEtcd(doc)
	}
	plural, ok := calicoPlurals[doc.GetKind()]
	if doc.GetKind() == "Node" {
		plural, ok = "nodes", true
	}
	if !ok {
		return "", "", fmt.Errorf("it is not known where Calico keeps a %s", doc.GetKind())
	}
	content := unfolded(doc)
	content.SetAPIVersion("projectcalico.org/v3")
	data, err := json.Marshal(content.Object)
	return resourcesKey + plural + "/" + doc.GetName(), string(data), err
}

// affinityInEtcd returns the short form, which has no name: the node and the block are in
// the key.
func affinityInEtcd(doc *unstructured.Unstructured) (key, value string, err error) {
	node, cidr, virtual := affinityOf(doc)
	block, err := netip.ParsePrefix(cidr)
	if err != nil {
		return "", "", fmt.Errorf("the block of affinity %s: %w", doc.GetName(), err)
	}
	state, _, _ := unstructured.NestedString(doc.Object, "spec", "state")
	short := map[string]any{"deleted": affinityDeleted(doc)}
	if state != "" {
		short["state"] = state
	}
	data, err := json.Marshal(short)
	family := "ipv4"
	if block.Addr().Is6() {
		family = "ipv6"
	}
	place := affinitiesKey
	if virtual {
		place = strings.Replace(place, "/host/", "/virtual/", 1)
	}
	key = fmt.Sprintf("%s%s/%s/block/%s", place, node, family, strings.Replace(block.Masked().String(), "/", "-", 1))
	return key, string(data), err
}

func affinityOf(doc *unstructured.Unstructured) (node, cidr string, virtual bool) {
	node, _, _ = unstructured.NestedString(doc.Object, "spec", "node")
	cidr, _, _ = unstructured.NestedString(doc.Object, "spec", "cidr")
	kind, _, _ := unstructured.NestedString(doc.Object, "spec", "type")
	return node, cidr, kind == "virtual"
}

// affinityDeleted reads a mark that is a text in one group and a boolean in the other.
func affinityDeleted(doc *unstructured.Unstructured) bool {
	mark, _, _ := unstructured.NestedFieldNoCopy(doc.Object, "spec", "deleted")
	return mark == true || mark == "true"
}
