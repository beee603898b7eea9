package workload

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxDrifts is the maximum number of children that drift in a run, each in two steps.
const maxDrifts = 8

// WithDrift returns a workload in which, before its first deletion, another client changes and deletes
// children of the operator. The operator has to restore each of them. children contains objects as a run
// has shown them.
//
// Guarantees: one child of each kind is changed in one field and then deleted, for at most eight kinds,
// in the order of children. Children of other children (the pods of a Deployment) are
// not changed, and neither are claims for storage, Jobs and Pods.
//
// Caveats: the oracle has to know which fields the operator manages. A field that the operator did not set
// may stay changed.
func WithDrift(w Workload, children []*unstructured.Unstructured) Workload {
	at := slices.IndexFunc(w.Steps, func(s Step) bool { return len(s.Delete) > 0 })
	if at < 0 {
		at = len(w.Steps)
	}
	if at == 0 {
		return w
	}
	state := stateAfter(w.Steps[at-1])
	var drifts []Step
	for _, child := range oneOfEach(children) {
		if left[child.GetKind()] {
			continue
		}
		if patch, path := disturb(child); patch != nil {
			drifts = append(drifts, Step{Name: fmt.Sprintf("drift: %s %s", RefOf(child), path), Drift: &Drift{Of: RefOf(child), Patch: patch}, Same: state})
		}
		drifts = append(drifts, Step{Name: fmt.Sprintf("drift: %s deleted", RefOf(child)), Drift: &Drift{Of: RefOf(child)}, Same: state})
	}
	w.Steps = slices.Concat(w.Steps[:at], drifts, w.Steps[at:])
	return w
}

// left contains the kinds that do not drift: claims, which wait for their pods and contain data, and objects that
// run once, which many operators rightly do not change after creation.
var left = map[string]bool{"PersistentVolumeClaim": true, "Job": true, "Pod": true}

// stateAfter returns the name of the first step that leads to the state after a step.
func stateAfter(s Step) string {
	if s.Same != "" {
		return s.Same
	}
	return s.Name
}

// oneOfEach returns the first child of each kind. It omits children that belong to another child, and
// namespaces, which cannot be recreated.
func oneOfEach(children []*unstructured.Unstructured) []*unstructured.Unstructured {
	uids := map[string]bool{}
	for _, child := range children {
		uids[string(child.GetUID())] = true
	}
	seen := map[string]bool{"Namespace": true, "CustomResourceDefinition": true}
	var first []*unstructured.Unstructured
	for _, child := range children {
		kind := RefOf(child).GroupKind().String()
		if seen[kind] || len(first) == maxDrifts || slices.ContainsFunc(child.GetOwnerReferences(), func(o owner) bool { return uids[string(o.UID)] }) {
			continue
		}
		seen[kind] = true
		cleared := child.DeepCopy()
		cleared.SetNamespace("")
		first = append(first, cleared)
	}
	return first
}

var templateContainers = []string{"spec", "template", "spec", "containers"}

// otherImage is an image that no operator asks for.
const otherImage = "example.com/changed-by-another-client:1"

// disturb returns a merge patch of one field that an operator is likely to manage, and the path of the field.
func disturb(child *unstructured.Unstructured) (patch map[string]any, path string) {
	data, _, _ := unstructured.NestedStringMap(child.Object, "data")
	for _, key := range slices.Sorted(maps.Keys(data)) {
		return map[string]any{"data": map[string]any{key: otherText(child.GetKind(), data[key])}}, "data." + key
	}
	// One replica may be the default, which an operator leaves to an autoscaler.
	if replicas, there, _ := unstructured.NestedInt64(child.Object, "spec", "replicas"); there && replicas != 1 {
		return map[string]any{"spec": map[string]any{"replicas": replicas + 1}}, "spec.replicas"
	}
	if containers, there, _ := unstructured.NestedSlice(child.Object, templateContainers...); there && len(containers) > 0 {
		if first, ok := containers[0].(map[string]any); ok {
			first["image"] = otherImage
			return map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}}}, "image"
		}
	}
	if selector, _, _ := unstructured.NestedStringMap(child.Object, "spec", "selector"); child.GetKind() == "Service" {
		for _, key := range slices.Sorted(maps.Keys(selector)) {
			return map[string]any{"spec": map[string]any{"selector": map[string]any{key: "changed"}}}, "spec.selector." + key
		}
	}
	if rules, there, _ := unstructured.NestedSlice(child.Object, "rules"); there && len(rules) > 0 {
		return map[string]any{"rules": []any{}}, "rules"
	}
	for _, key := range slices.Sorted(maps.Keys(child.GetLabels())) {
		return map[string]any{"metadata": map[string]any{"labels": map[string]any{key: nil}}}, "metadata.labels." + key
	}
	return nil, ""
}
