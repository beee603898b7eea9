package derive_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/operon-framework/operon/internal/core/kindscope"
	"github.com/operon-framework/operon/internal/tools/rbac/derive"
	"github.com/operon-framework/operon/local/localtest"
)

// The derived plural and scope of each kind of Kubernetes itself is the one that an API server reports.
func TestKindsOfKubernetes(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	ask, err := discovery.NewDiscoveryClientForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	_, served, err := ask.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	taken, err := derive.WellKnown()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, list := range served {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			kind, ok := taken[version.WithKind(resource.Kind)]
			if !ok || strings.Contains(resource.Name, "/") {
				continue
			}
			compared++
			if want := (derive.Known{Resource: resource.Name, Cluster: !resource.Namespaced}); kind != want {
				t.Errorf("%s of %s is taken for %+v, and is %+v", resource.Kind, version, kind, want)
			}
		}
	}
	if compared < 60 {
		t.Errorf("only %d kinds were compared", compared)
	}
}

// The list of cluster-scoped kinds agrees with the comments of their Go types.
func TestScopesOfKubernetes(t *testing.T) {
	t.Parallel()
	taken, err := derive.WellKnown()
	if err != nil {
		t.Fatal(err)
	}
	if len(taken) < 100 {
		t.Errorf("only %d kinds were compared", len(taken))
	}
	for kind, known := range taken {
		if kindscope.IsCluster(kind.GroupKind()) != known.Cluster {
			t.Errorf("%s is cluster-scoped: %t", kind, known.Cluster)
		}
	}
}
