package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// ClusterExtension keeps a package of the ClusterCatalogs installed and upgrades it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="Installed Bundle",type=string,JSONPath=.status.install.bundle.name
// +kubebuilder:printcolumn:name=Version,type=string,JSONPath=.status.install.bundle.version
// +kubebuilder:printcolumn:name=Installed,type=string,JSONPath=`.status.conditions[?(@.type=="Installed")].status`
// +kubebuilder:printcolumn:name=Progressing,type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
type ClusterExtension struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   ClusterExtensionSpec   `json:"spec"`
	Status ClusterExtensionStatus `json:"status,omitempty"`
}

// ClusterExtensionList is a list of ClusterExtensions.
//
// +kubebuilder:object:root=true
type ClusterExtensionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterExtension `json:"items"`
}

// ClusterExtensionSpec says what is installed, and where.
type ClusterExtensionSpec struct {
	// Namespace is the namespace of the operator. It must exist.
	//
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="namespace is immutable"
	Namespace string `json:"namespace"`
	// ServiceAccount limits the operator to the permissions of a ServiceAccount of its namespace.
	ServiceAccount *ServiceAccountReference `json:"serviceAccount,omitempty"`
	Source         Source                   `json:"source"`
	Install        *InstallConfig           `json:"install,omitempty"`
	// ProgressDeadlineMinutes is how long an installation may take before it counts as failed. Default: forever.
	//
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=720
	ProgressDeadlineMinutes int32 `json:"progressDeadlineMinutes,omitempty"`
}

// ServiceAccountReference names a ServiceAccount.
type ServiceAccountReference struct {
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
}

// Source is where the content of a ClusterExtension comes from.
//
// +kubebuilder:validation:XValidation:rule="has(self.catalog)",message="catalog is required when the sourceType is Catalog"
type Source struct {
	// SourceType is Catalog.
	//
	// +kubebuilder:validation:Enum=Catalog
	SourceType string         `json:"sourceType"`
	Catalog    *CatalogFilter `json:"catalog,omitempty"`
}

// Values of UpgradeConstraintPolicy.
const (
	CatalogProvided = "CatalogProvided"
	SelfCertified   = "SelfCertified"
)

// CatalogFilter selects the versions of a package.
type CatalogFilter struct {
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="packageName is immutable"
	PackageName string `json:"packageName"`
	// Version is a range of versions. Default: all.
	//
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// Channels are the names of the channels. Default: all.
	//
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=253
	Channels []string `json:"channels,omitempty"`
	// Selector selects ClusterCatalogs by their labels. Default: all.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// UpgradeConstraintPolicy is CatalogProvided, with which only successors of the installed version are chosen, or SelfCertified, with which any
	// version is.
	//
	// +kubebuilder:validation:Enum=CatalogProvided;SelfCertified
	// +kubebuilder:default=CatalogProvided
	UpgradeConstraintPolicy string `json:"upgradeConstraintPolicy,omitempty"`
}

// InstallConfig configures the installation.
type InstallConfig struct {
	Preflight *Preflight `json:"preflight,omitempty"`
}

// Preflight configures the checks before anything is written.
type Preflight struct {
	CRDUpgradeSafety *CRDUpgradeSafety `json:"crdUpgradeSafety,omitempty"`
}

// CRDUpgradeSafety is the check of what a version does to stored objects. It cannot be turned off.
type CRDUpgradeSafety struct {
	// +kubebuilder:validation:Enum=Strict
	Enforcement string `json:"enforcement"`
}

// ClusterExtensionStatus says what is installed.
type ClusterExtensionStatus struct {
	// States are the conditions Installed, Progressing, Deprecated, PackageDeprecated, ChannelDeprecated and BundleDeprecated.
	//
	// +listType=map
	// +listMapKey=type
	States  []metav1.Condition `json:"conditions,omitempty"`
	Install *InstallStatus     `json:"install,omitempty"`
	// Report is what the manager reports about its work.
	v1alpha1.Report `json:"manager,omitempty"`
}

// InstallStatus is what is installed.
type InstallStatus struct {
	Bundle BundleMetadata `json:"bundle"`
}

// BundleMetadata identifies a bundle.
type BundleMetadata struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}
