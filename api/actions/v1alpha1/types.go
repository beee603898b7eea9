// Package v1alpha1 is the API of the group actions.operon.dev. An Action requests one operation on an object,
// such as a backup. An ActionSchedule creates Actions on a cron schedule. Every operator built with Operon
// can serve them for objects of its own kinds: implement operon.ActionHandler to offer actions. The
// CustomResourceDefinitions are in the directory crd, and [CRDs] returns them.
//
// +kubebuilder:object:generate=true
// +groupName=actions.operon.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/durable/journal"
)

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0 object crd:maxDescLen=200 paths=. output:crd:dir=crd

// GroupVersion of this API.
var GroupVersion = schema.GroupVersion{Group: "actions.operon.dev", Version: "v1alpha1"}

// AddToScheme registers the kinds of this API.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Action{}, &ActionList{}, &ActionSchedule{}, &ActionScheduleList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Action requests one operation on an object, such as a backup. The operator runs it as a workflow, each step of which runs
// once. Actions on the same object run one after the other.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="prove.operon.dev/history=status.journal.steps[*].attempts"
// +kubebuilder:printcolumn:name=Kind,type=string,JSONPath=.spec.target.kind
// +kubebuilder:printcolumn:name=Target,type=string,JSONPath=.spec.target.name
// +kubebuilder:printcolumn:name=Action,type=string,JSONPath=.spec.action
// +kubebuilder:printcolumn:name=Phase,type=string,JSONPath=.status.journal.phase
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=.status.conditions[?(@.type=="Ready")].message
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
type Action struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	// +kubebuilder:validation:XValidation:rule="self.target == oldSelf.target && self.action == oldSelf.action",message="target and action are immutable: create another Action"
	// +kubebuilder:validation:XValidation:rule="has(self.parameters) == has(oldSelf.parameters) && (!has(self.parameters) || self.parameters == oldSelf.parameters)",message="parameters are immutable: create another Action"
	// +kubebuilder:validation:XValidation:rule="has(self.artifactsFrom) == has(oldSelf.artifactsFrom) && (!has(self.artifactsFrom) || self.artifactsFrom == oldSelf.artifactsFrom)",message="artifactsFrom is immutable: create another Action"
	// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.cancel) && oldSelf.cancel) || (has(self.cancel) && self.cancel)",message="a canceled Action cannot be resumed: create another Action"
	Spec   ActionSpec   `json:"spec"`
	Status ActionStatus `json:"status,omitempty"`
}

// ActionSpec is the requested operation.
type ActionSpec struct {
	// Target is the object to operate on, in the namespace of the Action.
	Target Target `json:"target"`
	// Action is the name of the operation, one of those that the operator of the target offers.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Action string `json:"action"`
	// Parameters are passed to the operation.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Parameters map[string]Parameter `json:"parameters,omitempty"`
	// ArtifactsFrom is the name of another Action in the namespace, which must have succeeded. The operation uses its artifacts,
	// such as the backup to restore.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ArtifactsFrom string `json:"artifactsFrom,omitempty"`
	// Cancel stops the Action and undoes the steps that are done.
	//
	// +optional
	Cancel bool `json:"cancel,omitempty"`
}

// Parameter is the value of a parameter.
//
// +kubebuilder:validation:MaxLength=1024
type Parameter string

// Target refers to an object in the same namespace.
type Target struct {
	// APIGroup of the object's kind.
	//
	// +kubebuilder:validation:MaxLength=253
	APIGroup string `json:"apiGroup"`
	// Kind of the object.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name of the object.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// GroupKind is the kind of the target.
func (t Target) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: t.APIGroup, Kind: t.Kind}
}

// ActionStatus is the observed progress.
type ActionStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions describe.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are Ready (True after the Action succeeded), Reconciling (while it runs) and Stalled (after it failed or was
	// canceled).
	//
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Journal contains the phase, the steps with their progress, and the artifacts.
	Journal *journal.Journal `json:"journal,omitempty"`
}

// ActionList is a list of Actions.
//
// +kubebuilder:object:root=true
type ActionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Action `json:"items"`
}
