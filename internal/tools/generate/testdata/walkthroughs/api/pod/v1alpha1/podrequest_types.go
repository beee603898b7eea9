// Package v1alpha1 has requests for pods.
// +kubebuilder:object:generate=true
// +groupName=pod.jewzaam.org
package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PodRequestSpec defines the desired state of PodRequest
type PodRequestSpec struct {
	Name    string   `json:"name"`
	Image   string   `json:"image"`
	Command []string `json:"command"`
}

// PodRequest asks for a pod.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type PodRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PodRequestSpec   `json:"spec,omitempty"`
	Status PodRequestStatus `json:"status,omitempty"`
}

// PodRequestStatus defines the observed state of PodRequest
type PodRequestStatus struct{}

// PodRequestList contains a list of PodRequest
// +kubebuilder:object:root=true
type PodRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PodRequest `json:"items"`
}
