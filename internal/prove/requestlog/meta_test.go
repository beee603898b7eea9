package requestlog_test

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/operon-framework/operon/internal/prove/requestlog"
)

const asProtobuf = runtime.ContentTypeProtobuf

func TestMetaOf(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Namespace: "a", Name: "c", ResourceVersion: "8"}
	object := &corev1.ConfigMap{TypeMeta: typed("ConfigMap"), ObjectMeta: meta, Data: map[string]string{"k": strings.Repeat("v", 1000)}}
	list := &corev1.ConfigMapList{TypeMeta: typed("ConfigMapList"), ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: []corev1.ConfigMap{*object}}
	ofObject := requestlog.Meta{Kind: "ConfigMap", Namespace: "a", Name: "c", ResourceVersion: "8"}
	for name, test := range map[string]struct {
		contentType string
		body        []byte
		want        requestlog.Meta
	}{
		"an object in protobuf":     {asProtobuf, encode(t, object), ofObject},
		"its beginning":             {asProtobuf, encode(t, object)[:100], ofObject},
		"a list in protobuf":        {asProtobuf, encode(t, list), requestlog.Meta{Kind: "ConfigMapList", ResourceVersion: "9"}},
		"an object in JSON":         {"application/json;x=y", []byte(`{"kind":"ConfigMap","metadata":{"namespace":"a","name":"c","resourceVersion":"8"},"data":{}}`), ofObject},
		"its beginning in JSON":     {"application/json", []byte(`{"kind":"ConfigMap","metadata":{"namespace":"a","name":"c","resourceVersion":"8"},"da`), ofObject},
		"metadata before the kind":  {"application/json", []byte(`{"metadata":{"namespace":"a","name":"c","resourceVersion":"8"},"x":[1],"kind":"ConfigMap"}`), ofObject},
		"an apply with JSON inside": {"application/apply-patch+yaml", []byte(`{"kind":"ConfigMap","metadata":{"namespace":"a","name":"c","resourceVersion":"8"}}`), ofObject},
	} {
		if got, ok := requestlog.MetaOf(test.contentType, test.body); !ok || got != test.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, ok, test.want)
		}
	}
}

func TestMetaOfWhatHasNone(t *testing.T) {
	t.Parallel()
	for contentType, bodies := range map[string][]string{
		asProtobuf:         {"", "k8s", "k8s\x00", "k8s\x00\x0a\xff", "k8s\x00\x0a\x00\x12\xff\xff\xff\xff\xff\xff", "{}"},
		"application/json": {"", "[", `{"metadata":`, `{"metadata":{"name":1}}`, `[{"op":"add"}]`, "null"},
		"text/plain":       {`{"metadata":{"name":"a"}}`},
		"":                 {"x"},
	} {
		for _, body := range bodies {
			if meta, ok := requestlog.MetaOf(contentType, []byte(body)); ok {
				t.Errorf("%q as %q: %+v", body, contentType, meta)
			}
		}
	}
}

func FuzzMetaOf(f *testing.F) {
	f.Add([]byte("k8s\x00\x0a\x02\x12\x00\x12\x04\x0a\x02\x0a\x00"))
	f.Add([]byte(`{"kind":"A","metadata":{"name":"b"}}`))
	f.Fuzz(func(_ *testing.T, body []byte) { // it must not panic
		requestlog.MetaOf(asProtobuf, body)
		requestlog.MetaOf("application/json", body)
	})
}

func typed(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "v1", Kind: kind} }

func encode(t *testing.T, object runtime.Object) []byte {
	t.Helper()
	var to bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(object, &to); err != nil {
		t.Fatal(err)
	}
	return to.Bytes()
}
