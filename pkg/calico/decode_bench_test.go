package calico

import (
	"bytes"
	"fmt"
	"testing"
)

// manyNodes is a stream of Calico Nodes.
func manyNodes(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `---
apiVersion: projectcalico.org/v3
kind: Node
metadata:
  name: worker-%d
  labels:
    kubernetes.io/hostname: worker-%d
    rack: r%d
spec:
  bgp:
    ipv4Address: 10.%d.%d.1/16
    ipv6Address: fd00:%x::1/64
    asNumber: 65001
  orchRefs:
  - nodeName: worker-%d
    orchestrator: k8s
`, i, i, i%40, i/250, i%250, i, i)
	}
	return b.Bytes()
}

func BenchmarkDecodeNodes(b *testing.B) {
	const nodes = 5000
	yaml := manyNodes(nodes)
	var json bytes.Buffer
	json.WriteString(`{"kind":"NodeList","apiVersion":"projectcalico.org/v3","items":[`)
	for i := range nodes {
		if i > 0 {
			json.WriteByte(',')
		}
		fmt.Fprintf(&json, `{"metadata":{"name":"worker-%d","uid":"8b1c","creationTimestamp":"2026-05-02T08:11:09Z","labels":{"kubernetes.io/hostname":"worker-%d","rack":"r1"}},`+
			`"spec":{"bgp":{"asNumber":65001,"ipv4Address":"10.%d.%d.1/16","ipv6Address":"fd00:%x::1/64"},"orchRefs":[{"nodeName":"worker-%d","orchestrator":"k8s"}]}}`, i, i, i/250, i%250, i, i)
	}
	json.WriteString("]}")
	for _, input := range []struct {
		name string
		data []byte
	}{{"yaml", yaml}, {"json", json.Bytes()}} {
		b.Run(input.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(input.data)))
			for b.Loop() {
				if objects, problems := Decode("nodes", input.data); len(objects) != nodes || len(problems) > 0 {
					b.Fatalf("%d objects, %v", len(objects), problems)
				}
			}
		})
	}
}
