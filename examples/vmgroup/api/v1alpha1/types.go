// Package v1alpha1 contains the API of the group vm.example.com: the kind VMGroup.
//
// +kubebuilder:object:generate=true
// +groupName=vm.example.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of this API.
var GroupVersion = schema.GroupVersion{Group: "vm.example.com", Version: "v1alpha1"}

// AddToScheme registers the kinds of this API.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &VMGroup{}, &VMGroupList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// VMGroup is a group of identical virtual machines in a vCenter.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vmgroups,shortName=vg
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.currentReplicas
// +kubebuilder:printcolumn:name=Phase,type=string,JSONPath=.status.phase
// +kubebuilder:printcolumn:name=Current,type=integer,JSONPath=.status.currentReplicas
// +kubebuilder:printcolumn:name=Desired,type=integer,JSONPath=.spec.replicas
// +kubebuilder:printcolumn:name=CPU,type=integer,JSONPath=.spec.cpu
// +kubebuilder:printcolumn:name=Memory,type=integer,JSONPath=.spec.memory
// +kubebuilder:printcolumn:name=Template,type=string,JSONPath=.spec.template
// +kubebuilder:printcolumn:name=Last_Message,type=string,JSONPath=.status.lastMessage
//
//operon:ignore printer-columns these columns are what was asked for
type VMGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   VMGroupSpec   `json:"spec"`
	Status VMGroupStatus `json:"status,omitempty"`
}

// VMGroupSpec is the desired state of a VMGroup.
type VMGroupSpec struct {
	// CPU is the number of processors of each machine.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4
	CPU int32 `json:"cpu"`
	// Memory is the memory of each machine, in GiB.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	Memory int32 `json:"memory"`
	// Template is the inventory path of the machine that is cloned, such as /DC0/vm/ubuntu-24. A change of the template replaces
	// the machines.
	//
	// +kubebuilder:validation:MinLength=1
	Template string `json:"template"`
	// Replicas is the number of machines.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Replicas int32 `json:"replicas"`
	// Credentials is the name of the Secret with the address and the credentials of the vCenter.
	//
	// +kubebuilder:default=vc-creds
	// +optional
	Credentials string `json:"credentials,omitempty"`
}

// Phase is a summary of the state of a VMGroup.
//
// +kubebuilder:validation:Enum=Pending;Scaling;Running
type Phase string

const (
	// Pending means that the vCenter is not reachable.
	Pending Phase = "Pending"
	// Scaling means that machines are being created, changed or deleted.
	Scaling Phase = "Scaling"
	// Running means that all machines are in their desired state.
	Running Phase = "Running"
)

// VMGroupStatus is the observed state of a VMGroup.
type VMGroupStatus struct {
	Phase Phase `json:"phase,omitempty"`
	// CurrentReplicas is the current number of machines.
	CurrentReplicas int32 `json:"currentReplicas,omitempty"`
	// DesiredReplicas is the desired number of machines.
	DesiredReplicas int32 `json:"desiredReplicas,omitempty"`
	// LastMessage states what the operator is waiting for.
	LastMessage string `json:"lastMessage,omitempty"`
	// ObservedGeneration is the generation of the spec that the conditions are about. Operon sets it.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are Ready, and Reconciling or Stalled while they are true.
	//
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// VMGroupList is a list of VMGroups.
//
// +kubebuilder:object:root=true
type VMGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []VMGroup `json:"items"`
}
