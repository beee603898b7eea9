package workload

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Failing are workloads in which pods of an operator's children fail, are changed meanwhile where
// the given workload has a change, and get well again. Children are objects that a run has shown.
//
// Guarantees: each begins with the first step of the given workload and ends with its first
// deletion. Once the pods are well, and the change is taken back, the state is what it was.
//
// Caveats: where the children have no pods that run there are no workloads. Pods of Jobs have ended
// before anybody could let them fail: write the annotation of the simulated node into the sample.
func Failing(w Workload, children []*unstructured.Unstructured) []Workload {
	if len(w.Steps) == 0 || len(w.Steps[0].Apply) == 0 {
		return nil
	}
	var all []Workload
	for _, how := range failuresOf(children) {
		first := w.Steps[0]
		failing := Workload{Name: how, Steps: []Step{first, {Name: "fail: " + how, Fail: &Failure{How: how}}}}
		if change, back, ok := changeIn(w); ok {
			change.Name += ", while pods fail"
			failing.Steps = append(failing.Steps, change, Step{Name: "heal", Heal: true}, back)
		} else {
			failing.Steps = append(failing.Steps, Step{Name: "heal", Heal: true, Same: first.Name})
		}
		if i := slices.IndexFunc(w.Steps, func(s Step) bool { return len(s.Delete) > 0 }); i > 0 {
			failing.Steps = append(failing.Steps, w.Steps[i])
		}
		all = append(all, failing)
	}
	return all
}

// changeIn is the first change of a workload and the step that leads back from it.
func changeIn(w Workload) (change, back Step, ok bool) {
	for i, step := range w.Steps[1:] {
		before := w.Steps[i]
		if len(step.Apply) > 0 && len(before.Apply) > 0 && step.Same == w.Steps[0].Name && before.Same == "" && !before.Refused && i > 0 {
			return before, step, true
		}
	}
	return change, back, false
}

// failuresOf are the ways in which the pods of children can fail while they run.
func failuresOf(children []*unstructured.Unstructured) []string {
	for _, child := range children {
		switch RefOf(child).GroupKind().String() {
		case "Pod", "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps":
			return []string{"image-pull", "crash-loop", "never-ready"}
		}
	}
	return nil
}
