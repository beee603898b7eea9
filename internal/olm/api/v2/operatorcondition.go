// Package v2 contains the kind of operators.coreos.com/v2 that the manager serves: OperatorCondition.
//
// +kubebuilder:object:generate=true
// +groupName=operators.coreos.com
package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of this API.
var GroupVersion = schema.GroupVersion{Group: "operators.coreos.com", Version: "v2"}

// AddToScheme registers the kinds of this API.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &OperatorCondition{}, &OperatorConditionList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Upgradeable is the type of the condition that holds back the next version of an operator while it is False.
const Upgradeable = "Upgradeable"

// OperatorCondition is what an operator reports about itself. It has the name of the operator's ClusterServiceVersion.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=condition,categories=olm
type OperatorCondition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   OperatorConditionSpec   `json:"spec,omitempty"`
	Status OperatorConditionStatus `json:"status,omitempty"`
}

// OperatorConditionList is a list of OperatorConditions.
//
// +kubebuilder:object:root=true
type OperatorConditionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []OperatorCondition `json:"items"`
}

// OperatorConditionSpec are the conditions that the operator and administrators write.
type OperatorConditionSpec struct {
	// ServiceAccounts are the accounts of the operator, which may write conditions.
	ServiceAccounts []string `json:"serviceAccounts,omitempty"`
	// Deployments are the Deployments of the operator.
	Deployments []string `json:"deployments,omitempty"`
	// Overrides are conditions of administrators, which replace those of the operator.
	Overrides []metav1.Condition `json:"overrides,omitempty"`
	// Conditions are the conditions of the operator.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// OperatorConditionStatus are the conditions that count.
type OperatorConditionStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
