// Package v1 contains the kind of packages.operators.coreos.com/v1: PackageManifest. The manager computes its objects from catalogs.
//
// +kubebuilder:object:generate=true
// +kubebuilder:skip
// +groupName=packages.operators.coreos.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// GroupVersion of this API.
var GroupVersion = schema.GroupVersion{Group: "packages.operators.coreos.com", Version: "v1"}

// AddToScheme registers the kinds of this API.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &PackageManifest{}, &PackageManifestList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// PackageManifest is a package of a catalog, as a namespace sees it. It has the name of the package.
//
// +kubebuilder:object:root=true
type PackageManifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PackageManifestSpec   `json:"spec,omitempty"`
	Status PackageManifestStatus `json:"status,omitempty"`
}

// PackageManifestList is a list of PackageManifests.
//
// +kubebuilder:object:root=true
type PackageManifestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PackageManifest `json:"items"`
}

// PackageManifestSpec is empty: nothing can be asked of a package.
type PackageManifestSpec struct{}

// PackageManifestStatus describes a package and its catalog.
type PackageManifestStatus struct {
	// CatalogSource is the name of the catalog.
	CatalogSource            string `json:"catalogSource"`
	CatalogSourceDisplayName string `json:"catalogSourceDisplayName"`
	CatalogSourcePublisher   string `json:"catalogSourcePublisher"`
	// CatalogSourceNamespace is the namespace of the catalog.
	CatalogSourceNamespace string `json:"catalogSourceNamespace"`
	// Provider is who provides the head of the default channel.
	Provider    Link         `json:"provider,omitempty"`
	PackageName string       `json:"packageName"`
	Deprecation *Deprecation `json:"deprecation,omitempty"`
	// Channels are sorted by name.
	Channels       []PackageChannel `json:"channels"`
	DefaultChannel string           `json:"defaultChannel"`
	// Installed are the versions of the package that work in the namespace of this object, also those that are installed in other
	// namespaces.
	Installed []InstalledVersion `json:"installed,omitempty"`
}

// InstalledVersion is a ClusterServiceVersion that works in a namespace.
type InstalledVersion struct {
	// Namespace and Name are those of the ClusterServiceVersion.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Version   string `json:"version,omitempty"`
	Phase     string `json:"phase,omitempty"`
}

// PackageChannel is a stream of versions.
type PackageChannel struct {
	Name string `json:"name"`
	// CurrentCSV is the name of the newest version.
	CurrentCSV     string         `json:"currentCSV"`
	CurrentCSVDesc CSVDescription `json:"currentCSVDesc,omitempty"`
	Deprecation    *Deprecation   `json:"deprecation,omitempty"`
	// Entries are all versions, the newest first.
	Entries []ChannelEntry `json:"entries"`
}

// ChannelEntry is a version in a channel.
type ChannelEntry struct {
	// Name is the name of the ClusterServiceVersion.
	Name        string       `json:"name"`
	Version     string       `json:"version,omitempty"`
	Deprecation *Deprecation `json:"deprecation,omitempty"`
}

// Deprecation is a warning for users of a package, a channel or a version.
type Deprecation struct {
	Message string `json:"message"`
}

// Link is the name of somebody or something, and its address.
type Link struct {
	Name string `json:"name,omitempty"`
	URL  string `json:"url,omitempty"`
}

// CSVDescription is what a ClusterServiceVersion shows to people.
type CSVDescription struct {
	DisplayName    string                 `json:"displayName,omitempty"`
	Icon           []Icon                 `json:"icon,omitempty"`
	Version        string                 `json:"version,omitempty"`
	Provider       Link                   `json:"provider,omitempty"`
	Annotations    map[string]string      `json:"annotations,omitempty"`
	Keywords       []string               `json:"keywords,omitempty"`
	Links          []Link                 `json:"links,omitempty"`
	Maintainers    []Maintainer           `json:"maintainers,omitempty"`
	Maturity       string                 `json:"maturity,omitempty"`
	Description    string                 `json:"description,omitempty"`
	InstallModes   []v1alpha1.InstallMode `json:"installModes,omitempty"`
	CSVKinds       `json:",inline"`
	MinKubeVersion string   `json:"minKubeVersion,omitempty"`
	RelatedImages  []string `json:"relatedImages,omitempty"`
}

// CSVKinds are the kinds that a version provides and needs.
type CSVKinds struct {
	// CustomResourceDefinitions and APIServiceDefinitions are objects with the fields owned and required.
	CustomResourceDefinitions *runtime.RawExtension     `json:"customresourcedefinitions,omitempty"`
	APIServiceDefinitions     *runtime.RawExtension     `json:"apiservicedefinitions,omitempty"`
	NativeAPIs                []metav1.GroupVersionKind `json:"nativeApis,omitempty"`
}

// Icon is an image of an operator.
type Icon struct {
	Data      string `json:"base64data"`
	MediaType string `json:"mediatype"`
}

// Maintainer is somebody who maintains an operator.
type Maintainer struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
}
