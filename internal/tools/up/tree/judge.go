package tree

import (
	"fmt"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/terminal"
)

// Judge returns whether an object is ready, and why it is not. It uses the rules of kstatus and two more: for a pod, it
// reports what its containers wait for, and a condition Available counts if there is no condition Ready.
func Judge(object *unstructured.Unstructured) (State, string) {
	result, err := kstatus.Compute(object)
	if err != nil {
		return InProgress, err.Error()
	}
	state, message := stateOf(result.Status), terminal.Line(result.Message)
	if waiting := waitingReason(object); waiting != "" && state != Terminating {
		return state, waiting
	}
	if state != Ready {
		return state, message
	}
	if why := notAvailable(object); why != "" {
		return InProgress, why
	}
	return Ready, summary(object)
}

// JudgeCustom is like Judge, for a custom resource. If reports is set, as for kinds whose schema has a status, an object
// without a status is not ready, because its operator has not reported yet.
func JudgeCustom(object *unstructured.Unstructured, reports bool) (State, string) {
	status, _, _ := unstructured.NestedMap(object.Object, "status")
	if reports && len(status) == 0 && object.GetDeletionTimestamp() == nil {
		return InProgress, "the operator has not written its status yet"
	}
	if why := outdated(object); why != "" {
		return InProgress, why
	}
	return Judge(object)
}

func stateOf(status kstatus.Status) State {
	switch status {
	case kstatus.CurrentStatus:
		return Ready
	case kstatus.FailedStatus:
		return Failed
	case kstatus.TerminatingStatus:
		return Terminating
	case kstatus.NotFoundStatus:
		return Missing
	default:
		return InProgress
	}
}

// outdated describes a condition Ready or Available for an older generation, or returns "".
func outdated(object *unstructured.Unstructured) string {
	for _, condition := range Conditions(object) {
		if condition.Type != "Ready" && condition.Type != "Available" {
			continue
		}
		if condition.ObservedGeneration > 0 && condition.ObservedGeneration < object.GetGeneration() {
			return fmt.Sprintf("%s is of generation %d, the object of %d", condition.Type, condition.ObservedGeneration, object.GetGeneration())
		}
	}
	return ""
}

// notAvailable describes why an object without a condition Ready reports that it is not Available, or returns "".
func notAvailable(object *unstructured.Unstructured) string {
	why := ""
	for _, condition := range Conditions(object) {
		if condition.Type == "Ready" {
			return ""
		}
		if condition.Type == "Available" && condition.Status != "True" {
			why = condition.String()
		}
	}
	return why
}

// summary returns a message about an object that is ready.
func summary(object *unstructured.Unstructured) string {
	count := func(fields ...string) int64 {
		n, _, _ := unstructured.NestedInt64(object.Object, fields...)
		return n
	}
	switch object.GetKind() {
	case "Deployment", "StatefulSet", "ReplicaSet":
		return fmt.Sprintf("%d/%d ready", count("status", "readyReplicas"), count("spec", "replicas"))
	case "DaemonSet":
		return fmt.Sprintf("%d/%d ready", count("status", "numberReady"), count("status", "desiredNumberScheduled"))
	case "Pod", "PersistentVolumeClaim":
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		return phase
	}
	for _, condition := range Conditions(object) {
		if condition.Type == "Ready" {
			return condition.Message
		}
	}
	return ""
}
