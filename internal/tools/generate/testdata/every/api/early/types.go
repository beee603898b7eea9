// Package early is a version of another name than its folder's.
//
// +kubebuilder:object:generate=true
// +groupName=every.test
// +versionName=v1beta1
package early

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Numbers is an early form.
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion
type Numbers struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// Texts is not to be in the definition.
// +kubebuilder:object:root=true
// +kubebuilder:skipversion
type Texts struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}
