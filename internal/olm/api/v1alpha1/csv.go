package v1alpha1

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ClusterServiceVersion is one version of an operator: what it needs, what it runs, and the APIs that it provides.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=csv;csvs,categories=olm
// +kubebuilder:metadata:annotations="prove.operon.dev/history=status.conditions"
// +kubebuilder:printcolumn:name=Display,type=string,JSONPath=.spec.displayName
// +kubebuilder:printcolumn:name=Version,type=string,JSONPath=.spec.version
// +kubebuilder:printcolumn:name=Release,type=string,JSONPath=.spec.release
// +kubebuilder:printcolumn:name=Replaces,type=string,JSONPath=.spec.replaces
// +kubebuilder:printcolumn:name=Phase,type=string,JSONPath=.status.phase
type ClusterServiceVersion struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   ClusterServiceVersionSpec   `json:"spec"`
	Status ClusterServiceVersionStatus `json:"status,omitempty"`
}

// ClusterServiceVersionList is a list of ClusterServiceVersions.
//
// +kubebuilder:object:root=true
type ClusterServiceVersionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterServiceVersion `json:"items"`
}

// ClusterServiceVersionSpec describes a version of an operator. Fields that are only shown to people are kept, and have no type here.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterServiceVersionSpec struct {
	// DisplayName is the name of the operator for people.
	DisplayName string `json:"displayName,omitempty"`
	// Version is the semantic version of the operator.
	Version string `json:"version,omitempty"`
	// Release is a part of the version that follows it.
	//
	// +kubebuilder:validation:MaxLength=20
	Release string `json:"release,omitempty"`
	// Replaces is the name of the ClusterServiceVersion that this one takes the place of.
	Replaces string `json:"replaces,omitempty"`
	// Skips are the names of versions that this one makes unnecessary.
	Skips []string `json:"skips,omitempty"`
	// MinKubeVersion is the oldest version of Kubernetes that the operator works with.
	MinKubeVersion string `json:"minKubeVersion,omitempty"`
	// InstallModes are the sets of namespaces that the operator can work in. A missing type is not supported.
	InstallModes []InstallMode `json:"installModes,omitempty"`
	// Install is how the operator is run.
	Install InstallStrategy `json:"install,omitempty"`
	// CustomResourceDefinitions are the kinds that the operator provides and needs.
	CustomResourceDefinitions CRDDescriptions `json:"customresourcedefinitions,omitempty"`
	// APIServiceDefinitions are the aggregated APIs that the operator provides and needs.
	APIServiceDefinitions APIServiceDescriptions `json:"apiservicedefinitions,omitempty"`
	// WebhookDefinitions are the webhooks that the operator serves.
	WebhookDefinitions []WebhookDescription `json:"webhookdefinitions,omitempty"`
	// NativeAPIs are kinds that the API server has to have.
	NativeAPIs []metav1.GroupVersionKind `json:"nativeAPIs,omitempty"`
}

// InstallModeType is a set of namespaces that an operator works in.
type InstallModeType string

// The types of install modes.
const (
	OwnNamespace    InstallModeType = "OwnNamespace"
	SingleNamespace InstallModeType = "SingleNamespace"
	MultiNamespace  InstallModeType = "MultiNamespace"
	AllNamespaces   InstallModeType = "AllNamespaces"
)

// InstallMode says whether an operator supports a set of namespaces.
type InstallMode struct {
	Type      InstallModeType `json:"type"`
	Supported bool            `json:"supported"`
}

// StrategyDeployment is the only install strategy: the operator runs in Deployments.
const StrategyDeployment = "deployment"

// InstallStrategy is how an operator is run.
type InstallStrategy struct {
	// Strategy is the name of the strategy: deployment.
	Strategy string `json:"strategy,omitempty"`
	// Spec has the Deployments and permissions of the operator.
	Spec StrategyDetails `json:"spec,omitempty"`
}

// StrategyDetails are the Deployments and the permissions of an operator.
type StrategyDetails struct {
	Deployments        []DeploymentSpec `json:"deployments,omitempty"`
	Permissions        []Permissions    `json:"permissions,omitempty"`
	ClusterPermissions []Permissions    `json:"clusterPermissions,omitempty"`
}

