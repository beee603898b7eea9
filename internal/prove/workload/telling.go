package workload

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// telling returns the most promising change, and the way back: if possible a number that grows,
// or else another value of a field, or else a value for a field that has none. It returns false if
// no change is known to be accepted in both directions.
func telling(own, crds []*unstructured.Unstructured) (change, back Step, ok bool) {
	operations, _ := operationsOn(own, crds, own, 0) // samples without a prediction are not changed
	for _, asked := range []func(operation) bool{grows, anotherValue, aValue} {
		for _, o := range operations {
			if o.Wrong || o.Same || o.Refused != nil || o.Back != nil || o.unmet != nil || !asked(o) {
				continue
			}
			change = o.step()
			back = Step{Name: o.Path + ": back", Apply: []*unstructured.Unstructured{o.sample}, Same: create}
			return change, back, true
		}
	}
	return change, back, false
}

func grows(o operation) bool {
	was, before := o.Old.(int64)
	is, after := o.Value.(int64)
	return before && after && is > was
}

func anotherValue(o operation) bool { return o.Old != nil && o.Value != nil }

func aValue(o operation) bool { return o.Value != nil }
