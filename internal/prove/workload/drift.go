package workload

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxDrifts bounds how many children of a run drift, each in two steps.
const maxDrifts = 8

// WithDrift is a workload in which, before its first deletion, another client changes and deletes
// children of the operator's, each of which it has to put back. Children are objects that a run
// has shown, as they were in it.
//
// Guarantees: one child of each kind is changed in one field and then deleted, up to eight kinds,
// in the order in which they are given. Children of other children (the pods of a Deployment) are
// not touched, nor are claims for storage, jobs and pods.
//
// Caveats: which fields the operator cares for is for the oracle to know. One that no operator set
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

// left are kinds that are not drifted: claims, which wait for their pods and hold data, and what is
// made to run once, which many operators rightly leave as it is once it was made.
var left = map[string]bool{"PersistentVolumeClaim": true, "Job": true, "Pod": true}

// stateAfter names the first step that leads to the state which is there after a step.
func stateAfter(s Step) string {
	if s.Same != "" {
		return s.Same
	}
	return s.Name
}

// oneOfEach is the first child of each kind, those that belong to another child left out, and
// namespaces, which cannot be made again.
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

// disturb is a merge patch of one field that an operator is likely to care for, and the field.
func disturb(child *unstructured.Unstructured) (patch map[string]any, path string) {
	data, _, _ := unstructured.NestedStringMap(child.Object, "data")
	for _, key := range slices.Sorted(maps.Keys(data)) {
		return map[string]any{"data": map[string]any{key: otherText(child.GetKind(), data[key])}}, "data." + key
	}
	if replicas, there, _ := unstructured.NestedInt64(child.Object, "spec", "replicas"); there {
		return map[string]any{"spec": map[string]any{"replicas": replicas + 1}}, "spec.replicas"
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
