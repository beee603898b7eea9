package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Subscription keeps an operator of a catalog installed, and upgrades it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=sub;subs,categories=olm
// +kubebuilder:printcolumn:name=Package,type=string,JSONPath=.spec.name
// +kubebuilder:printcolumn:name=Source,type=string,JSONPath=.spec.source
// +kubebuilder:printcolumn:name=Channel,type=string,JSONPath=.spec.channel
// +kubebuilder:printcolumn:name=Installed,type=string,JSONPath=.status.installedCSV
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=.status.state
type Subscription struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   SubscriptionSpec   `json:"spec"`
	Status SubscriptionStatus `json:"status,omitempty"`
}

// SubscriptionList is a list of Subscriptions.
//
// +kubebuilder:object:root=true
type SubscriptionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Subscription `json:"items"`
}

// Approval says whether an installation waits for a person.
type Approval string

// The kinds of approval.
const (
	Automatic Approval = "Automatic"
	Manual    Approval = "Manual"
)

// SubscriptionSpec names a package of a catalog.
type SubscriptionSpec struct {
	// CatalogSource is the name of the catalog.
	CatalogSource string `json:"source"`
	// CatalogSourceNamespace is the namespace of the catalog. Default: that of the Subscription.
	CatalogSourceNamespace string `json:"sourceNamespace,omitempty"`
	// Package is the name of the package.
	Package string `json:"name"`
	// Channel is the channel of the package. Default: the default channel.
	Channel string `json:"channel,omitempty"`
	// StartingCSV is the version to install first. Default: the newest one of the channel.
	StartingCSV string `json:"startingCSV,omitempty"`
	// InstallPlanApproval says whether installations and upgrades wait for approval. Default: Automatic.
	//
	// +kubebuilder:validation:Enum="";Automatic;Manual
	InstallPlanApproval Approval `json:"installPlanApproval,omitempty"`
	// Config changes the Deployments of the operator.
	Config *SubscriptionConfig `json:"config,omitempty"`
}

// SubscriptionConfig changes the Deployments of an operator. The names of fields are those of pods and containers.
//
// +kubebuilder:pruning:PreserveUnknownFields
type SubscriptionConfig struct {
	// Env are variables of all containers, in the place of variables with the same names.
	Env []corev1.EnvVar `json:"env,omitempty"`
	// EnvFrom are added to all containers.
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// Tolerations are added to the pods.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// NodeSelector replaces that of the pods.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Resources replace those of all containers.
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// Annotations are added to the Deployments and the pods. Existing ones are not replaced.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Volumes and VolumeMounts are added to the pods and all containers, in the place of those with the same names.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Volumes apiextensionsv1.JSON `json:"volumes,omitempty"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	VolumeMounts apiextensionsv1.JSON `json:"volumeMounts,omitempty"`
	// Affinity replaces the parts of the pods' affinity that are set. An empty part removes it.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Affinity apiextensionsv1.JSON `json:"affinity,omitempty"`
}

// States of a Subscription.
const (
	StateUpgradeAvailable = "UpgradeAvailable"
	StateUpgradePending   = "UpgradePending"
	StateUpgradeFailed    = "UpgradeFailed"
	StateAtLatestKnown    = "AtLatestKnown"
)

// AnnotationDependencyOf is on a Subscription that the manager made for a dependency, with the name of the Subscription whose version needs it.
const AnnotationDependencyOf = "olm.dependency-of"

// AnnotationRollback is set to "true" on a Subscription by users: a version that does not become available is replaced by the version before.
const AnnotationRollback = "olm.operon.dev/rollback"

// SubscriptionStatus is what a Subscription installed.
type SubscriptionStatus struct {
	// InstalledCSV is the version that is installed, and CurrentCSV the one that is chosen.
	InstalledCSV string `json:"installedCSV,omitempty"`
	CurrentCSV   string `json:"currentCSV,omitempty"`
	// State is UpgradeAvailable, UpgradePending, UpgradeFailed or AtLatestKnown. It is empty before something is chosen. UpgradeAvailable means
	// that the catalog has a newer version, which cannot be installed.
	State  string `json:"state,omitempty"`
	Reason string `json:"reason,omitempty"`
	// InstallPlanRef is the plan of the version that is chosen, and InstallPlan the same plan in an older form.
	InstallPlanRef *corev1.ObjectReference `json:"installPlanRef,omitempty"`
	InstallPlan    *InstallPlanReference   `json:"installplan,omitempty"`
	// InstallPlanGeneration is spec.generation of that plan.
	InstallPlanGeneration int `json:"installPlanGeneration,omitempty"`
	// CatalogHealth are the catalogs that count for the namespace.
	CatalogHealth []CatalogHealth `json:"catalogHealth,omitempty"`
	// RolledBack are the versions that did not become available, so that the version before works again. They are not installed again while
	// the annotation olm.operon.dev/rollback is "true" and the catalog has the same image for them.
	//
	// +listType=map
	// +listMapKey=name
	RolledBack []RolledBack `json:"rolledBack,omitempty"`
	// LastUpdated is when the status changed.
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`
	// Problems are conditions that only exist while they are true, such as ResolutionFailed. They have no schema: those that the Operator
	// Lifecycle Manager left behind may lack a reason or a time.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Problems []metav1.Condition `json:"conditions,omitempty"`
	// Report is what the manager reports about its work.
	Report `json:"manager,omitempty"`
}

// InstallPlanReference names a plan.
type InstallPlanReference struct {
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind,omitempty"`
	Name       string    `json:"name,omitempty"`
	UID        types.UID `json:"uuid,omitempty"`
}

// RolledBack is a version that did not become available.
type RolledBack struct {
	// Name is the name of the version, Image its bundle, and Replaced the version that works again.
	Name     string `json:"name"`
	Image    string `json:"image,omitempty"`
	Replaced string `json:"replaced"`
	// Message says why.
	Message string `json:"message,omitempty"`
}

// CatalogHealth says whether a catalog can be read.
type CatalogHealth struct {
	CatalogSourceRef *corev1.ObjectReference `json:"catalogSourceRef"`
	Healthy          bool                    `json:"healthy"`
	LastUpdated      *metav1.Time            `json:"lastUpdated,omitempty"`
}
