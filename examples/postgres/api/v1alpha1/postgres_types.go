// Package v1alpha1 holds version v1alpha1 of the API in group db.example.com.
//
// +kubebuilder:object:generate=true
// +groupName=db.example.com
package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Run "operon generate" after a change of this file.

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "db.example.com", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Postgres{}, &PostgresList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Postgres is a PostgreSQL server with a volume, generated credentials and backups.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pg,scope=Namespaced
// +kubebuilder:printcolumn:name=Version,type=integer,JSONPath=.spec.version
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=.status.conditions[?(@.type=="Ready")].status
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
type Postgres struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   PostgresSpec   `json:"spec"`
	Status PostgresStatus `json:"status,omitempty"`
}

// PostgresSpec is the desired state of a Postgres.
type PostgresSpec struct {
	// Version is the major version of PostgreSQL.
	//
	// +optional
	// +kubebuilder:default=17
	// +kubebuilder:validation:Minimum=14
	Version int32 `json:"version"`
	// Storage is the size of the volume. It cannot be changed: a volume claim template is immutable.
	//
	// +optional
	// +kubebuilder:default="1Gi"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the size of the volume cannot be changed"
	Storage resource.Quantity `json:"storage"`
	// Backup configures dumps of all databases. Without it, no dumps are created.
	//
	// +optional
	Backup *Backup `json:"backup,omitempty"`
}

// Backup defines when dumps are created, and where they are written.
type Backup struct {
	// Schedule is a schedule in the format of a CronJob, such as "0 3 * * *".
	Schedule string `json:"schedule"`
	// Claim is the name of a PersistentVolumeClaim to which dumps are written.
	Claim string `json:"claim"`
}

// PostgresStatus is the observed state of a Postgres.
type PostgresStatus struct {
	// Ready reports whether the server accepts connections.
	Ready bool `json:"ready,omitempty"`
	// LastBackup is the time when the last dump was completed.
	LastBackup *metav1.Time `json:"lastBackup,omitempty"`
	// ObservedGeneration is the generation of the spec that the conditions are about. Operon sets it.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions include Ready, and Reconciling or Stalled while they are true. Operon sets them.
	//
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PostgresList is a list of Postgres.
//
// +kubebuilder:object:root=true
type PostgresList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Postgres `json:"items"`
}
