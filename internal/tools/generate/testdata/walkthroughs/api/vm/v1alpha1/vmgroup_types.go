// Package v1alpha1 has groups of virtual machines.
// +kubebuilder:object:generate=true
// +groupName=vm.codeconnect.vmworld.com
package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StatusPhase is a word for the state.
type StatusPhase string

// VmGroupSpec defines the desired state of VmGroup
type VmGroupSpec struct {
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4
	CPU int32 `json:"cpu"`
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	Memory int32 `json:"memory"`
	// +kubebuilder:validation:Required
	Template string `json:"template"`
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:Minimum=1
	Replicas int32 `json:"replicas"`
}

// VmGroupStatus defines the observed state of VmGroup
type VmGroupStatus struct {
	// +kubebuilder:validation:Optional
	Phase           StatusPhase `json:"phase"`
	CurrentReplicas *int32      `json:"currentReplicas,omitempty"`
	DesiredReplicas int32       `json:"desiredReplicas"`
	LastMessage     string      `json:"lastMessage"`
}

// +kubebuilder:object:root=true
// +kubebuilder:validation:Optional
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.desiredReplicas
// +kubebuilder:resource:shortName={"vg"}
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.currentReplicas`
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="CPU",type=integer,JSONPath=`.spec.cpu`
// +kubebuilder:printcolumn:name="Memory",type=integer,JSONPath=`.spec.memory`
// +kubebuilder:printcolumn:name="Template",type=string,JSONPath=`.spec.template`
// +kubebuilder:printcolumn:name="Last_Message",type=string,JSONPath=`.status.lastMessage`
type VmGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   VmGroupSpec   `json:"spec,omitempty"`
	Status VmGroupStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// VmGroupList contains a list of VmGroup
type VmGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VmGroup `json:"items"`
}
