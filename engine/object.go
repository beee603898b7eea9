package engine

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/durable/journal"
)

// Object is an object of any kind that an engine manages. Its spec is stored as JSON, so that an object whose spec is not
// valid for its engine does not affect the others.
type Object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   runtime.RawExtension `json:"spec,omitzero"`
	Status Status               `json:"status,omitzero"`
}

// Status is the part of an object's status that Operon and its engines write. Other fields are left alone.
type Status struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	// Journal records steps that are each done once, such as the hooks of a Helm chart.
	Journal *journal.Journal `json:"journal,omitempty"`
	// DeployedRelease is written by the Helm engine.
	DeployedRelease *Release `json:"deployedRelease,omitempty"`
}

// Release is the release of a Helm chart.
type Release struct {
	Name string `json:"name,omitempty"`
	// Revision counts the changes of what the chart renders, from 1.
	Revision int64 `json:"revision,omitempty"`
	// Digest identifies what the chart rendered for the revision. A release of another operator has none.
	Digest string `json:"digest,omitempty"`
	// Manifest is what the chart rendered, without the data of Secrets.
	Manifest string `json:"manifest,omitempty"`
}

// DeepCopyObject implements runtime.Object. The copy shares nothing with the object.
func (o *Object) DeepCopyObject() runtime.Object {
	copied := *o
	copied.ObjectMeta = *o.ObjectMeta.DeepCopy()
	copied.Spec = *o.Spec.DeepCopy()
	copied.Status.Journal = o.Status.Journal.DeepCopy()
	copied.Status.Conditions = nil
	for _, condition := range o.Status.Conditions {
		copied.Status.Conditions = append(copied.Status.Conditions, *condition.DeepCopy())
	}
	if o.Status.DeployedRelease != nil {
		release := *o.Status.DeployedRelease
		copied.Status.DeployedRelease = &release
	}
	return &copied
}

// ObjectList is a list of objects of one kind.
type ObjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Object `json:"items"`
}

// DeepCopyObject implements runtime.Object. The copy shares nothing with the list.
func (l *ObjectList) DeepCopyObject() runtime.Object {
	copied := &ObjectList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].DeepCopyObject().(*Object))
	}
	return copied
}

// register adds a kind to a scheme.
func register(scheme *runtime.Scheme, kind schema.GroupVersionKind) {
	scheme.AddKnownTypeWithName(kind, &Object{})
	scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &ObjectList{})
	metav1.AddToGroupVersion(scheme, kind.GroupVersion())
}
