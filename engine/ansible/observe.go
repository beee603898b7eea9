package ansible

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
)

// Conditions of Operator SDK's Ansible operator, which are written in addition to those of package operon.
const (
	conditionRunning    = "Running"
	conditionSuccessful = "Successful"
	conditionFailure    = "Failure"
)

// Observe implements operon.Observer. Successful remains True while a run takes place that no change of the spec has caused.
func (c *composer) Observe(_ context.Context, object *engine.Object, seen *operon.Observed) error {
	if !c.manageStatus {
		return nil
	}
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&object.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: object.Generation,
		})
	}
	c.mu.Lock()
	j := c.jobs[object.UID]
	c.mu.Unlock()
	last := lastRun(object, j)
	if j != nil && j.run != nil && !j.deleting {
		object.Status.AnsibleResult = j.result
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
		object.Status.LastRun = last
		set(conditionRunning, metav1.ConditionFalse, reasonFailed, "")
		set(conditionSuccessful, metav1.ConditionFalse, reasonFailed, "")
		set(conditionFailure, metav1.ConditionTrue, reasonFailed, last.Failed)
	default:
		object.Status.LastRun = last
		set(conditionRunning, metav1.ConditionTrue, reasonSuccessful, "Awaiting next reconciliation")
		set(conditionSuccessful, metav1.ConditionTrue, reasonSuccessful, "Last reconciliation succeeded")
		set(conditionFailure, metav1.ConditionFalse, reasonSuccessful, "")
	}
	return nil
}
