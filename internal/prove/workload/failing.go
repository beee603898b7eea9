package workload

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Failing returns workloads in which pods of an operator's children fail or lose their node, and recover later. In the
// meantime a change is applied, if the given workload has one. In one more workload, claims get
// no volume for a time. children contains objects that a run has shown.
//
// Guarantees: each workload contains the first step of the given workload and ends with its first deletion.
// When the children have recovered and the change is reverted, the state is the previous one, or the state that
// new objects lead to.
//
// Caveats: there are no workloads if the children have no running pods and no claims. Pods of Jobs end
// before they can be made to fail: write the annotation of the simulated node into the sample.
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

// failing returns a workload in which running pods fail.
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

// unbound returns a workload in which claims get no volume from the beginning, because claims that already have a volume
// keep it. At the end the objects are applied once more, which changes nothing, so that the state can be compared with
// new objects.
func (w Workload) unbound() Workload {
	create, again := w.Steps[0], w.Steps[0]
	create.Name += ", without volumes"
	create.Fresh, create.Same = false, ""
	again.Name += ", with volumes"
	again.Fresh, again.Same = true, ""
	steps := []Step{{Name: "fail: " + UnboundVolume, Fail: &Failure{How: UnboundVolume}}, create, {Name: "heal", Heal: true}, again}
	return Workload{Name: UnboundVolume, Steps: append(steps, w.deletion()...)}
}

// deletion returns the first deletion of a workload, or nothing if there is none after its first step.
func (w Workload) deletion() []Step {
	if i := slices.IndexFunc(w.Steps, func(s Step) bool { return len(s.Delete) > 0 }); i > 0 {
		return w.Steps[i : i+1]
	}
	return nil
}

// claims reports whether a child is a claim for storage, or creates claims.
func claims(child *unstructured.Unstructured) bool {
	templates, _, _ := unstructured.NestedSlice(child.Object, "spec", "volumeClaimTemplates")
	kind := RefOf(child).GroupKind().String()
	return kind == "PersistentVolumeClaim" || kind == "StatefulSet.apps" && len(templates) > 0
}

// changeIn returns the first change of a workload and the step that reverts it.
func changeIn(w Workload) (change, back Step, ok bool) {
	for i, step := range w.Steps[1:] {
		before := w.Steps[i]
		if len(step.Apply) > 0 && len(before.Apply) > 0 && step.Same == w.Steps[0].Name && before.Same == "" && !before.Refused && i > 0 {
			return before, step, true
		}
	}
	return change, back, false
}

// failuresOf returns the failures that the running pods of children can have.
func failuresOf(children []*unstructured.Unstructured) []string {
	if !slices.ContainsFunc(children, runsPods) {
		return nil
	}
	return []string{"never-ready", LostNode, "image-pull", "crash-loop"}
}

// runsPods reports whether a child is a pod, or has pods.
func runsPods(child *unstructured.Unstructured) bool {
	count := func(fields ...string) bool {
		n, found, _ := unstructured.NestedInt64(child.Object, fields...)
		return !found || n > 0
	}
	switch RefOf(child).GroupKind().String() {
	case "Pod":
		return true
	case "Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps":
		return count("spec", "replicas")
	case "DaemonSet.apps":
		return count("status", "desiredNumberScheduled")
	}
	return false
}
