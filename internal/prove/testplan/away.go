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

// Away returns a plan with the same workload, in which the operator is away when a change takes a
// block, or items of a list, from an object: what it has to remove then it knows only from what is
// there. It returns false where no step of the workload does so, or the operator watches no such
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

// lastApplied is an object as steps applied it last, nil where none did.
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

// watched is the plural name of a kind that an operator watches, empty where it does not.
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

// takes reports whether a block, or an item of a list, was there before and is no longer.
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
