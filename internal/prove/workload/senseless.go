package workload

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxSenseless is the maximum number of values in one workload that may be meaningless.
const maxSenseless = 5

// senseless returns a workload with values that the schema allows and that were made up, so that they are
// likely to be meaningless: one for each field. The operator may do anything with such a value, but the next
// step, which reverts it, has to lead to the previous state. It returns false if there are no such values.
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
