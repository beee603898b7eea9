package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// QueueSpec is what is wanted of a Queue, in more words than a definition is to have by its Makefile.
type QueueSpec struct {
	// Length is how many jobs may wait, and none if it is nought.
	//+kubebuilder:validation:Minimum=0
	Length int32 `json:"length,omitempty"`
	// Claim is what it keeps its jobs in.
	Claim *corev1.PersistentVolumeClaimTemplate `json:"claim,omitempty"`
}

// QueueStatus is what is seen of a Queue.
type QueueStatus struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	Open               bool  `json:"open,omitempty"`
}

//+kubebuilder:object:root=true
//+kubebuilder:subresource:status
//+kubebuilder:resource:shortName=q

// Queue has jobs that wait.
type Queue struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   QueueSpec   `json:"spec,omitempty"`
	Status QueueStatus `json:"status,omitempty"`
}

//+kubebuilder:object:root=true

// QueueList is several Queues.
type QueueList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Queue `json:"items"`
}

func init() {
	SchemeBuilder.Register(&Queue{}, &QueueList{})
}
