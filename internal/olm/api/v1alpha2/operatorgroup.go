// Package v1alpha2 contains the older version of OperatorGroup in operators.coreos.com, which has the same fields as v1.
//
// +kubebuilder:object:generate=true
// +groupName=operators.coreos.com
package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/operon-framework/operon/internal/olm/api/v1"
)

// GroupVersion of this API.
var GroupVersion = schema.GroupVersion{Group: "operators.coreos.com", Version: "v1alpha2"}

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
// +kubebuilder:resource:shortName=og,categories=olm
type OperatorGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   v1.OperatorGroupSpec   `json:"spec,omitempty"`
	Status v1.OperatorGroupStatus `json:"status,omitempty"`
}

// OperatorGroupList is a list of OperatorGroups.
//
// +kubebuilder:object:root=true
type OperatorGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []OperatorGroup `json:"items"`
}
