// Package condition writes the outcome of a reconcile into an object's status, in the terms that kstatus, kubectl
// wait, Argo CD and Flux read: Ready always exists, Reconciling and Stalled only while they are true, and
// observedGeneration says to which spec all of it refers.
package condition

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/core/outcome"
)

// Types of the conditions that Operon writes. The author's own conditions are not changed.
const (
	// Ready is True when the object matches its spec.
	Ready = "Ready"
	// Reconciling is True while work towards the spec continues.
	Reconciling = "Reconciling"
	// Stalled is True when only a change of the spec can help.
	Stalled = "Stalled"
	// Contested is True while another client reverts a child as often as it is repaired. It
	// does not exist otherwise.
	Contested = "Contested"
	// Degraded is True while the author's code reports it: the object serves, but not as well as it
	// should. It does not exist otherwise.
	Degraded = "Degraded"
	// Paused is True while a user has paused the object. It does not exist otherwise.
	Paused = "Paused"
)

// ReasonReady is the reason of a Ready condition that is True.
const ReasonReady = "Ready"

// Status gives access to the part of an object's status that Operon writes.
type Status struct {
	conditions *[]metav1.Condition
	observed   *int64
}

// Detached is a status in memory, for an object whose own status the operator does not write. The zero value has no
// conditions.
type Detached struct {
	conditions []metav1.Condition
	observed   int64
}

// Status returns access to the status.
func (d *Detached) Status() Status { return Status{conditions: &d.conditions, observed: &d.observed} }

// Of returns the status of object, a pointer to a struct with the fields Status.Conditions, a []metav1.Condition, and
// Status.ObservedGeneration, an int64. If the type lacks one of them, the error states what to add.
func Of(object any) (Status, error) {
	value := reflect.Indirect(reflect.ValueOf(object))
	if value.Kind() != reflect.Struct {
		return Status{}, fmt.Errorf("%T is no pointer to a struct", object)
	}
	status := value.FieldByName("Status")
	if !status.IsValid() || status.Kind() != reflect.Struct {
		return Status{}, fmt.Errorf("%T has no field Status that is a struct", object)
	}
	conditions, ok := field[[]metav1.Condition](status, "Conditions")
	if !ok {
		return Status{}, fmt.Errorf("%T: Status needs the field\n\tConditions []metav1.Condition `json:\"conditions,omitempty\"`", object)
	}
	observed, ok := field[int64](status, "ObservedGeneration")
	if !ok {
		return Status{}, fmt.Errorf("%T: Status needs the field\n\tObservedGeneration int64 `json:\"observedGeneration,omitempty\"`", object)
	}
	return Status{conditions: conditions, observed: observed}, nil
}

func field[T any](structure reflect.Value, name string) (*T, bool) {
	value := structure.FieldByName(name)
	if !value.IsValid() || !value.CanAddr() {
		return nil, false
	}
	pointer, ok := value.Addr().Interface().(*T)
	return pointer, ok
}

// Report writes the outcome of the reconcile of a generation. The transition time
// is set to now only when a condition's status changes.
func (s Status) Report(o outcome.Outcome, generation int64, now time.Time) {
	*s.observed = generation
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(s.conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
			LastTransitionTime: metav1.NewTime(now),
		})
	}
	switch o.Kind() {
	case outcome.KindDone:
		set(Ready, metav1.ConditionTrue, ReasonReady, "all resources are up to date and ready")
		s.remove(Reconciling, Stalled)
	case outcome.KindWait, outcome.KindRetry:
		set(Ready, metav1.ConditionFalse, o.Reason(), o.Message())
		set(Reconciling, metav1.ConditionTrue, o.Reason(), o.Message())
		s.remove(Stalled)
	case outcome.KindStalled:
		set(Ready, metav1.ConditionFalse, o.Reason(), o.Message())
		set(Stalled, metav1.ConditionTrue, o.Reason(), o.Message())
		s.remove(Reconciling)
	}
}

// Pause writes that nothing is done for an object: Paused is True and Reconciling False. Ready
// stays as last observed, with its generation; it is Unknown if it was never observed.
func (s Status) Pause(message string, generation int64, now time.Time) {
	set := func(kind string, status metav1.ConditionStatus) {
		meta.SetStatusCondition(s.conditions, metav1.Condition{
			Type: kind, Status: status, Reason: Paused, Message: outcome.Cut(message, outcome.MaxMessage), ObservedGeneration: generation,
			LastTransitionTime: metav1.NewTime(now),
		})
	}
	if s.Ready().Type == "" {
		set(Ready, metav1.ConditionUnknown)
	}
	set(Paused, metav1.ConditionTrue)
	set(Reconciling, metav1.ConditionFalse)
}

// Resume removes the condition Paused; Report updates the other conditions.
func (s Status) Resume() { s.remove(Paused) }

// Paused reports whether the condition Paused is True.
func (s Status) Paused() bool { return meta.IsStatusConditionTrue(*s.conditions, Paused) }

// Contest writes the condition Contested with a message that names the child, the fields and
// the field manager, or removes it if the message is empty.
func (s Status) Contest(message string, generation int64, now time.Time) {
	if message == "" {
		s.remove(Contested)
		return
	}
	meta.SetStatusCondition(s.conditions, metav1.Condition{
		Type: Contested, Status: metav1.ConditionTrue, Reason: "ChangedBack", Message: outcome.Cut(message, outcome.MaxMessage),
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	})
}

// Degrade writes the condition Degraded, or removes it if reason is empty.
func (s Status) Degrade(reason, message string, generation int64, now time.Time) {
	if reason == "" {
		s.remove(Degraded)
		return
	}
	meta.SetStatusCondition(s.conditions, metav1.Condition{
		Type: Degraded, Status: metav1.ConditionTrue, Reason: reason, Message: outcome.Cut(message, outcome.MaxMessage), ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(now),
	})
}

func (s Status) remove(kinds ...string) {
	for _, kind := range kinds {
		meta.RemoveStatusCondition(s.conditions, kind)
	}
}

// Rebase repeats over the latest conditions what was changed in the conditions since before.
func (s Status) Rebase(before, latest Status) {
	rebased := slices.Clone(*latest.conditions)
	for _, was := range *before.conditions {
		if meta.FindStatusCondition(*s.conditions, was.Type) == nil {
			meta.RemoveStatusCondition(&rebased, was.Type)
		}
	}
	for _, is := range *s.conditions {
		if was := meta.FindStatusCondition(*before.conditions, is.Type); was == nil || *was != is {
			meta.SetStatusCondition(&rebased, is)
		}
	}
	*s.conditions = rebased
}

// DropMessages empties the messages of the conditions, so that the rest can be compared.
func (s Status) DropMessages() {
	for i := range *s.conditions {
		(*s.conditions)[i].Message = ""
	}
}

// Ready returns a copy of the Ready condition, or the zero value if there is none yet.
func (s Status) Ready() metav1.Condition {
	if found := meta.FindStatusCondition(*s.conditions, Ready); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// All returns a copy of the conditions that object has.
func All(object any) ([]metav1.Condition, error) {
	status, err := Of(object)
	if err != nil {
		return nil, err
	}
	return slices.Clone(*status.conditions), nil
}
