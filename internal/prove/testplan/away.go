package testplan

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// Away returns a plan with the same workload, in which the operator is killed just before it sees a change that removes a
// block or items of a list from an object. It then has to derive what to remove from the existing
// objects. It returns false if no step of the workload removes anything like this, or if the operator does not watch such
// objects.
func Away(p Plan, refs []runlog.Trace) (Plan, bool) {
	for i, step := range p.Workload.Steps {
		if i == 0 || step.Refused {
			continue
		}
		for _, object := range step.Apply {
			before := lastApplied(p.Workload.Steps[:i], object)
			resource := watched(object.GroupVersionKind(), refs)
			if resource == "" || before == nil || !takes(before.Object["spec"], object.Object["spec"]) {
				continue
			}
			p.Name = "away: " + p.Workload.Name
			p.Why = "it is away when something is taken back, and what it made for it has to go"
			p.Faults = []fault.Fault{{Kind: fault.Kill, On: fault.Match{
				Verb: fault.Event, Group: object.GroupVersionKind().Group, Resource: resource, Name: object.GetName(), Type: "MODIFIED", Step: step.Name, Nth: 1,
			}}}
			return p, true
		}
	}
	return p, false
}

// lastApplied returns an object as the steps last applied it, or nil if no step applied it.
func lastApplied(steps []workload.Step, object *unstructured.Unstructured) (last *unstructured.Unstructured) {
	of := workload.RefOf(object)
	for _, step := range steps {
		for _, one := range step.Apply {
			if !step.Refused && workload.RefOf(one) == of {
				last = one
			}
		}
	}
	return last
}

// watched returns the plural name of a kind that the operator watches, or an empty string if it does not watch it.
func watched(kind schema.GroupVersionKind, refs []runlog.Trace) string {
	for _, ref := range refs {
		for _, change := range ref.Changes {
			if change.Kind == kind.Kind && change.APIVersion == kind.GroupVersion().String() &&
				slices.ContainsFunc(ref.Requests, func(r requestlog.Request) bool {
					return r.Verb == "watch" && r.Group == kind.Group && r.Resource == change.Resource
				}) {
				return change.Resource
			}
		}
	}
	return ""
}

// takes reports whether a block or an item of a list was removed.
func takes(before, after any) bool {
	switch was := before.(type) {
	case map[string]any:
		is, still := after.(map[string]any)
		if !still {
			return true
		}
		for name, value := range was {
			if takes(value, is[name]) {
				return true
			}
		}
	case []any:
		is, _ := after.([]any)
		return len(is) < len(was)
	}
	return false
}