// DeploymentSpec is a Deployment of an operator.
type DeploymentSpec struct {
	Name string `json:"name"`
	// Label are the labels of the Deployment.
	Label map[string]string `json:"label,omitempty"`
	// Spec is the spec of a Deployment of apps/v1.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec runtime.RawExtension `json:"spec"`
}

// Permissions are what a ServiceAccount may do.
type Permissions struct {
	ServiceAccountName string              `json:"serviceAccountName"`
	Rules              []rbacv1.PolicyRule `json:"rules,omitempty"`
}

// CRDDescriptions are the kinds that an operator provides and needs.
type CRDDescriptions struct {
	Owned    []CRDDescription `json:"owned,omitempty"`
	Required []CRDDescription `json:"required,omitempty"`
}

// CRDDescription is a kind that a CustomResourceDefinition defines.
//
// +kubebuilder:pruning:PreserveUnknownFields
type CRDDescription struct {
	// Name is the name of the CustomResourceDefinition: plural.group.
	Name    string `json:"name"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// APIServiceDescriptions are the aggregated APIs that an operator provides and needs.
type APIServiceDescriptions struct {
	Owned    []APIServiceDescription `json:"owned,omitempty"`
	Required []APIServiceDescription `json:"required,omitempty"`
}

// APIServiceDescription is an API that an aggregated API server serves.
//
// +kubebuilder:pruning:PreserveUnknownFields
type APIServiceDescription struct {
	Name           string `json:"name,omitempty"`
	Group          string `json:"group"`
	Version        string `json:"version"`
	Kind           string `json:"kind"`
	DeploymentName string `json:"deploymentName,omitempty"`
	// ContainerPort is the port of the API server. Default: 443.
	ContainerPort int32 `json:"containerPort,omitempty"`
}

// WebhookType is what a webhook is called for.
type WebhookType string

// The types of webhooks.
const (
	ValidatingWebhook WebhookType = "ValidatingAdmissionWebhook"
	MutatingWebhook   WebhookType = "MutatingAdmissionWebhook"
	ConversionWebhook WebhookType = "ConversionWebhook"
)

// WebhookDescription is a webhook that a Deployment of the operator serves.
//
// +kubebuilder:pruning:PreserveUnknownFields
type WebhookDescription struct {
	GenerateName string `json:"generateName"`
	// +kubebuilder:validation:Enum=ValidatingAdmissionWebhook;MutatingAdmissionWebhook;ConversionWebhook
	Type           WebhookType `json:"type"`
	DeploymentName string      `json:"deploymentName,omitempty"`
	// ContainerPort is the port of the Service. Default: 443.
	ContainerPort int32 `json:"containerPort,omitempty"`
	// TargetPort is the port of the pods. Default: ContainerPort.
	TargetPort              *intstr.IntOrString                             `json:"targetPort,omitempty"`
	Rules                   []admissionregistrationv1.RuleWithOperations    `json:"rules,omitempty"`
	FailurePolicy           *admissionregistrationv1.FailurePolicyType      `json:"failurePolicy,omitempty"`
	MatchPolicy             *admissionregistrationv1.MatchPolicyType        `json:"matchPolicy,omitempty"`
	ObjectSelector          *metav1.LabelSelector                           `json:"objectSelector,omitempty"`
	SideEffects             *admissionregistrationv1.SideEffectClass        `json:"sideEffects,omitempty"`
	TimeoutSeconds          *int32                                          `json:"timeoutSeconds,omitempty"`
	AdmissionReviewVersions []string                                        `json:"admissionReviewVersions,omitempty"`
	ReinvocationPolicy      *admissionregistrationv1.ReinvocationPolicyType `json:"reinvocationPolicy,omitempty"`
	WebhookPath             *string                                         `json:"webhookPath,omitempty"`
	// ConversionCRDs are the names of the CustomResourceDefinitions whose objects the webhook converts.
	ConversionCRDs []string `json:"conversionCRDs,omitempty"`
}

// FinalizerOLM is the finalizer that the Operator Lifecycle Manager sets on versions.
const FinalizerOLM = "operators.coreos.com/csv-cleanup"

// LabelCopiedFrom is on a copy of a version, which the Operator Lifecycle Manager makes in each namespace that the operator works in. Its value
// is the namespace of the version.
const LabelCopiedFrom = "olm.copiedFrom"

// Copied reports whether this is a copy of a version in another namespace.
func (c *ClusterServiceVersion) Copied() bool { return c.Labels[LabelCopiedFrom] != "" }

// Phase is how far the installation of a version is.
type Phase string

// The phases of a ClusterServiceVersion.
const (
	PhaseNone         Phase = ""
	PhasePending      Phase = "Pending"
	PhaseInstallReady Phase = "InstallReady"
	PhaseInstalling   Phase = "Installing"
	PhaseSucceeded    Phase = "Succeeded"
	PhaseFailed       Phase = "Failed"
	PhaseReplacing    Phase = "Replacing"
	PhaseDeleting     Phase = "Deleting"
)

// ClusterServiceVersionStatus is how far the installation of a version is, and what it waits for.
type ClusterServiceVersionStatus struct {
	Phase              Phase        `json:"phase,omitempty"`
	Reason             string       `json:"reason,omitempty"`
	Message            string       `json:"message,omitempty"`
	LastUpdateTime     *metav1.Time `json:"lastUpdateTime,omitempty"`
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
	// History are the last phases, the current one last.
	History []PhaseEntry `json:"conditions,omitempty"`
	// RequirementStatus are the objects that the operator needs, and which of them exist.
	RequirementStatus []Requirement `json:"requirementStatus,omitempty"`
	// CertsLastUpdated and CertsRotateAt are when the certificates of webhooks and API services were and will be issued.
	CertsLastUpdated *metav1.Time `json:"certsLastUpdated,omitempty"`
	CertsRotateAt    *metav1.Time `json:"certsRotateAt,omitempty"`
	// Conversions are the names of the CustomResourceDefinitions whose versions the operator converts.
	Conversions []string `json:"conversions,omitempty"`
	// Config are the changes of the Subscription to the Deployments. They stay when the Subscription is deleted.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *apiextensionsv1.JSON `json:"config,omitempty"`
	// PermissionsDigest is the digest of the permissions that a plan granted: those of the operator, and those of users for its kinds.
	PermissionsDigest string `json:"permissionsDigest,omitempty"`
	// Report is what the manager reports about its work.
	Report `json:"manager,omitempty"`
}

// Report is what the manager reports about its work on an object, as conditions of the usual form. The conditions in the other fields of
// such a status have the form that existing clients expect.
type Report struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are Ready, and Reconciling or Stalled while they are true.
	//
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PhaseEntry is a phase that the installation was in.
type PhaseEntry struct {
	Phase              Phase        `json:"phase,omitempty"`
	Reason             string       `json:"reason,omitempty"`
	Message            string       `json:"message,omitempty"`
	LastUpdateTime     *metav1.Time `json:"lastUpdateTime,omitempty"`
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

// RequirementState says whether an object that the operator needs exists.
type RequirementState string

// The states of requirements.
const (
	Present             RequirementState = "Present"
	NotPresent          RequirementState = "NotPresent"
	PresentNotSatisfied RequirementState = "PresentNotSatisfied"
	NotAvailable        RequirementState = "PresentNotAvailable"
	DeploymentFound     RequirementState = "DeploymentFound"
	DeploymentNotFound  RequirementState = "DeploymentNotFound"
	Satisfied           RequirementState = "Satisfied"
	NotSatisfied        RequirementState = "NotSatisfied"
)

// Requirement is an object that the operator needs.
type Requirement struct {
	Group   string           `json:"group"`
	Version string           `json:"version"`
	Kind    string           `json:"kind"`
	Name    string           `json:"name"`
	Status  RequirementState `json:"status"`
	Message string           `json:"message"`
	UUID    string           `json:"uuid,omitempty"`
	// Dependents are the permissions that a ServiceAccount needs.
	Dependents []Dependent `json:"dependents,omitempty"`
}

// Dependent is a permission that a ServiceAccount needs.
type Dependent struct {
	Group   string           `json:"group"`
	Version string           `json:"version"`
	Kind    string           `json:"kind"`
	Status  RequirementState `json:"status"`
	Message string           `json:"message,omitempty"`
	UUID    string           `json:"uuid,omitempty"`
}
