package reconcile

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
)

// child is a child as it was declared.
type child struct {
	object client.Object
	after  []client.Object
	ready  []Readiness
	said   []string // ready, in words
	policy plan.Policy
	err    error // what is wrong with an option
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
	return ReadyAs("a function says so", ready)
}

// ReadyAs is ReadyWhen for what can be said in words too, as a golden file shows it.
func ReadyAs(words string, ready Readiness) ChildOption {
	return func(c *child) { c.ready, c.said = append(c.ready, ready), append(c.said, words) }
}

// Allow adds to what the author allows for a child.
func Allow(policy plan.Policy) ChildOption {
	return func(c *child) { c.policy |= policy }
}

// Invalid is an option that cannot be: the object stalls with the reason InvalidChild.
func Invalid(err error) ChildOption {
	return func(c *child) { c.err = errors.Join(c.err, err) }
}

// Ask tells what options say of a live object's readiness, for tests of them.
func Ask(live *unstructured.Unstructured, options ...ChildOption) (ready bool, why string, err error) {
	declared := &child{}
	for _, option := range options {
		option(declared)
	}
	state := agreed(declared.ready, live)
	return state.Kind() == outcome.KindDone, state.Message(), declared.err
}
