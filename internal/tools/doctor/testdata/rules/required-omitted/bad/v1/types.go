// Package v1 has an API.
//
// +groupName=example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Web is a site.
type Web struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec WebSpec `json:"spec"`
}

// WebSpec is what it shows.
type WebSpec struct {
	// Size is how many pages there are.
	//
	// +required
	Size int32 `json:"size,omitempty"`
}
