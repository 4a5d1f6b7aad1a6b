package kube

import (
	"bufio"
	"bytes"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

func TestDecodeList(t *testing.T) {
	in := &corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "more"}}
	for _, name := range []string{"a", "b"} {
		in.Items = append(in.Items, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "5", Labels: map[string]string{"x": name}},
			Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: []string{"image"}}}}})
	}
	var data bytes.Buffer
	if err := protobuf.NewSerializer(scheme, scheme).Encode(in, &data); err != nil {
		t.Fatal(err)
	}
	one := func() message { return &corev1.Node{} }
	decode := func(data []byte) (*slimList, error) {
		return decodeList(bufio.NewReader(iotest.OneByteReader(bytes.NewReader(data))), one)
	}
	whole := data.Bytes()[len(protobufPrefix):]
	got, err := decode(whole)
	if err != nil {
		t.Fatal(err)
	}
	// As a reflector takes it apart.
	list, err := meta.ExtractListWithAlloc(runtime.Object(got))
	if err != nil || len(list) != 2 || meta.LenList(got) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	for i, o := range list {
		want, err := cut(&in.Items[i])
		if err != nil {
			t.Fatal(err)
		}
		if s := o.(*slim); s.Name != in.Items[i].Name || s.ResourceVersion != "5" || !bytes.Equal(s.data, want.data) {
			t.Errorf("%s: %s, want %s", s.Name, s.data, want.data)
		}
	}
	if m, err := meta.ListAccessor(got); err != nil || m.GetResourceVersion() != "7" || m.GetContinue() != "more" {
		t.Errorf("%+v, %v", m, err)
	}
	// Cut off anywhere it is an error, and not a shorter list. What comes after the list, about
	// its encoding, does not matter.
	for n := range whole {
		if part, err := decode(whole[:n]); err == nil && len(part.Items) != 2 {
			t.Errorf("%d of %d bytes give %d items", n, len(whole), len(part.Items))
		}
	}
}
