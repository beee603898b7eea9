// Package required has fields that must be there unless they say otherwise.
//
// +kubebuilder:object:generate=true
// +groupName=defaults.every.test
// +versionName=v1
// +kubebuilder:validation:Required
package required

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Strict has such fields.
// +kubebuilder:object:root=true
type Strict struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	A                 string `json:"a"`
	B                 string `json:"b,omitempty"`
	// +optional
	C string `json:"c"`
}
