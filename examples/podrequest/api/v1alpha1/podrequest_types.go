// Package v1alpha1 holds version v1alpha1 of the API in group pod.jewzaam.org.
//
// +kubebuilder:object:generate=true
// +groupName=pod.jewzaam.org
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Run "operon generate" after a change of this file.

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "pod.jewzaam.org", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &PodRequest{}, &PodRequestList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// PodRequest requests a pod with its name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name is a label of the pod: want at most 63 characters"
// +kubebuilder:printcolumn:name=Image,type=string,JSONPath=.spec.image
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=.status.conditions[?(@.type=="Ready")].status
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
type PodRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   PodRequestSpec   `json:"spec"`
	Status PodRequestStatus `json:"status,omitempty"`
}

// PodRequestSpec is the desired state of a PodRequest.
type PodRequestSpec struct {
	// Name of the container.
	//
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Image of the container.
	//
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`
	// Command and its arguments. If it is empty, the entrypoint of the image runs.
	Command []string `json:"command"`
}

// PodRequestStatus is the observed state of a PodRequest.
type PodRequestStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions are about. Operon sets it.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions include Ready, and Reconciling or Stalled while they are true. Operon sets them.
	//
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PodRequestList is a list of podrequests.
//
// +kubebuilder:object:root=true
type PodRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PodRequest `json:"items"`
}
