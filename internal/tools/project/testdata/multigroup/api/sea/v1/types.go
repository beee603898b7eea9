// Package v1 has seas.
// +kubebuilder:object:generate=true
// +groupName=sea.layout.test
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Ocean is a sea.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=oceans
type Ocean struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Places []Place `json:"places,omitempty"`
}

// OceanList is several.
// +kubebuilder:object:root=true
type OceanList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Ocean `json:"items"`
}

// Place is one at sea.
type Place struct {
	// Ocean is its name.
	// +kubebuilder:validation:MinLength=1
	Ocean string `json:"ocean"`
	// Depth is in metres.
	Depth *int32 `json:"depth,omitempty"`
}
