package workload

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Steps of workloads that are made here.
const (
	create   = "create"
	remove   = "delete"
	recreate = "recreate"
	again    = "delete again"
)

// Sample is the standard workload of a project: its samples are created, the most telling field of
// the main custom resource is changed and changed back, the custom resources are deleted, made
// again, and deleted again.
//
// Guarantees: objects that the custom resources only refer to (a Secret, a ConfigMap) are created
// with the first step, and are never deleted: what happens to them is the operator's doing.
//
// Assumptions: the samples are valid, and lived in one namespace, in whose place comes the run's.
//
// Caveats: where no field is known to be changeable, nothing is changed. Samples of kinds that no
// definition defines are all taken for the operator's own where there are no others.
func Sample(samples, crds []*unstructured.Unstructured) Workload {
	own, others := split(samples, crds)
	w := Workload{Name: "sample", Steps: []Step{{Name: create, Apply: slices.Concat(others, own)}}}
	if change, back, ok := telling(own, crds); ok {
		w.Steps = append(w.Steps, change, back)
	}
	w.Steps = append(w.Steps,
		Step{Name: remove, Delete: refsOf(own)},
		Step{Name: recreate, Apply: own, Same: create},
		Step{Name: again, Delete: refsOf(own)},
	)
	return w
}

// Around are workloads that change what the custom resources only refer to: for each such sample
// one, in which its content changes, which leads to what a new object of that content leads to, and
// changes back, and then all of it is there again.
func Around(samples, crds []*unstructured.Unstructured) []Workload {
	own, others := split(samples, crds)
	var all []Workload
	for _, object := range others {
		changed, path := withOtherContent(object)
		if changed == nil {
			continue
		}
		ref := RefOf(object)
		all = append(all, Workload{Name: fmt.Sprintf("%s: %s", ref, path), Steps: []Step{
			{Name: create, Apply: slices.Concat(others, own)},
			{Name: "change " + ref.String(), Apply: []*unstructured.Unstructured{changed}, Fresh: true},
			{Name: "restore " + ref.String(), Apply: []*unstructured.Unstructured{object}, Same: create},
			{Name: remove, Delete: refsOf(own)},
		}})
	}
	return all
}

// withOtherContent is an object with another value for one key of its data. It returns nil where
// there is no such key, or nobody may change it.
func withOtherContent(object *unstructured.Unstructured) (changed *unstructured.Unstructured, path string) {
	if immutable, _, _ := unstructured.NestedBool(object.Object, "immutable"); immutable || object.GetAPIVersion() != "v1" {
		return nil, ""
	}
	data, _, _ := unstructured.NestedStringMap(object.Object, "data")
	for _, key := range slices.Sorted(maps.Keys(data)) {
		changed = object.DeepCopy()
		_ = unstructured.SetNestedField(changed.Object, otherText(object.GetKind(), data[key]), "data", key)
		return changed, "data." + key
	}
	return nil, ""
}

// otherText is another text of the same sort.
func otherText(kind, text string) string {
	const more = "-changed"
	if kind != "Secret" {
		return text + more
	}
	decoded, _ := base64.StdEncoding.DecodeString(text)
	return base64.StdEncoding.EncodeToString(append(decoded, more...))
}
