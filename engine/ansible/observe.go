package ansible

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible/internal/proxy"
	"github.com/operon-framework/operon/internal/core/readiness"
	"github.com/operon-framework/operon/internal/runtime/author"
)

// Conditions of Operator SDK's Ansible operator, which are written in addition to those of package operon.
const (
	conditionRunning    = "Running"
	conditionSuccessful = "Successful"
	conditionFailure    = "Failure"
)

// Observe implements operon.Observer. Successful remains True while a run takes place that no change of the spec has caused.
func (c *composer) Observe(ctx context.Context, object *engine.Object, seen *operon.Observed) error {
	if !c.manageStatus {
		return nil
	}
	c.conditions(object, seen)
	last := object.Status.LastRun
	if last == nil || last.Failed != "" {
		return nil
	}
	for _, o := range last.Objects {
		if !o.Owned {
			continue
		}
		if err := c.observeChild(ctx, o, seen); err != nil {
			return err
		}
	}
	return nil
}

// observeChild makes the custom resource not ready if an object is not.
func (c *composer) observeChild(ctx context.Context, o engine.RunObject, seen *operon.Observed) error {
	live := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}
	live.SetGroupVersionKind(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind))
	if _, err := seen.Get(ctx, live); err != nil && watchable(err) {
		return err
	}
	is, err := c.readiness(ctx, o, live)
	if err == nil && is.Status != readiness.Ready {
		seen.NotReady(author.ReasonChildNotReady, fmt.Sprintf("%s: %s", proxy.Place(o), is.Message))
	}
	return err
}

// maxStates is the number of objects whose readiness is remembered.
const maxStates = 10_000

// observation is the readiness of an object in a version.
type observation struct {
	version string
	state   readiness.State
}

// readiness returns the readiness of an object by its metadata, as it is watched, which may be older than the run. The whole object is
// read only if it has changed since the last time: to hold all objects in memory would cost more.
func (c *composer) readiness(ctx context.Context, o engine.RunObject, watched *metav1.PartialObjectMetadata) (readiness.State, error) {
	kind := watched.GroupVersionKind()
	if readiness.ByMetadata(kind.GroupKind()) {
		return readiness.OfMetadata(watched), nil
	}
	known, ok := c.states.Get(watched.UID)
	if ok && known.(observation).version == watched.ResourceVersion && proxy.Version(watched, o.WithStatus) == o.Version {
		return known.(observation).state, nil
	}
	live, err := c.shared.proxy.Object(ctx, o)
	if err != nil || live == nil {
		return readiness.State{Status: readiness.Ready}, err // its deletion starts a run
	}
	state := readiness.Of(kind, live)
	c.states.Add(live.GetUID(), observation{live.GetResourceVersion(), state})
	return state, nil
}

// conditions sets the conditions of Operator SDK.
func (c *composer) conditions(object *engine.Object, seen *operon.Observed) {
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&object.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: object.Generation,
		})
	}
	j := c.job(object)
	last := lastRun(object, j)
	if run, result := j.ended(); run != nil && run == last {
		object.Status.LastRun, object.Status.AnsibleResult = run, result
	}
	reason, message, invalid := seen.Unapplied()
	switch {
	case invalid:
		set(conditionRunning, metav1.ConditionFalse, reason, "")
		set(conditionSuccessful, metav1.ConditionFalse, reason, "")
		set(conditionFailure, metav1.ConditionTrue, reason, message)
	case j != nil && j.run == nil:
		set(conditionRunning, metav1.ConditionTrue, reasonRunning, messageRunning)
		if last == nil || last.Input != j.input {
			set(conditionSuccessful, metav1.ConditionFalse, reasonRunning, "")
		}
	case last == nil:
	case last.Failed != "":
		set(conditionRunning, metav1.ConditionFalse, reasonFailed, "")
		set(conditionSuccessful, metav1.ConditionFalse, reasonFailed, "")
		set(conditionFailure, metav1.ConditionTrue, reasonFailed, last.Failed)
	default:
		set(conditionRunning, metav1.ConditionTrue, reasonSuccessful, "Awaiting next reconciliation")
		set(conditionSuccessful, metav1.ConditionTrue, reasonSuccessful, "Last reconciliation succeeded")
		set(conditionFailure, metav1.ConditionFalse, reasonSuccessful, "")
	}
}

// withoutStatus returns the composer without the method Observe, which only kinds whose status is managed may have.
func withoutStatus(c operon.Composer[*engine.Object]) operon.Composer[*engine.Object] {
	type composes struct {
		operon.Composer[*engine.Object]
	}
	if f, ok := c.(operon.Finalizer[*engine.Object]); ok {
		return struct {
			composes
			operon.Finalizer[*engine.Object]
		}{composes{c}, f}
	}
	return composes{c}
}
