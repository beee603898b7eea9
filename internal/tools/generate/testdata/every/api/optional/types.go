// Package optional has fields that may be left out unless they say otherwise.
//
// +groupName=defaults.every.test
// +versionName=v1
// +kubebuilder:validation:Optional
package optional

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Loose has such fields.
// +kubebuilder:object:root=true
type Loose struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              LooseSpec `json:"spec"`
}

// LooseSpec has such fields.
// +kubebuilder:object:generate=true
type LooseSpec struct {
	A string `json:"a"`
	// +required
	B string `json:"b"`
	// +kubebuilder:validation:Required
	C string `json:"c,omitempty"`
}
