package author

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
)

// A Child is a child that a composer declared.
type Child struct {
	Object client.Object
	// After contains the children that must be ready before this one is written.
	After []client.Object
	// Ready are the author's functions instead of kstatus, and ReadyWords describe them.
	Ready      []Readiness
	ReadyWords []string
	Policy     plan.Policy
	// Err describes what is wrong with an option.
	Err error
}

// ChildOption configures a child beyond its fields.
type ChildOption func(*Child)

// Readiness reports whether a child is ready, and if not, the reason: a clause for the Ready condition. It must not change
// the object.
type Readiness func(live *unstructured.Unstructured) (ready bool, why string)

// After creates and changes a child only when the others, which must be declared too, are ready, and deletes it before them.
func After(objects ...client.Object) ChildOption {
	return func(c *Child) { c.After = append(c.After, objects...) }
}

// ReadyWhen uses a function instead of kstatus to determine whether the child is ready. If there are several functions, all
// must report that it is ready.
func ReadyWhen(ready Readiness) ChildOption {
	return ReadyAs("a function says so", ready)
}

// ReadyAs is ReadyWhen with a description, which golden files contain.
func ReadyAs(words string, ready Readiness) ChildOption {
	return func(c *Child) { c.Ready, c.ReadyWords = append(c.Ready, ready), append(c.ReadyWords, words) }
}

// Allow adds a policy that the author allows for a child.
func Allow(policy plan.Policy) ChildOption {
	return func(c *Child) { c.Policy |= policy }
}

// Invalid returns an invalid option: the object stalls with the reason InvalidChild.
func Invalid(err error) ChildOption {
	return func(c *Child) { c.Err = errors.Join(c.Err, err) }
}

// Agreed calls the author's functions. The child is ready if all of them report that it is.
func Agreed(asked []Readiness, live *unstructured.Unstructured) outcome.Outcome {
	for _, ready := range asked {
		if ok, why := ready(live); !ok {
			return outcome.Wait(ReasonChildNotReady, why)
		}
	}
	return outcome.Done()
}

// ReasonChildNotReady: a child exists but is not ready.
const ReasonChildNotReady = "ChildNotReady"

// Ask returns the readiness of a live object according to options, for tests of these options.
func Ask(live *unstructured.Unstructured, options ...ChildOption) (ready bool, why string, err error) {
	declared := &Child{}
	for _, option := range options {
		option(declared)
	}
	state := Agreed(declared.Ready, live)
	return state.Kind() == outcome.KindDone, state.Message(), declared.Err
}
