package render

import (
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// extensionsGroup is the API group of ClusterCatalogs and ClusterExtensions.
const extensionsGroup = "olm.operatorframework.io"

// managed reports whether an API group belongs to the manager.
func managed(group string) bool {
	own := v1alpha1.GroupVersion.Group
	return group == own || strings.HasSuffix(group, "."+own) || group == extensionsGroup
}

// builtIn are the API groups of Kubernetes with a dot in their names.
var builtIn = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io",
	"certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "imagepolicy.k8s.io",
	"internal.apiserver.k8s.io", "k8s.io", "lifecycle.k8s.io", "networking.k8s.io", "node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io",
	"scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
}

// Reserved reports whether an API group belongs to Kubernetes or to the manager. A bundle could otherwise change how they work. Groups such as
// snapshot.storage.k8s.io and external.metrics.k8s.io are defined by projects of Kubernetes and provided by operators, so they are not reserved.
func Reserved(group string) bool {
	return managed(group) || !strings.Contains(group, ".") || slices.Contains(builtIn, group)
}
