package reconcile

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/plan"
)

// child is a child as it was declared.
type child struct {
	object client.Object
	after  []client.Object
	ready  []Readiness
	policy plan.Policy
}

// ChildOption says more of a child than its fields do.
type ChildOption func(*child)

// Readiness tells whether a child is ready, and if not, why: a clause for the Ready
// condition. It must not change the object.
type Readiness func(live *unstructured.Unstructured) (ready bool, why string)

// After lets a child be created and changed only when the others, which are declared too,
// are ready, and deletes it before them.
func After(objects ...client.Object) ChildOption {
	return func(c *child) { c.after = append(c.after, objects...) }
}

// ReadyWhen lets a function tell whether the child is ready, in the place of kstatus. Of
// several, all have to agree.
func ReadyWhen(ready Readiness) ChildOption {
	return func(c *child) { c.ready = append(c.ready, ready) }
}

// Allow adds to what the author allows for a child.
func Allow(policy plan.Policy) ChildOption {
	return func(c *child) { c.policy |= policy }
}
