package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CatalogSource is a catalog of operators.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=catsrc,categories=olm
// +kubebuilder:printcolumn:name=Display,type=string,JSONPath=.spec.displayName
// +kubebuilder:printcolumn:name=Type,type=string,JSONPath=.spec.sourceType
// +kubebuilder:printcolumn:name=Publisher,type=string,JSONPath=.spec.publisher
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=.status.connectionState.lastObservedState
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
type CatalogSource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   CatalogSourceSpec   `json:"spec"`
	Status CatalogSourceStatus `json:"status,omitempty"`
}

// CatalogSourceList is a list of CatalogSources.
//
// +kubebuilder:object:root=true
type CatalogSourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CatalogSource `json:"items"`
}

// Types of catalogs. SourceGRPC is in an image, or is served by gRPC. The others are two names for a catalog in a ConfigMap.
const (
	SourceGRPC      = "grpc"
	SourceConfigMap = "configmap"
	SourceInternal  = "internal"
)

// CatalogSourceSpec says where a catalog is.
//
// +kubebuilder:pruning:PreserveUnknownFields
type CatalogSourceSpec struct {
	// SourceType is grpc, configmap or internal, which is the same as configmap.
	SourceType string `json:"sourceType"`
	// Image is the image with the catalog.
	Image string `json:"image,omitempty"`
	// Address is the host and the port of a server of the catalog.
	Address string `json:"address,omitempty"`
	// ConfigMap is the name of the ConfigMap in the namespace with the catalog.
	ConfigMap string `json:"configMap,omitempty"`
	// Priority is higher for catalogs that are preferred.
	Priority int `json:"priority,omitempty"`
	// Secrets are the names of Secrets in the namespace, of type kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg, with credentials for
	// the registries of the catalog and of its bundles.
	Secrets []string `json:"secrets,omitempty"`
	// UpdateStrategy is how often the image is fetched again.
	UpdateStrategy *UpdateStrategy `json:"updateStrategy,omitempty"`
	DisplayName    string          `json:"displayName,omitempty"`
	Publisher      string          `json:"publisher,omitempty"`
}

// UpdateStrategy is how often the image of a catalog is fetched again.
type UpdateStrategy struct {
	RegistryPoll *RegistryPoll `json:"registryPoll,omitempty"`
}

// RegistryPoll is a period.
type RegistryPoll struct {
	// Interval is a duration such as 30m. It is not a metav1.Duration, because one that is not valid would make lists of CatalogSources
	// unreadable.
	Interval string `json:"interval,omitempty"`
}

// States of the connection to a catalog.
const (
	StateReady            = "READY"
	StateTransientFailure = "TRANSIENT_FAILURE"
)

// CatalogSourceStatus says whether a catalog can be read.
type CatalogSourceStatus struct {
	Message                 string           `json:"message,omitempty"`
	Reason                  string           `json:"reason,omitempty"`
	ConnectionState         *ConnectionState `json:"connectionState,omitempty"`
	LatestImageRegistryPoll *metav1.Time     `json:"latestImageRegistryPoll,omitempty"`
	// ConfigMap is the ConfigMap that is read.
	ConfigMap *ConfigMapReference `json:"configMapReference,omitempty"`
	// Digest is the digest of the image or of the data that is read.
	Digest string `json:"digest,omitempty"`
	// Packages is the number of packages, and Broken are those that cannot be used.
	Packages int      `json:"packages,omitempty"`
	Broken   []string `json:"broken,omitempty"`
	// Report is what the manager reports about its work.
	Report `json:"manager,omitempty"`
}

// ConnectionState is the state of the connection to a catalog.
type ConnectionState struct {
	Address           string       `json:"address,omitempty"`
	LastObservedState string       `json:"lastObservedState"`
	LastConnect       *metav1.Time `json:"lastConnect,omitempty"`
}

// ConfigMapReference is a version of a ConfigMap.
type ConfigMapReference struct {
	Name            string `json:"name"`
	Namespace       string `json:"namespace"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
}
