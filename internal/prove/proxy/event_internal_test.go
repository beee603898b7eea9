package proxy

import (
	"bytes"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// Reading any input does not panic, and an encoded event can be decoded.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"7"}}}`))
	f.Add(closeProtobuf("ADDED", []byte("k8s\x00\x0a\x02\x12\x00\x12\x04\x0a\x02\x0a\x00")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for name, form := range forms {
			one := frame{raw: raw}
			form.read(&one)
			next := form.reader(bytes.NewReader(raw))
			for _, err := next(); err == nil; _, err = next() { // until the end
			}
			if name == runtime.ContentTypeJSON {
				continue
			}
			if kind, object := form.open(form.close("MODIFIED", raw)); kind != "MODIFIED" || !bytes.Equal(object, raw) {
				t.Errorf("%s %q came back as %s %q", name, raw, kind, object)
			}
		}
	})
}

func TestGone(t *testing.T) {
	t.Parallel()
	for name, form := range forms {
		kind, object := form.open(form.gone(3, 9))
		if kind != "ERROR" || !bytes.Contains(object, []byte("too old resource version: 3 (9)")) || !bytes.Contains(object, []byte("Expired")) {
			t.Errorf("%s: %s %q", name, kind, object)
		}
	}
}
