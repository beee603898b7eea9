package operontest_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/operon-framework/operon/operontest"
)

// For each kind that a real API server serves, the API in memory knows whether it is namespaced.
func TestScopesAreThoseOfACluster(t *testing.T) {
	t.Parallel()
	served, err := discovery.NewDiscoveryClientForConfigOrDie(onCluster(t).Config).ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	var place operontest.Place
	operontest.New(lit{}, addLamp).RunOne(t, lampCase{
		Object: lamp(4), Reads: []string{"ConfigMap"}, Expect: created,
		Then: []step{{Do: []operontest.Change{func(_ context.Context, p operontest.Place) error {
			place = p
			return nil
		}}}},
	})
	kinds := 0
	for _, list := range served {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			kind := version.WithKind(resource.Kind)
			if !clientgoscheme.Scheme.Recognizes(kind) {
				continue // a kind without a Go type is declared with Kind
			}
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(kind)
			namespaced, err := place.IsObjectNamespaced(object)
			if err != nil || namespaced != resource.Namespaced {
				t.Errorf("%s: namespaced %t (%v), the cluster says %t", kind, namespaced, err, resource.Namespaced)
			}
			kinds++
		}
	}
	if kinds < 40 {
		t.Errorf("the cluster has only %d kinds", kinds)
	}
}
