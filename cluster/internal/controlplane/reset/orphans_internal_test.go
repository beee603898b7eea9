package reset

import (
	"fmt"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/cluster/internal/controlplane/storage"
)

// An object that is created while a reset reads etcd is deleted and remembered with the neighboring keys. Objects that stay are
// not remembered.
func TestWhatComesDuringAReset(t *testing.T) {
	t.Parallel()
	r := stored(t)
	put := func(key, uid string) {
		t.Helper()
		if _, err := r.etcd.Put(t.Context(), storage.Registry+key, object(uid)); err != nil {
			t.Fatal(err)
		}
	}
	put("configmaps/a", "a")
	put("configmaps/c", "c")
	put("leases/kube-node-lease/node-0", "heartbeat")
	put("nodes/node-0", "made-again")
	put("nodes/node-1", "as-it-was")
	first := snapshot{storage.Registry + "nodes/node-0": []byte(object("as-it-was-too")), storage.Registry + "nodes/node-1": []byte(object("as-it-was") + " ")}
	r.orphans.start()
	changed, err := r.become(t.Context(), first, func(entries []*mvccpb.KeyValue, first snapshot) []clientv3.Op {
		put("configmaps/b", "b")
		return difference(entries, first)
	})
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	for uid, want := range map[types.UID]bool{"a": true, "b": true, "c": true, "made-again": true, "heartbeat": false, "as-it-was": false, "as-it-was-too": false} {
		if got := r.orphans.gone(uid); got != want {
			t.Errorf("%s is gone: %v", uid, got)
		}
	}
}

func object(uid string) string { return fmt.Sprintf(`{"metadata":{"uid":%q}}`, uid) }

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
