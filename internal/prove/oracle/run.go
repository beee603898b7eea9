package oracle

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/normalize"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// run is a trace with data computed from it.
type run struct {
	runlog.Trace
	workload workload.Workload
	world    normalize.World
	states   []*normalize.State
}

func newRun(w workload.Workload, t runlog.Trace, also []runlog.Trace, own map[string]bool) *run {
	r := &run{Trace: t, workload: w, world: normalize.WorldOf(t, also...)}
	r.world.Own = own
	for _, step := range t.Steps {
		r.states = append(r.states, r.world.After(t.Changes[:min(step.LastChange, len(t.Changes))]).Of(step.State))
	}
	return r
}

// state returns the state at the end of a step.
func (r *run) state(i int) *normalize.State { return r.states[i] }

// does returns the actions of the workload in a step.
func (r *run) does(i int) workload.Step {
	for _, step := range r.workload.Steps {
		if step.Name == r.Steps[i].Name {
			return step
		}
	}
	return workload.Step{Name: r.Steps[i].Name}
}

// index returns the index of a step, or -1 if there is no step with the name.
func (r *run) index(name string) int {
	for i, step := range r.Steps {
		if step.Name == name {
			return i
		}
	}
	return -1
}

// requests returns the requests of a step. Requests before the first step belong to it.
func (r *run) requests(i int) []requestlog.Request {
	var from int64
	if i > 0 {
		from = r.Steps[i-1].Last
	}
	var all []requestlog.Request
	for _, one := range r.Requests {
		if one.Seq > from && one.Seq <= r.Steps[i].Last {
			all = append(all, one)
		}
	}
	return all
}

// changes returns the changes of a step.
func (r *run) changes(i int) []runlog.Change {
	from := 0
	if i > 0 {
		from = r.Steps[i-1].LastChange
	}
	return r.Changes[min(from, len(r.Changes)):min(r.Steps[i].LastChange, len(r.Changes))]
}

// kindOf returns the kind of a resource's objects, or an empty string if none changed.
func (r *run) kindOf(resource string) string {
	for _, change := range r.Changes {
		if change.Resource == resource {
			return change.Kind
		}
	}
	return ""
}

// resourceOf returns the plural name of a kind.
func (r *run) resourceOf(kind string) string {
	for _, change := range r.Changes {
		if change.Kind == kind {
			return change.Resource
		}
	}
	return strings.ToLower(kind) + "s"
}

// moment is the end of a step and the data that the checks need.
type moment struct {
	refs *References
	run  *run
	// i is the index of the step, step is its result, and does contains the executed actions.
	i    int
	step runlog.Step
	does workload.Step
	// faults contains the faults of the plan. It is nil if the run is itself a reference.
	faults []fault.Fault
	// normal is the first run without faults, and at is the index of the step in it. normal is nil if
	// the run is itself a reference, or if the workload was not run without faults.
	normal *run
	at     int
}

// compareWith finds the step in the runs without faults.
func (m *moment) compareWith(refs *References) {
	if len(refs.runs) > 0 {
		m.normal = refs.runs[0]
		m.at = m.normal.index(m.step.Name)
	}
}

// state returns the state at the moment.
func (m *moment) state() *normalize.State { return m.run.state(m.i) }

// wants reports whether the run without faults reached the step and became silent in it.
func (m *moment) wants() bool {
	return m.normal != nil && m.at >= 0 && m.normal.Steps[m.at].Silent
}

// settled reports whether a stable state exists that can be judged.
func (m *moment) settled() bool { return m.step.Silent }

// end returns the time at which the step ended.
func (m *moment) end() time.Time { return m.step.At.Add(m.step.Took) }

// changed reports whether a request is a write of the operator that changed something relevant.
func changed(r *requestlog.Request) bool {
	return r.IsWrite() && r.Effect == requestlog.Changed && !r.IsBeside()
}

// isOf reports whether a reference names an object. The namespace of a reference may
// be omitted.
func isOf(ref workload.Ref, object *unstructured.Unstructured) bool {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() == object.GroupVersionKind().GroupKind() &&
		ref.Name == object.GetName() && (ref.Namespace == "" || ref.Namespace == object.GetNamespace())
}

// refTo returns a reference to an object in the form that findings use.
func refTo(o *normalize.Object) *workload.Ref {
	return &workload.Ref{APIVersion: o.Live().GetAPIVersion(), Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}
