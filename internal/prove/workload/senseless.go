package workload

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxSenseless bounds the values of one workload that may mean nothing.
const maxSenseless = 5

// senseless is a workload of values that the schema allows and that were made up, so that they are
// likely to mean nothing: of each field one. Whatever the operator makes of such a value, the next
// step, which takes it back, has to lead to where it was.
func senseless(sample *unstructured.Unstructured, operations []operation, all, own []*unstructured.Unstructured) (Workload, bool) {
	w := Workload{Name: RefOf(sample).String() + ": values that may mean nothing", Steps: []Step{{Name: create, Apply: all}}}
	seen := map[string]bool{}
	for _, o := range operations {
		_, text := o.Value.(string)
		if o.sample != sample || !o.Guess || !text || o.Refused != nil || o.Back != nil || o.New != nil || o.Same || o.unmet != nil || seen[o.Path] || len(seen) == maxSenseless {
			continue
		}
		seen[o.Path] = true
		w.Steps = append(w.Steps, o.step(), Step{Name: o.Path + ": back", Apply: []*unstructured.Unstructured{o.sample}, Same: create})
	}
	w.Steps = append(w.Steps, Step{Name: remove, Delete: refsOf(own)})
	return w, len(seen) > 0
}
