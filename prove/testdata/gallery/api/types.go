package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Version is the group and version of all kinds.
var Version = schema.GroupVersion{Group: "gallery.operon.dev", Version: "v1"}

// AddToScheme is Add, by the name that projects usually have it.
var AddToScheme = Add

// Add adds the kinds to a scheme.
func Add(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(Version,
		&App{}, &AppList{}, &Store{}, &StoreList{}, &Backup{}, &BackupList{},
		&Site{}, &SiteList{}, &Tenant{}, &TenantList{})
	metav1.AddToGroupVersion(scheme, Version)
	return nil
}

// Ready is the condition of all kinds: what belongs to the object is there and at work.
const Ready = "Ready"

// App is a program that is kept running.
type App struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AppSpec   `json:"spec,omitempty"`
	Status AppStatus `json:"status,omitempty"`
}

// AppSpec is what runs, and how.
type AppSpec struct {
	// Image is the container's.
	Image string `json:"image,omitempty"`
	// Replicas is how many run. A small App has at most 5.
	Replicas int32 `json:"replicas"`
	// Tier is small, medium or large: what one asks of its node.
	Tier string `json:"tier,omitempty"`
	// Memory is a quantity, for GOMEMLIMIT. One that is none is reported, and left out.
	Memory string `json:"memory,omitempty"`
	// Config are the files of the program.
	Config map[string]string `json:"config,omitempty"`
	// Env is its environment.
	Env []EnvVar `json:"env,omitempty"`
	// SecretName is a Secret of the user's. When it changes, the program is started again.
	SecretName string `json:"secretName,omitempty"`
	// Service makes it reachable.
	Service *ServiceSpec `json:"service,omitempty"`
	// Paused suspends the operator, if it supports that.
	Paused bool `json:"paused,omitempty"`
}

// EnvVar is a variable of the environment.
type EnvVar struct {
	Name string `json:"name"`
	// Value may be empty.
	Value string `json:"value,omitempty"`
}

// ServiceSpec is how an App is reached.
type ServiceSpec struct {
	// Port is the Service's. The program's is 8080.
	Port int32 `json:"port"`
	// Sticky keeps a client with the same pod.
	Sticky bool `json:"sticky,omitempty"`
}

// AppStatus is what is known of an App.
type AppStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Phase              string             `json:"phase,omitempty"`
	ReadyReplicas      int32              `json:"readyReplicas,omitempty"`
	Checked            string             `json:"checked,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// AppList is a list of Apps.
type AppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []App `json:"items"`
}

// Store is a database.
type Store struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   StoreSpec   `json:"spec,omitempty"`
	Status StoreStatus `json:"status,omitempty"`
}

// StoreSpec is what database.
type StoreSpec struct {
	// Size is the number of members. Each has a claim of its own.
	Size int32 `json:"size"`
	// Version is 1.0, 1.1 or 2.0.
	Version string `json:"version,omitempty"`
	// Settings are the files of its configuration.
	Settings map[string]string `json:"settings,omitempty"`
	// Storage cannot be changed.
	Storage Storage `json:"storage,omitempty"`
}

// Storage is what a member keeps its data on.
type Storage struct {
	// Gigabytes is the size of the claim.
	Gigabytes int32 `json:"gigabytes"`
}

// StoreStatus is what is known of a Store.
type StoreStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Phase              string             `json:"phase,omitempty"`
	Version            string             `json:"version,omitempty"`
	ReadyMembers       int32              `json:"readyMembers,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// StoreList is a list of Stores.
type StoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Store `json:"items"`
}

// Backup is done once.
type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BackupSpec   `json:"spec,omitempty"`
	Status BackupStatus `json:"status,omitempty"`
}

// BackupSpec is what is backed up. It cannot be changed.
type BackupSpec struct {
	// Of is the name of what is backed up.
	Of string `json:"of"`
	// Image is that of the Job.
	Image string `json:"image,omitempty"`
	// Retries is how often the Job tries again.
	Retries int32 `json:"retries"`
}

// BackupStatus is how far it is.
type BackupStatus struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase is Pending, Running, Succeeded or Failed.
	Phase string `json:"phase,omitempty"`
	// Job is the name of the Job.
	Job        string             `json:"job,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BackupList is a list of Backups.
type BackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Backup `json:"items"`
}

// GrantSpec is what a ClusterRole allows.
type GrantSpec struct {
	// Reads are the resources that may be read.
	Reads []string `json:"reads,omitempty"`
	// Note is for people, an annotation of the ClusterRole.
	Note string `json:"note,omitempty"`
}

// GrantStatus is what is known of a Site or Tenant.
type GrantStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Role               string             `json:"role,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// Site has a ClusterRole, which its namespace's end does not take away.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GrantSpec   `json:"spec,omitempty"`
	Status GrantStatus `json:"status,omitempty"`
}

// SiteList is a list of Sites.
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Site `json:"items"`
}

// Tenant is as a Site, and in no namespace.
type Tenant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GrantSpec   `json:"spec,omitempty"`
	Status GrantStatus `json:"status,omitempty"`
}

// TenantList is a list of Tenants.
type TenantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Tenant `json:"items"`
}
