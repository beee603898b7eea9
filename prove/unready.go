package prove

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/runlog"
)

// unready returns notes about samples that report, without any fault, that they are not ready after the first step. Something
// is missing, and what the operator does when it exists is not tested. This is not an error, because some samples cannot become
// ready on simulated nodes.
func (s *session) unready() []string {
	var notes []string
	for _, sample := range s.Samples {
		why := ""
		says := func(t runlog.Trace) bool {
			object := after(t, sample)
			if object == nil {
				return false
			}
			why = notReady(object)
			return why != ""
		}
		if !slices.ContainsFunc(s.learnt, func(t runlog.Trace) bool { return !says(t) }) {
			notes = append(notes, fmt.Sprintf(
				"the sample %s/%s is not ready without any fault (%s): later states are not tested; create what it requires with --setup",
				sample.GetKind(), sample.GetName(), why))
		}
	}
	return notes
}

// after returns an object at the end of the first step of a run, or nil if it did not exist.
func after(t runlog.Trace, sample *unstructured.Unstructured) *unstructured.Unstructured {
	if len(t.Steps) == 0 {
		return nil
	}
	state := t.Steps[0].State
	at := slices.IndexFunc(state, func(one *unstructured.Unstructured) bool {
		return one.GroupVersionKind().GroupKind() == sample.GroupVersionKind().GroupKind() && one.GetName() == sample.GetName()
	})
	if at < 0 {
		return nil
	}
	return state[at]
}

// unfinished contains values of status.phase and status.state that say that the operator is at work.
var unfinished = []string{"pending", "creating", "waiting", "progressing", "reconciling", "provisioning", "initializing", "installing", "deploying", "starting"}

// notReady returns what an object reports that says that it is not ready, or "" if it does not report that.
func notReady(object *unstructured.Unstructured) string {
	if why, says := conditionSays(object); says {
		return why
	}
	for _, field := range []string{"phase", "state"} {
		value, _, _ := unstructured.NestedString(object.Object, "status", field)
		if slices.Contains(unfinished, strings.ToLower(value)) {
			return fmt.Sprintf("status.%s is %s", field, value)
		}
	}
	if ready, found, _ := unstructured.NestedBool(object.Object, "status", "ready"); found && !ready {
		return "status.ready is false"
	}
	return ""
}

// conditionSays reports whether an object has a condition for readiness, and why it is not ready if this is False.
func conditionSays(object *unstructured.Unstructured) (why string, says bool) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, kind := range []string{"Ready", "Available"} {
		for _, one := range conditions {
			condition, ok := one.(map[string]any)
			if !ok || condition["type"] != kind {
				continue
			}
			if condition["status"] != "False" {
				return "", true
			}
			reason, _ := condition["reason"].(string)
			if message, _ := condition["message"].(string); message != "" {
				reason += ": " + message
			}
			return fmt.Sprintf("%s is False, %s", kind, reason), true
		}
	}
	return "", false
}
