package workload

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The names of steps of generated workloads.
const (
	create   = "create"
	remove   = "delete"
	recreate = "recreate"
	again    = "delete again"
)

// Sample returns the standard workload of a project: its samples are created, the most significant field of
// the main custom resource is changed and changed back, and the custom resources are deleted,
// recreated, and deleted again.
//
// Guarantees: objects that the custom resources only refer to (a Secret, a ConfigMap) are created
// in the first step and are never deleted. Only the operator changes them.
//
// Assumptions: the samples are valid and are in one namespace, which is replaced with the run's namespace.
//
// Caveats: if no field is known to be changeable, nothing is changed. If no sample has a kind that a definition
// defines, all samples are treated as the operator's own.
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

// Around returns a workload for each sample that the custom resources only refer to. It changes the content of the
// sample, which has to lead to the same state as a new object with that content. Then it changes the content back, which
// has to restore the first state.
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
			{Name: "change " + ref.String(), Apply: []*unstructured.Unstructured{changed}, Fresh: true, Guess: true},
			{Name: "restore " + ref.String(), Apply: []*unstructured.Unstructured{object}, Same: create},
			{Name: remove, Delete: refsOf(own)},
		}})
	}
	return all
}

// withOtherContent returns an object with another value for one key of its data. It returns nil if
// there is no such key, or if the object is immutable.
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

// otherText returns another text of the same sort.
func otherText(kind, text string) string {
	if kind != "Secret" {
		return otherContent(text)
	}
	decoded, _ := base64.StdEncoding.DecodeString(text)
	return base64.StdEncoding.EncodeToString([]byte(otherContent(string(decoded))))
}

// otherContent returns another content. A file in a format keeps its meaning.
func otherContent(text string) string {
	if number, err := strconv.Atoi(text); err == nil {
		return strconv.Itoa(number + 1)
	}
	if formatted.MatchString(text) {
		return text + "\n"
	}
	return text + "-changed"
}

// formatted matches the content of files in a format: JSON, YAML, PEM and the like. An additional line break at the end does not change them.
var formatted = regexp.MustCompile(`^\s*[\[{<-]|\n|: `)
