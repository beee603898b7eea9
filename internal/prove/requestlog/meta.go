package requestlog

import (
	"bytes"
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Meta is the metadata of an object or a list.
type Meta struct {
	Kind            string
	Namespace       string
	Name            string
	ResourceVersion string
	// Deleting means that the deletion of the object was requested and waits for finalizers.
	Deleting bool
}

// MetaOf returns the metadata of the object or list in a body with a content type.
//
// Guarantees: it needs the body only up to the end of the metadata.
// It returns false if it finds no metadata.
// Caveats: YAML is supported only if it is also JSON.
func MetaOf(contentType string, body []byte) (Meta, bool) {
	switch bare := mediaType(contentType); {
	case bare == runtime.ContentTypeProtobuf:
		return ofProtobuf(body)
	case strings.HasSuffix(bare, "json") || strings.HasSuffix(bare, "yaml"):
		return ofJSON(body)
	}
	return Meta{}, false
}

func ofJSON(body []byte) (meta Meta, found bool) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return meta, false
	}
	for decoder.More() && (!found || meta.Kind == "") {
		key, err := decoder.Token()
		if err != nil {
			break
		}
		var into any = &json.RawMessage{}
		var object metav1.PartialObjectMetadata
		switch key {
		case "kind":
			into = &meta.Kind
		case "metadata":
			into = &object.ObjectMeta
		}
		if err := decoder.Decode(into); err != nil {
			break
		}
		if key == "metadata" {
			found = true
			meta.of(&object.ObjectMeta)
		}
	}
	return meta, found
}

func (m *Meta) of(object *metav1.ObjectMeta) {
	m.Namespace, m.Name, m.ResourceVersion = object.Namespace, object.Name, object.ResourceVersion
	m.Deleting = object.DeletionTimestamp != nil
}

// magic is the prefix of each body in protobuf.
var magic = []byte("k8s\x00")

// ofProtobuf reads the envelope: its first field is the kind, and its second field is the object. In
// each object and list, the first field is the metadata.
func ofProtobuf(body []byte) (meta Meta, found bool) {
	envelope, ok := bytes.CutPrefix(body, magic)
	if !ok {
		return meta, false
	}
	kind, envelope := field(envelope, 1)
	var named runtime.TypeMeta
	if err := (&named).Unmarshal(kind); err != nil {
		return meta, false
	}
	meta.Kind = named.Kind
	object, _ := field(envelope, 2)
	head, _ := field(object, 1)
	if head == nil {
		return meta, false
	}
	if strings.HasSuffix(meta.Kind, "List") || meta.Kind == "Status" {
		var list metav1.ListMeta
		err := list.Unmarshal(head)
		meta.ResourceVersion = list.ResourceVersion
		return meta, err == nil
	}
	var own metav1.ObjectMeta
	err := own.Unmarshal(head)
	meta.of(&own)
	return meta, err == nil
}

// field returns the available bytes of a message's first field, and the bytes after it. It returns nil if the first field has
// another number.
func field(message []byte, number protowire.Number) (content, rest []byte) {
	got, kind, n := protowire.ConsumeTag(message)
	if n < 0 || got != number || kind != protowire.BytesType {
		return nil, message
	}
	length, m := protowire.ConsumeVarint(message[n:])
	if m < 0 {
		return nil, message
	}
	message = message[n+m:]
	if length > uint64(len(message)) {
		return message, nil
	}
	return message[:length], message[length:]
}
