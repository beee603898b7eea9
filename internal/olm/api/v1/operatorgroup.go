// Package v1 contains the kinds of operators.coreos.com/v1 that the manager serves: OperatorGroup.
//
// +kubebuilder:object:generate=true
// +groupName=operators.coreos.com
package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// GroupVersion of this API.
var GroupVersion = schema.GroupVersion{Group: "operators.coreos.com", Version: "v1"}

// AddToScheme registers the kinds of this API.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &OperatorGroup{}, &OperatorGroupList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// OperatorGroup selects the namespaces that the operators in its own namespace work in.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=og,categories=olm
type OperatorGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   OperatorGroupSpec   `json:"spec,omitempty"`
	Status OperatorGroupStatus `json:"status,omitempty"`
}

// OperatorGroupList is a list of OperatorGroups.
//
// +kubebuilder:object:root=true
type OperatorGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []OperatorGroup `json:"items"`
}

// OperatorGroupSpec selects namespaces. Without targetNamespaces and selector, all are selected.
type OperatorGroupSpec struct {
	// TargetNamespaces are the names of the namespaces. If there are any, the selector has no effect.
	TargetNamespaces []string `json:"targetNamespaces,omitempty"`
	// Selector selects the namespaces by their labels.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// ServiceAccountName is the ServiceAccount whose permissions limit those of the operators.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// StaticProvidedAPIs leaves the annotation olm.providedAPIs unchanged.
	StaticProvidedAPIs bool `json:"staticProvidedAPIs,omitempty"`
	// UpgradeStrategy is Default, or TechPreviewUnsafeFailForward, with which a version that failed can be replaced.
	//
	// +kubebuilder:validation:Enum=Default;TechPreviewUnsafeFailForward
	// +kubebuilder:default=Default
	UpgradeStrategy string `json:"upgradeStrategy,omitempty"`
}

// OperatorGroupStatus has the namespaces that are selected.
type OperatorGroupStatus struct {
	// Namespaces are the selected namespaces, in order. One empty name stands for all.
	Namespaces []string `json:"namespaces,omitempty"`
	// ServiceAccountRef is the ServiceAccount of the spec, if it exists.
	ServiceAccountRef *corev1.ObjectReference `json:"serviceAccountRef,omitempty"`
	// LastUpdated is when the namespaces changed.
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`
	// Problems are MultipleOperatorGroup and OperatorGroupServiceAccount, while they are true.
	//
	// +listType=map
	// +listMapKey=type
	Problems []metav1.Condition `json:"conditions,omitempty"`
	// Report is what the manager reports about its work.
	v1alpha1.Report `json:"manager,omitempty"`
}
