package oracle

import (
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/normalize"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/testplan"
)

// declined makes findings notes if the change of the step was not possible, and users can see that: a value makes sense for the schema of a
// custom resource, and not for Kubernetes or the program that it configures. Shrinking a volume and downgrading a database are examples.
// Changes that are ignored without a word remain failures. With faults, see [Declined].
func (m *moment) declined(found []finding.Finding) []finding.Finding {
	if len(found) == 0 {
		return found
	}
	why := m.whyDeclined()
	if why == "" {
		return found
	}
	for i := range found {
		switch {
		case found[i].Level == finding.Note:
		case len(m.faults) > 0:
			found[i].Declined = why // a fault may be the reason
		default:
			found[i].Level, found[i].Because = finding.Note, why
		}
	}
	return found
}

// Declined returns the findings of a run without faults that are notes because the operator visibly declines a change.
func Declined(refs References, p testplan.Plan, t runlog.Trace) []finding.Finding {
	all, _ := judge(&refs, newRun(p.Workload, t, refs.traces(), refs.own), &p)
	return slices.DeleteFunc(all, func(f finding.Finding) bool { return f.Because == "" })
}

func (m *moment) whyDeclined() string {
	fresh := m.refs.fresh[m.step.Name]
	switch {
	case m.rejects(m.run, m.i), m.does.Fresh && fresh != nil && m.rejects(fresh, fresh.index(m.step.Name)):
		return "the API server rejected what the operator wrote for this value"
	case m.does.Fresh && fresh != nil && m.run.Steps[0].Silent && !m.makesSense(fresh.silentState(m.step.Name)):
		return "a new object with this value does not become ready"
	case m.does.Fresh && slices.ContainsFunc(m.state().Objects, holdsPods):
		return "the update strategy keeps pods of an earlier revision"
	case m.says():
		return "the operator reports that it cannot apply the change"
	}
	return ""
}

// holdsPods reports whether a StatefulSet keeps pods of an earlier revision because its spec says so.
func holdsPods(o *normalize.Object) bool {
	if o.Group != "apps" || o.Kind != "StatefulSet" {
		return false
	}
	set := o.Live().Object
	strategy, _, _ := unstructured.NestedString(set, "spec", "updateStrategy", "type")
	partition, _, _ := unstructured.NestedInt64(set, "spec", "updateStrategy", "rollingUpdate", "partition")
	current, _, _ := unstructured.NestedString(set, "status", "currentRevision")
	wanted, _, _ := unstructured.NestedString(set, "status", "updateRevision")
	return (strategy == "OnDelete" || partition > 0) && current != wanted
}

// rejects reports whether the API server rejected a child as invalid in a step of a run, and rejected none in the first step.
func (m *moment) rejects(r *run, i int) bool {
	return i >= 0 && rejected(r.requests(i)) && !rejected(m.run.requests(0))
}

// rejected reports whether a write of an object was rejected as invalid, and none succeeded after it.
func rejected(requests []requestlog.Request) bool {
	open := map[string]bool{}
	for i := range requests {
		r := &requests[i]
		if !r.IsWrite() || r.Subresource != "" || r.DryRun {
			continue
		}
		if invalid := r.Served == http.StatusUnprocessableEntity || r.Served == http.StatusBadRequest; invalid || changed(r) {
			open[r.Target()] = invalid
		}
	}
	for _, invalid := range open {
		if invalid {
			return true
		}
	}
	return false
}

// says reports whether a custom resource that the step applies reports a problem that it did not report before, or has the first Warning event. A
// status that stays as it was says nothing about the change.
func (m *moment) says() bool {
	if m.i == 0 {
		return false
	}
	before := m.run.Steps[m.i-1]
	return slices.ContainsFunc(m.does.Apply, func(object *unstructured.Unstructured) bool {
		if !normalize.IsCustom(object.GroupVersionKind().GroupKind()) {
			return false
		}
		known := complaints(before, object)
		isNew := func(one string) bool { return !slices.Contains(known, one) }
		return slices.ContainsFunc(complaints(m.step, object), isNew) || warns(m.step, object) && !warns(before, object)
	})
}

// normalEvent is the type of events that report no problem. Kubernetes has Warning besides, and some frameworks have others, such as Error.
const normalEvent = "Normal"

// warns reports whether an object has a Warning event at the end of a step.
func warns(step runlog.Step, object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(step.Events, func(e runlog.Event) bool {
		return e.Type != normalEvent && e.Of == object.GetKind()+"/"+object.GetName()
	})
}
