// Package v1alpha1 contains the API of the group store.example.com: the kind Store.
//
// +kubebuilder:object:generate=true
// +groupName=store.example.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of this API.
var GroupVersion = schema.GroupVersion{Group: "store.example.com", Version: "v1alpha1"}

// AddToScheme registers the kinds of this API.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Store{}, &StoreList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Store is a server that stores values by key, in memory.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=.status.conditions[?(@.type=="Ready")].status
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
type Store struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   StoreSpec   `json:"spec"`
	Status StoreStatus `json:"status,omitempty"`
}

// StoreSpec is the desired state of a Store.
type StoreSpec struct {
	// MemoryMiB is the maximum memory of the server, in MiB.
	//
	// +kubebuilder:validation:Minimum=16
	// +kubebuilder:validation:Maximum=65536
	MemoryMiB int32 `json:"memoryMiB"`
}

// StoreStatus is the observed state of a Store.
type StoreStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions are about. Operon sets it.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are Ready, and Reconciling or Stalled while they are true.
	//
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StoreList is a list of Stores.
//
// +kubebuilder:object:root=true
type StoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Store `json:"items"`
}
