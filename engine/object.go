package engine

import (
	"slices"

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
	// LastRun is written by the Ansible engine.
	LastRun *Run `json:"lastRun,omitempty"`
	// AnsibleResult is part of the condition Failure if the last run failed, and else of the condition Running, as Operator SDK
	// writes it.
	AnsibleResult *RunResult `json:"-"`
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

// Run is the last run of an Ansible role or playbook.
type Run struct {
	// Input identifies the spec, the variables and the files of the run.
	Input string `json:"input"`
	// Ended is the time of its end.
	Ended metav1.MicroTime `json:"ended"`
	// Failed is the error of a run that failed.
	Failed string `json:"failed,omitempty"`
	// RequeueAt is the time at which the run asked to be repeated.
	RequeueAt *metav1.Time `json:"requeueAt,omitempty"`
	// Open is the reason why the result may depend on more than Objects. Such a run is repeated after the reconcile period.
	Open string `json:"open,omitempty"`
	// Objects are the objects and lists that the run read and wrote. It is repeated when their version changes.
	Objects []RunObject `json:"objects,omitempty"`
}

// RunResult counts the tasks of a run.
type RunResult struct {
	OK         int64  `json:"ok"`
	Changed    int64  `json:"changed"`
	Skipped    int64  `json:"skipped"`
	Failures   int64  `json:"failures"`
	Completion string `json:"completion"`
}

// RunObject is an object or a list that a run read or wrote.
type RunObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	// Name is empty for a list.
	Name string `json:"name,omitempty"`
	// Selector is the label selector of a list.
	Selector string `json:"selector,omitempty"`
	// WithStatus means that a change of the status counts, because the run may have read it.
	WithStatus bool `json:"withStatus,omitempty"`
	// Owned means that the object has the custom resource as owner, whose Ready condition includes the object's.
	Owned bool `json:"owned,omitempty"`
	// Version identifies the content. It is empty if the object does not exist.
	Version string `json:"version,omitempty"`
}

// DeepCopy returns a copy that shares nothing with the run.
func (r *Run) DeepCopy() *Run {
	if r == nil {
		return nil
	}
	copied := *r
	copied.Ended, copied.RequeueAt = *r.Ended.DeepCopy(), r.RequeueAt.DeepCopy()
	copied.Objects = slices.Clone(r.Objects)
	return &copied
}

// DeepCopyObject implements runtime.Object. The copy shares nothing with the object.
func (o *Object) DeepCopyObject() runtime.Object {
	copied := *o
	copied.ObjectMeta = *o.ObjectMeta.DeepCopy()
	copied.Spec = *o.Spec.DeepCopy()
	copied.Status.Journal = o.Status.Journal.DeepCopy()
	copied.Status.LastRun = o.Status.LastRun.DeepCopy()
	if o.Status.AnsibleResult != nil {
		result := *o.Status.AnsibleResult
		copied.Status.AnsibleResult = &result
	}
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
