package fast

import (
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/operon-framework/operon/cluster/internal/controlplane/storage"
)

// The namespace controller queries every kind of which an object may exist.
func TestContentLacks(t *testing.T) {
	t.Parallel()
	var keys []*mvccpb.KeyValue
	for _, key := range []string{
		"namespaces/one", "pods/one/web", "pods/two/web", "services/endpoints/one/web", "ingress/one/web", "controllers/one/web",
		"example.com/widgets/one/web", "example.com/gadgets/two/one", "configmaps/two/one", "minions/one",
	} {
		keys = append(keys, &mvccpb.KeyValue{Key: []byte(storage.Registry + key)})
	}
	prefixes, known := prefixesIn(keys, "one")
	if !known {
		t.Fatal("the namespace's own key is not seen")
	}
	c := &content{prefixes, sets.New("metrics.example.com")}
	for kind, lacks := range map[schema.GroupResource]bool{
		{Resource: "pods"}:                                      false,
		{Resource: "configmaps"}:                                true,
		{Resource: "endpoints"}:                                 false,
		{Resource: "services"}:                                  true,
		{Resource: "replicationcontrollers"}:                    false,
		{Group: "networking.k8s.io", Resource: "ingresses"}:     false,
		{Group: "apps", Resource: "deployments"}:                true,
		{Group: "example.com", Resource: "widgets"}:             false,
		{Group: "example.com", Resource: "gadgets"}:             true,
		{Group: "other.example.com", Resource: "pods"}:          true,
		{Group: "metrics.example.com", Resource: "temperature"}: false,
	} {
		if got := c.lacks(kind); got != lacks {
			t.Errorf("lacks %s: %v, want %v", kind, got, lacks)
		}
	}
	if _, known := prefixesIn(keys, "three"); known {
		t.Error("known of a namespace that is not stored there")
	}
	if (*content)(nil).lacks(schema.GroupResource{Resource: "configmaps"}) {
		t.Error("what is not known is lacked")
	}
}
