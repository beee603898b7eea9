package oracle

import (
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/runlog"
)

// complaints returns the problems with its current generation that a custom resource reports at the end of a step: the types of its conditions,
// and its phase.
func complaints(step runlog.Step, object *unstructured.Unstructured) []string {
	i := slices.IndexFunc(step.State, func(one *unstructured.Unstructured) bool {
		return one.GroupVersionKind() == object.GroupVersionKind() && one.GetName() == object.GetName()
	})
	if i < 0 {
		return nil
	}
	one := step.State[i]
	status, _, _ := unstructured.NestedMap(one.Object, "status")
	current := func(of map[string]any, otherwise bool) bool {
		seen, known := observed(of)
		return known && seen == one.GetGeneration() || !known && otherwise
	}
	isCurrent := current(status, true)
	var all []string
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		kind, _ := condition["type"].(string)
		if current(condition, isCurrent) && isProblem(kind, condition["status"]) {
			all = append(all, kind)
		}
	}
	for _, field := range []string{"phase", "state"} {
		if phase, _ := status[field].(string); isCurrent && reportsFailure(phase) {
			all = append(all, phase)
		}
	}
	return all
}

// observed returns the generation that a status or a condition is about, and whether it says so. Some operators store it as a string.
func observed(of map[string]any) (generation int64, known bool) {
	switch seen := of["observedGeneration"].(type) {
	case int64:
		return seen, true
	case string:
		parsed, err := strconv.ParseInt(seen, 10, 64)
		return parsed, err == nil
	}
	return 0, false
}

var (
	word = regexp.MustCompile(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)
	// good are the words at the end of a condition's type that is True if all is well. failures are the words at its start or end that name
	// a problem. Both are the usual ones of the Kubernetes API conventions, kstatus, and operators.
	good     = regexp.MustCompile(`^(Ready|Available|Healthy|Valid|Validated|Accepted|Synced|Reconciled|Succeeded|Applied|Configured)$`)
	failures = regexp.MustCompile(`(?i)^(Invalid|Fail|Failed|Failing|Failure|Error|Errors|Errored|Degraded|Stalled|Unhealthy|Unavailable|Rejected|Misconfigured)$`)
)

// isProblem reports whether a condition with a status reports a problem.
func isProblem(kind string, status any) bool {
	words := word.FindAllString(kind, -1)
	if len(words) == 0 {
		return false
	}
	if status == "False" {
		return good.MatchString(words[len(words)-1]) && !reportsFailure(kind)
	}
	return status == "True" && reportsFailure(kind)
}

// reportsFailure reports whether a condition's type or a phase names a problem.
func reportsFailure(name string) bool {
	words := word.FindAllString(name, -1)
	return len(words) > 0 && words[0] != "No" && words[0] != "Not" && (failures.MatchString(words[0]) || failures.MatchString(words[len(words)-1]))
}
