package controlplane

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

func TestStoredUID(t *testing.T) {
	t.Parallel()
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	raw, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	protobuf, err := (&runtime.Unknown{Raw: raw}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		value string
		want  types.UID
	}{
		"a kind of Kubernetes": {"k8s\x00" + string(protobuf), "u"},
		"a custom resource":    {`{"apiVersion":"v1","kind":"Site","metadata":{"name":"a","uid":"u"},"spec":{}}`, "u"},
		"an encrypted one":     {"k8s:enc:aescbc:v1:key1:\x01\x02", ""},
		"a half one":           {"k8s\x00\x0a\xff", ""},
		"no object":            {"17", ""},
		"nothing":              {"", ""},
	} {
		if got := storedUID([]byte(c.value)); got != c.want {
			t.Errorf("%s: %q", what, got)
		}
	}
}
