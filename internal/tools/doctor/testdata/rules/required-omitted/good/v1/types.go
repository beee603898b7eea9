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
	Size int32 `json:"size"`

	// What follows has no zero value that the API server would take.
	//
	// +required
	Name string `json:"name,omitempty"`
	// +required
	Color string `json:"color,omitempty"`
	// +required
	Path string `json:"path,omitempty"`
	// +required
	Since string `json:"since,omitempty"`
	// +required
	Depth int32 `json:"depth,omitempty"`
	// +required
	Height int32 `json:"height,omitempty"`
	// +required
	Pages []string `json:"pages,omitempty"`
}
