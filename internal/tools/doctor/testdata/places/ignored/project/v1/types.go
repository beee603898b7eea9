// Package v1 has comments that ignore findings about the generated definition.
//
// +groupName=example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Web is a kind.
type Web struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	Spec WebSpec `json:"spec,omitempty"`
}

// WebSpec is what is wanted.
type WebSpec struct {
	// Size is how many.
	//
	//operon:ignore crd-invalid the default is replaced before it is installed
	// +kubebuilder:default=-1
	// +kubebuilder:validation:Minimum=0
	Size int `json:"size"`

	// Theme is how it looks.
	//
	//operon:ignore crd-unsafe no released version used it
	Theme int `json:"theme"`

	// Page is shown first.
	Page Page `json:"page"`
}

// Page had an author.
//
//operon:ignore crd-unsafe no released version used the author
type Page struct {
	// Title is shown on top.
	Title string `json:"title"`
}
