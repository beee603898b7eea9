package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// ClusterCatalog is a catalog that all ClusterExtensions can use.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name=LastUnpacked,type=date,JSONPath=.status.lastUnpacked
// +kubebuilder:printcolumn:name=Serving,type=string,JSONPath=`.status.conditions[?(@.type=="Serving")].status`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
type ClusterCatalog struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   ClusterCatalogSpec   `json:"spec"`
	Status ClusterCatalogStatus `json:"status,omitempty"`
}

// ClusterCatalogList is a list of ClusterCatalogs.
//
// +kubebuilder:object:root=true
type ClusterCatalogList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterCatalog `json:"items"`
}

// LabelName is a label of all ClusterCatalogs with their name, for selectors.
const LabelName = "olm.operatorframework.io/metadata.name"

// ModeUnavailable is a value of AvailabilityMode. The other one is Available.
const ModeUnavailable = "Unavailable"

// ClusterCatalogSpec says where a catalog is.
type ClusterCatalogSpec struct {
	Source CatalogSource `json:"source"`
	// Priority is higher for catalogs that are preferred.
	//
	// +kubebuilder:default=0
	Priority int32 `json:"priority,omitempty"`
	// AvailabilityMode is Unavailable for a catalog that must not be used.
	//
	// +kubebuilder:validation:Enum=Available;Unavailable
	// +kubebuilder:default=Available
	AvailabilityMode string `json:"availabilityMode,omitempty"`
}

// SourceImage is the type of a catalog in an image.
const SourceImage = "Image"

// CatalogSource is where a catalog is.
//
// +kubebuilder:validation:XValidation:rule="has(self.image)",message="image is required when the type is Image"
type CatalogSource struct {
	// Type is Image.
	//
	// +kubebuilder:validation:Enum=Image
	Type  string       `json:"type"`
	Image *ImageSource `json:"image,omitempty"`
}

// ImageSource is an image with a catalog.
//
// +kubebuilder:validation:XValidation:rule="!self.ref.contains('@') || !has(self.pollIntervalMinutes)",message="pollIntervalMinutes has no effect for an image with a digest"
type ImageSource struct {
	// Ref is the reference of the image.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1000
	Ref string `json:"ref"`
	// PollIntervalMinutes is how often the image is fetched again. Default: never.
	//
	// +kubebuilder:validation:Minimum=1
	PollIntervalMinutes *int32 `json:"pollIntervalMinutes,omitempty"`
}

// ClusterCatalogStatus says whether a catalog can be used.
type ClusterCatalogStatus struct {
	// States are the conditions Serving and Progressing.
	//
	// +listType=map
	// +listMapKey=type
	States []metav1.Condition `json:"conditions,omitempty"`
	// ResolvedSource is the image that is used.
	ResolvedSource *ResolvedSource `json:"resolvedSource,omitempty"`
	// LastUnpacked is when the image was read.
	LastUnpacked *metav1.Time `json:"lastUnpacked,omitempty"`
	// Packages is the number of packages, and Broken are those that cannot be used.
	Packages int      `json:"packages,omitempty"`
	Broken   []string `json:"broken,omitempty"`
	// Report is what the manager reports about its work.
	v1alpha1.Report `json:"manager,omitempty"`
}

// ResolvedSource is where the content of a catalog came from.
type ResolvedSource struct {
	Type  string         `json:"type"`
	Image *ResolvedImage `json:"image,omitempty"`
}

// ResolvedImage is an image with its digest.
type ResolvedImage struct {
	Ref string `json:"ref"`
}
