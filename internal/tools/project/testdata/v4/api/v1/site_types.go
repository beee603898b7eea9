package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SiteSpec is what is wanted of a Site.
type SiteSpec struct {
	// Title stands above every page.
	// +kubebuilder:validation:MinLength=1
	// +required
	Title string `json:"title"`

	// Pages are how many there are.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Pages *int32 `json:"pages,omitempty"`
}

// SiteStatus is what is seen of a Site.
type SiteStatus struct {
	// Conditions are Available, and what others add.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Title",type=string,JSONPath=`.spec.title`

// Site is a number of pages.
type Site struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// +required
	Spec SiteSpec `json:"spec"`

	// +optional
	Status SiteStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// SiteList is several Sites.
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Site `json:"items"`
}
