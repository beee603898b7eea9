package oracle

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/normalize"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// Reached reports whether the objects of a world match the state that a step has to lead to. It is false if
// that state is not known. It may be called during the step.
func (refs References) Reached(step string, objects []*unstructured.Unstructured) bool {
	goal := refs.goals[step]
	if goal == nil {
		return false
	}
	world := normalize.World{Namespace: mostCommon(objects), Own: refs.own}
	if len(refs.base) > 0 {
		world.Managers = refs.base[0].world.Managers
	}
	return len(lasting(normalize.Diff(goal, world.Of(objects), refs.Noise))) == 0
}

// Knows reports whether the state that a step has to lead to is known.
func (refs References) Knows(step string) bool { return refs.goals[step] != nil }

// Own returns the objects that the operator keeps for itself, as sentences for a report.
func (refs References) Own() []string {
	var notes []string
	for _, id := range slices.Sorted(maps.Keys(refs.own)) {
		kind, name, _ := strings.Cut(id, " ")
		kind, _, _ = strings.Cut(kind, ".")
		notes = append(notes, fmt.Sprintf("not compared: %s %s, which the operator also creates without custom resources", kind, strings.TrimPrefix(name, "/")))
	}
	return notes
}

// Rhythm returns what the operator repeats without end, without faults.
func (refs References) Rhythm() requestlog.Rhythm {
	var all requestlog.Rhythm
	for _, one := range refs.base {
		all = all.And(one.Rhythm)
	}
	return all
}

// Children returns the objects that the operator created in the first step, as they were at its end.
func (refs References) Children() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	if len(refs.base) == 0 || len(refs.base[0].Steps) == 0 {
		return nil
	}
	for _, one := range refs.base[0].state(0).Objects {
		if one.ByOperator && !one.ByUser && !refs.base[0].before(one) {
			all = append(all, one.Live())
		}
	}
	return all
}

// goals returns the states that the steps of a workload lead to, if known: from a run of the workload, from
// runs in fresh namespaces, from an equal step of the workload that was run without faults, or from
// an earlier step that a step leads back to.
func goals(w workload.Workload, refs *References) map[string]*normalize.State {
	known := map[string]*normalize.State{}
	for i, step := range w.Steps {
		switch fresh := refs.fresh[step.Name]; {
		case len(refs.runs) > 0:
			known[step.Name] = refs.runs[0].silentState(step.Name)
		case step.Same != "":
			known[step.Name] = known[step.Same]
		case step.Fresh && fresh != nil && !step.Guess:
			known[step.Name] = fresh.silentState(step.Name)
		case len(refs.base) > 0 && refs.base[0].begins(w.Steps[:i+1]):
			known[step.Name] = refs.base[0].silentState(step.Name)
		case len(refs.base) > 0:
			known[step.Name] = refs.base[0].like(w.Steps[:i], step)
		}
	}
	return known
}

// silentState returns the state at the end of a step, or nil if the step did not become silent.
func (r *run) silentState(step string) *normalize.State {
	i := r.index(step)
	if i < 0 || !r.Steps[i].Silent {
		return nil
	}
	return r.state(i)
}

// begins reports whether the run's workload begins with the steps.
func (r *run) begins(steps []workload.Step) bool {
	return len(steps) <= len(r.workload.Steps) && reflect.DeepEqual(steps, r.workload.Steps[:len(steps)])
}

// like returns the state after the first step of the run, or after its first deletion, if another
// workload begins or deletes in the same way. Otherwise it returns nil.
func (r *run) like(before []workload.Step, step workload.Step) *normalize.State {
	if len(r.workload.Steps) == 0 || !reflect.DeepEqual(first(append(slices.Clone(before), step)).Apply, first(r.workload.Steps).Apply) {
		return nil
	}
	if len(before) == 0 {
		return r.silentState(first(r.workload.Steps).Name)
	}
	for _, own := range r.workload.Steps {
		if len(own.Delete) > 0 {
			if len(step.Delete) > 0 && reflect.DeepEqual(own.Delete, step.Delete) {
				return r.silentState(own.Name)
			}
			return nil
		}
	}
	return nil
}

func first(steps []workload.Step) workload.Step { return steps[0] }

// mostCommon returns the namespace of most of the objects.
func mostCommon(objects []*unstructured.Unstructured) string {
	times := map[string]int{}
	best := ""
	for _, object := range objects {
		namespace := object.GetNamespace()
		if namespace == "" {
			continue
		}
		if times[namespace]++; times[namespace] > times[best] {
			best = namespace
		}
	}
	return best
}
