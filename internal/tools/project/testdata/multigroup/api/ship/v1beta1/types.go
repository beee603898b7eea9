// Package v1beta1 has ships.
// +kubebuilder:object:generate=true
// +groupName=ship.layout.test
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	seav1 "example.com/web/api/sea/v1"
)

// Frigate is a ship.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Frigate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// On is where it is, as of v1beta1.
	On seav1.Place `json:"on"`
}

// FrigateList is a fleet.
// +kubebuilder:object:root=true
type FrigateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Frigate `json:"items"`
}
