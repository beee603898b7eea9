package proxy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// frame is one watch event, as received.
type frame struct {
	raw     []byte
	err     error // no more events follow, and why
	kind    string
	meta    requestlog.Meta
	version uint64
	ends    bool // it is the bookmark that ends the initial state
	counted bool // the faults that it triggers were executed
}

// tells reports whether the event shows a change. A bookmark does not.
func (f frame) tells() bool { return f.kind != string(watch.Bookmark) }

// form is an encoding of watch events.
type form struct {
	reader func(io.Reader) func() ([]byte, error)
	// open returns the type and the object of an event. close builds an event from them.
	open  func(raw []byte) (kind string, object []byte)
	close func(kind string, object []byte) []byte
}

// contentType returns the content type of an object in this encoding.
func (f form) contentType(object []byte) string {
	if bytes.HasPrefix(object, []byte("{")) {
		return runtime.ContentTypeJSON
	}
	return runtime.ContentTypeProtobuf
}

// read decodes an event and sets the other fields of the frame.
func (f form) read(one *frame) {
	var object []byte
	one.kind, object = f.open(one.raw)
	one.meta, _ = requestlog.MetaOf(f.contentType(object), object)
	one.version = resourceclient.Revision(one.meta.ResourceVersion)
	one.ends = one.kind == string(watch.Bookmark) && bytes.Contains(object, []byte(metav1.InitialEventsAnnotationKey))
}

// gone returns the event with which the API server ends a watch whose resource version is too old.
func (f form) gone(at, oldest uint64) []byte {
	failure := apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", at, oldest))
	_, _, body, err := fault.Encode(failure, f.contentType(f.close("", nil)[:1]))
	if err != nil {
		return nil // cannot happen: a Status can always be encoded
	}
	return f.close(string(watch.Error), body)
}

func openJSON(raw []byte) (string, []byte) {
	var event struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(raw, &event); err != nil {
		return "", nil
	}
	return event.Type, event.Object
}

func closeJSON(kind string, object []byte) []byte {
	return fmt.Appendf(nil, "{\"type\":%q,\"object\":%s}\n", kind, bytes.TrimSpace(object))
}

// lengthBytes is the size of the length field before an event in protobuf.
const lengthBytes = 4

func openProtobuf(raw []byte) (string, []byte) {
	var event metav1.WatchEvent
	if len(raw) < lengthBytes || event.Unmarshal(raw[lengthBytes:]) != nil {
		return "", nil
	}
	return event.Type, event.Object.Raw
}

func closeProtobuf(kind string, object []byte) []byte {
	event := metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object}}
	raw, err := event.Marshal()
	if err != nil {
		return nil // cannot happen: strings and bytes can always be encoded
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...)
}
