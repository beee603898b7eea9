package workload

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Failing are workloads in which pods of an operator's children fail, or lose their node, are changed
// in the meantime where the given workload has a change, and get well again; and one in which claims get
// no volume for a while. Children are objects that a run has shown.
//
// Guarantees: each does the first step of the given workload and ends with its first deletion.
// Once the children are well, and the change is taken back, the state is what it was, or what
// new objects lead to.
//
// Caveats: where the children have no pods that run, and no claims, there are no workloads. Pods of Jobs have ended
// before anybody could let them fail: write the annotation of the simulated node into the sample.
func Failing(w Workload, children []*unstructured.Unstructured) []Workload {
	if len(w.Steps) == 0 || len(w.Steps[0].Apply) == 0 {
		return nil
	}
	var all []Workload
	for _, how := range failuresOf(children) {
		all = append(all, w.failing(how))
	}
	if slices.ContainsFunc(children, claims) {
		all = append(all, w.unbound())
	}
	return all
}

// failing lets pods fail that run.
func (w Workload) failing(how string) Workload {
	first := w.Steps[0]
	failing := Workload{Name: how, Steps: []Step{first, {Name: "fail: " + how, Fail: &Failure{How: how}}}}
	if change, back, ok := changeIn(w); ok {
		change.Name += ", while pods fail"
		failing.Steps = append(failing.Steps, change, Step{Name: "heal", Heal: true}, back)
	} else {
		failing.Steps = append(failing.Steps, Step{Name: "heal", Heal: true, Same: first.Name})
	}
	failing.Steps = append(failing.Steps, w.deletion()...)
	return failing
}

// unbound lets claims get no volume from the beginning: those that have one keep it. In the end the
// objects are applied once more, which changes nothing, to be compared with new ones.
func (w Workload) unbound() Workload {
	create, again := w.Steps[0], w.Steps[0]
	create.Name += ", without volumes"
	create.Fresh, create.Same = false, ""
	again.Name += ", with volumes"
	again.Fresh, again.Same = true, ""
	steps := []Step{{Name: "fail: " + UnboundVolume, Fail: &Failure{How: UnboundVolume}}, create, {Name: "heal", Heal: true}, again}
	return Workload{Name: UnboundVolume, Steps: append(steps, w.deletion()...)}
}

// deletion is the first of a workload, none where it has none after its first step.
func (w Workload) deletion() []Step {
	if i := slices.IndexFunc(w.Steps, func(s Step) bool { return len(s.Delete) > 0 }); i > 0 {
		return w.Steps[i : i+1]
	}
	return nil
}

// claims reports whether a child is a claim for storage, or makes some.
func claims(child *unstructured.Unstructured) bool {
	templates, _, _ := unstructured.NestedSlice(child.Object, "spec", "volumeClaimTemplates")
	kind := RefOf(child).GroupKind().String()
	return kind == "PersistentVolumeClaim" || kind == "StatefulSet.apps" && len(templates) > 0
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
			return []string{LostNode, "image-pull", "crash-loop", "never-ready"}
		}
	}
	return nil
}
