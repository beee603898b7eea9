package operontest

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// kind is a kind that an API serves.
type kind struct {
	schema.GroupVersionKind
	namespaced bool
}

// mapper returns a mapper for the kinds of a scheme and further kinds.
func mapper(scheme *runtime.Scheme, further []kind) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	told := sets.New[schema.GroupVersionKind]()
	for _, k := range further {
		told.Insert(k.GroupVersionKind)
		m.Add(k.GroupVersionKind, scope(k.namespaced))
	}
	for served := range scheme.AllKnownTypes() {
		if served.Version != runtime.APIVersionInternal && !told.Has(served) && isObject(scheme, served) {
			m.Add(served, scope(!clusterScoped.Has(served.GroupKind())))
		}
	}
	return m
}

// isObject distinguishes the kinds of objects from lists, options and the like.
func isObject(scheme *runtime.Scheme, served schema.GroupVersionKind) bool {
	made, err := scheme.New(served)
	_, object := made.(metav1.ObjectMetaAccessor)
	return err == nil && object && !strings.HasSuffix(served.Kind, "List")
}

func scope(namespaced bool) meta.RESTScope {
	if namespaced {
		return meta.RESTScopeNamespace
	}
	return meta.RESTScopeRoot
}

// clusterScoped contains the cluster-scoped built-in kinds. Go types do not contain this information.
var clusterScoped = sets.New(
	schema.GroupKind{Kind: "ComponentStatus"},
	schema.GroupKind{Kind: "Namespace"},
	schema.GroupKind{Kind: "Node"},
	schema.GroupKind{Kind: "PersistentVolume"},
	schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"},
	schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"},
	schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"},
	schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"},
	schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"},
	schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"},
	schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
	schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"},
	schema.GroupKind{Group: "authentication.k8s.io", Kind: "SelfSubjectReview"},
	schema.GroupKind{Group: "authentication.k8s.io", Kind: "TokenReview"},
	schema.GroupKind{Group: "authorization.k8s.io", Kind: "SelfSubjectAccessReview"},
	schema.GroupKind{Group: "authorization.k8s.io", Kind: "SelfSubjectRulesReview"},
	schema.GroupKind{Group: "authorization.k8s.io", Kind: "SubjectAccessReview"},
	schema.GroupKind{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"},
	schema.GroupKind{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle"},
	schema.GroupKind{Group: "flowcontrol.apiserver.k8s.io", Kind: "FlowSchema"},
	schema.GroupKind{Group: "flowcontrol.apiserver.k8s.io", Kind: "PriorityLevelConfiguration"},
	schema.GroupKind{Group: "internal.apiserver.k8s.io", Kind: "StorageVersion"},
	schema.GroupKind{Group: "networking.k8s.io", Kind: "IPAddress"},
	schema.GroupKind{Group: "networking.k8s.io", Kind: "IngressClass"},
	schema.GroupKind{Group: "networking.k8s.io", Kind: "ServiceCIDR"},
	schema.GroupKind{Group: "node.k8s.io", Kind: "RuntimeClass"},
	schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"},
	schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"},
	schema.GroupKind{Group: "resource.k8s.io", Kind: "DeviceClass"},
	schema.GroupKind{Group: "resource.k8s.io", Kind: "DeviceTaintRule"},
	schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceSlice"},
	schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PriorityClass"},
	schema.GroupKind{Group: "storage.k8s.io", Kind: "CSIDriver"},
	schema.GroupKind{Group: "storage.k8s.io", Kind: "CSINode"},
	schema.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"},
	schema.GroupKind{Group: "storage.k8s.io", Kind: "VolumeAttachment"},
	schema.GroupKind{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"},
	schema.GroupKind{Group: "storagemigration.k8s.io", Kind: "StorageVersionMigration"},
)
