package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InstallPlan is a set of versions that are installed together, and the objects for it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ip,categories=olm
// +kubebuilder:metadata:annotations="prove.operon.dev/history=status.plan[*].status"
// +kubebuilder:printcolumn:name=CSV,type=string,JSONPath=.spec.clusterServiceVersionNames[0]
// +kubebuilder:printcolumn:name=Approval,type=string,JSONPath=.spec.approval
// +kubebuilder:printcolumn:name=Approved,type=boolean,JSONPath=.spec.approved
// +kubebuilder:printcolumn:name=Phase,type=string,JSONPath=.status.phase
type InstallPlan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   InstallPlanSpec   `json:"spec"`
	Status InstallPlanStatus `json:"status,omitempty"`
}

// InstallPlanList is a list of InstallPlans.
//
// +kubebuilder:object:root=true
type InstallPlanList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []InstallPlan `json:"items"`
}

// InstallPlanSpec has the versions of a plan.
type InstallPlanSpec struct {
	// ClusterServiceVersionNames are the versions that are installed.
	ClusterServiceVersionNames []string `json:"clusterServiceVersionNames"`
	// Approval says whether the plan waits for approval.
	//
	// +kubebuilder:validation:Enum=Automatic;Manual
	Approval Approval `json:"approval"`
	// Approved allows a plan that waits for approval.
	//
	// +kubebuilder:default=false
	Approved bool `json:"approved"`
	// Generation counts the plans of a namespace. Plans that are made at the same time can have the same one.
	Generation int `json:"generation,omitempty"`
}

// InstallPlanPhase is how far a plan is.
type InstallPlanPhase string

// The phases of a plan.
const (
	PlanPlanning         InstallPlanPhase = "Planning"
	PlanRequiresApproval InstallPlanPhase = "RequiresApproval"
	PlanInstalling       InstallPlanPhase = "Installing"
	PlanComplete         InstallPlanPhase = "Complete"
	PlanFailed           InstallPlanPhase = "Failed"
)

// InstallPlanStatus is how far a plan is, and its objects.
type InstallPlanStatus struct {
	Phase   InstallPlanPhase `json:"phase,omitempty"`
	Message string           `json:"message,omitempty"`
	// CatalogSources are the catalogs from which the versions are.
	CatalogSources []string `json:"catalogSources,omitempty"`
	// BundleLookups are the bundles of the versions.
	BundleLookups []BundleLookup `json:"bundleLookups,omitempty"`
	// Plan are the objects of the plan, in the order in which they are written.
	Plan []Step `json:"plan,omitempty"`
	// StartTime is when the installation began.
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// Steps are Resolved and Installed, and Converted if objects differ from those in the bundles. They have no schema: those of plans of the Operator Lifecycle Manager have no reason.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Steps []metav1.Condition `json:"conditions,omitempty"`
	// Report is what the manager reports about its work.
	Report `json:"manager,omitempty"`
}

// BundleLookup is the bundle of a version.
type BundleLookup struct {
	// Path is the image of the bundle.
	Path string `json:"path"`
	// Identifier is the name of the version.
	Identifier string `json:"identifier"`
	Replaces   string `json:"replaces"`
	// CatalogSourceRef is the catalog that has the bundle.
	CatalogSourceRef *corev1.ObjectReference `json:"catalogSourceRef"`
	// Digest is the digest of the image that was fetched.
	Digest string `json:"digest,omitempty"`
	// PermissionsDigest is the digest of the permissions that the plan grants: those of the operator, and those of users for its kinds.
	PermissionsDigest string `json:"permissionsDigest,omitempty"`
}

// StepStatus says whether an object of a plan is written.
type StepStatus string

// The states of steps.
const (
	StepUnknown     StepStatus = "Unknown"
	StepCreated     StepStatus = "Created"
	StepPresent     StepStatus = "Present" // it existed before
	StepUnsupported StepStatus = "UnsupportedResource"
)

// Step is an object of a plan.
type Step struct {
	// Resolving is the version to which the object belongs.
	Resolving string       `json:"resolving"`
	Resource  StepResource `json:"resource"`
	Status    StepStatus   `json:"status"`
}

// StepResource is an object of a plan.
type StepResource struct {
	CatalogSource          string `json:"sourceName"`
	CatalogSourceNamespace string `json:"sourceNamespace"`
	Group                  string `json:"group"`
	Version                string `json:"version"`
	Kind                   string `json:"kind"`
	Name                   string `json:"name"`
	// Manifest is the object as JSON, while the plan waits for approval. CompressedManifest is there instead for a large one: it is compressed
	// by gzip. Both are missing for the largest objects of a plan that is too large.
	Manifest           string `json:"manifest,omitempty"`
	CompressedManifest []byte `json:"compressedManifest,omitempty"`
}
