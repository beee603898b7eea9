package render

import (
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// extensionsGroup is the API group of ClusterCatalogs and ClusterExtensions.
const extensionsGroup = "olm.operatorframework.io"

// managed reports whether an API group belongs to the manager.
func managed(group string) bool {
	own := v1alpha1.GroupVersion.Group
	return group == own || strings.HasSuffix(group, "."+own) || group == extensionsGroup
}

// unlisted are API groups of Kubernetes that are not in the scheme of its clients.
var unlisted = []string{"apiextensions.k8s.io", "apiregistration.k8s.io", "k8s.io"}

// Reserved reports whether an API group belongs to Kubernetes or to the manager. A bundle could otherwise change how they work. Groups such as
// snapshot.storage.k8s.io and external.metrics.k8s.io are defined by projects of Kubernetes and provided by operators, so they are not reserved.
func Reserved(group string) bool {
	return managed(group) || !strings.Contains(group, ".") || slices.Contains(unlisted, group) || scheme.Scheme.IsGroupRegistered(group)
}
