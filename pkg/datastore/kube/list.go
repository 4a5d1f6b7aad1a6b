package kube

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// slimList is a list whose objects are slim.
type slimList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*slim
}

// DeepCopyObject implements runtime.Object. Nobody changes such a list.
func (l *slimList) DeepCopyObject() runtime.Object { return l }

// DeepCopyObject implements runtime.Object.
func (s *slim) DeepCopyObject() runtime.Object { return s }

// GetObjectKind implements runtime.Object.
func (s *slim) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// protobufPrefix is what answers in protobuf begin with.
var protobufPrefix = []byte("k8s\x00")

// message is a kind of the scheme as protobuf.
type message interface {
	runtime.Object
	Unmarshal([]byte) error
}

// listSlim asks for a list and makes its objects slim as they come in, so that they are never
// all there at full length: thousands of nodes take more than 100 MB.
func listSlim(ctx context.Context, request *rest.Request, one func() message) (runtime.Object, error) {
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	in := bufio.NewReaderSize(body, 64<<10)
	if start, _ := in.Peek(len(protobufPrefix)); !bytes.Equal(start, protobufPrefix) { // a server that only has JSON
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}
		return runtime.Decode(codecs.UniversalDeserializer(), data)
	}
	_, _ = in.Discard(len(protobufPrefix)) // they have been looked at
	list, err := decodeList(in, one)
	if err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return list, nil
}

// Numbers of fields (k8s.io/apimachinery and k8s.io/api, generated.proto): of the envelope
// that every answer is in, and of all lists.
const (
	fieldRaw      = 2
	fieldMetadata = 1
	fieldItems    = 2
)

// maxField bounds a field: etcd takes no object of a megabyte and a half.
const maxField = 16 << 20

// decodeList reads an answer after its prefix.
func decodeList(in *bufio.Reader, one func() message) (*slimList, error) {
	list := &slimList{}
	complete := false
	err := fields(in, func(number protowire.Number, length int64) error {
		if number != fieldRaw {
			return skip(in, length)
		}
		complete = true
		limited := &io.LimitedReader{R: in, N: length}
		raw := bufio.NewReader(limited)
		err := fields(raw, func(number protowire.Number, length int64) error {
			if number != fieldMetadata && number != fieldItems {
				return skip(raw, length)
			}
			if length > maxField {
				return fmt.Errorf("an object of %d bytes", length)
			}
			data := make([]byte, length)
			if _, err := io.ReadFull(raw, data); err != nil {
				return err
			}
			if number == fieldMetadata {
				return list.ListMeta.Unmarshal(data)
			}
			return list.add(one(), data)
		})
		if err == nil && limited.N > 0 {
			err = io.ErrUnexpectedEOF // it would pass for a shorter list
		}
		return err
	})
	if err == nil && !complete {
		err = io.ErrUnexpectedEOF
	}
	return list, err
}

func (l *slimList) add(o message, data []byte) error {
	if err := o.Unmarshal(data); err != nil {
		return err
	}
	s, err := cut(o)
	if err == nil {
		l.Items = append(l.Items, s)
	}
	return err
}

// fields walks over the fields of a message, all of which have a length.
func fields(in *bufio.Reader, each func(number protowire.Number, length int64) error) error {
	for {
		tag, err := binary.ReadUvarint(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		number, kind := protowire.DecodeTag(tag)
		if kind != protowire.BytesType {
			return fmt.Errorf("field %d is not what lists have", number)
		}
		length, err := binary.ReadUvarint(in)
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		if length > 1<<40 {
			return fmt.Errorf("field %d has %d bytes", number, length)
		}
		if err := each(number, int64(length)); err != nil {
			return err
		}
	}
}

func skip(in *bufio.Reader, length int64) error {
	_, err := io.CopyN(io.Discard, in, length)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
