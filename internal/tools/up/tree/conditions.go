package tree

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/terminal"
)

// Condition is one condition in an object's status.conditions.
type Condition struct {
	Type, Status, Reason, Message string
	ObservedGeneration            int64
}

// String returns the condition in one line: "Ready is False (NoQuota): no quota is left".
func (c Condition) String() string {
	text := fmt.Sprintf("%s is %s", c.Type, c.Status)
	if c.Reason != "" {
		text += fmt.Sprintf(" (%s)", c.Reason)
	}
	if c.Message != "" {
		text += ": " + c.Message
	}
	return text
}

// Conditions returns an object's conditions in their order. Malformed conditions are left out.
func Conditions(object *unstructured.Unstructured) []Condition {
	all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	var conditions []Condition
	for _, one := range all {
		fields, ok := one.(map[string]any)
		if !ok {
			continue
		}
		text := func(name string) string {
			value, _ := fields[name].(string)
			return terminal.Line(value)
		}
		generation, _ := fields["observedGeneration"].(int64)
		conditions = append(conditions, Condition{text("type"), text("status"), text("reason"), text("message"), generation})
	}
	return conditions
}

// waitingReason returns what a pod's containers wait for, or why the pod is not scheduled. It returns "" for other objects
// and for pods that run.
func waitingReason(object *unstructured.Unstructured) string {
	if object.GetKind() != "Pod" {
		return ""
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		all, _, _ := unstructured.NestedSlice(object.Object, "status", list)
		for _, one := range all {
			status, _ := one.(map[string]any)
			if why := containerTrouble(status); why != "" {
				return why
			}
		}
	}
	return unscheduled(object)
}

func containerTrouble(status map[string]any) string {
	name, _, _ := unstructured.NestedString(status, "name")
	reason, _, _ := unstructured.NestedString(status, "state", "waiting", "reason")
	message, _, _ := unstructured.NestedString(status, "state", "waiting", "message")
	if reason == "" {
		return ""
	}
	if message == "" {
		return fmt.Sprintf("container %s waits: %s", name, reason)
	}
	return fmt.Sprintf("container %s waits: %s: %s", name, reason, terminal.Line(message))
}

func unscheduled(pod *unstructured.Unstructured) string {
	for _, condition := range Conditions(pod) {
		if condition.Type == "PodScheduled" && condition.Status == "False" {
			return "not scheduled: " + condition.Message
		}
	}
	return ""
}
