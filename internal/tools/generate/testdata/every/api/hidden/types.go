// Package hidden has no definitions.
// +kubebuilder:object:generate=true
// +kubebuilder:skip
// +groupName=every.test
package hidden

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Hidden is used within.
// +kubebuilder:object:root=true
type Hidden struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}
