package kindscope

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Tests in packages derive and operontest compare all kinds with the comments of Go types and with an API server.
func TestIsCluster(t *testing.T) {
	t.Parallel()
	for kind, want := range map[schema.GroupKind]bool{
		{Kind: "Namespace"}: true,
		{Kind: "ConfigMap"}: false,
		{Group: "apiregistration.k8s.io", Kind: "APIService"}: true,
		{Group: "cert-manager.io", Kind: "ClusterIssuer"}:     false,
	} {
		if got := IsCluster(kind); got != want {
			t.Errorf("%s is cluster-scoped: %t", kind, got)
		}
	}
}
