// Package kindscope knows which kinds of Kubernetes are cluster-scoped. Go types do not contain this information, and neither a
// simulated API nor the derivation of permissions from code can ask an API server. The list is complete for the kinds of client-go and
// apiextensions-apiserver: tests of packages that use it compare it with the comments of their Go types and with an API server.
package kindscope

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// IsCluster reports whether a kind of Kubernetes is cluster-scoped. It returns false for kinds of others.
func IsCluster(kind schema.GroupKind) bool { return cluster.Has(kind) }

var cluster = sets.New(
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
	schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourcePoolStatusRequest"},
	schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceSlice"},
	schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PriorityClass"},
	schema.GroupKind{Group: "storage.k8s.io", Kind: "CSIDriver"},
	schema.GroupKind{Group: "storage.k8s.io", Kind: "CSINode"},
	schema.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"},
	schema.GroupKind{Group: "storage.k8s.io", Kind: "VolumeAttachment"},
	schema.GroupKind{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"},
	schema.GroupKind{Group: "storagemigration.k8s.io", Kind: "StorageVersionMigration"},
)
