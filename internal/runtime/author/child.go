package author

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
)

// A Child is a child as a composer declared it.
type Child struct {
	Object client.Object
	// After are the children that have to be ready before it is written.
	After []client.Object
	// Ready are the author's functions instead of kstatus, and ReadyWords describe them.
	Ready      []Readiness
	ReadyWords []string
	Policy     plan.Policy
	// Err is what is wrong with an option.
	Err error
}

// ChildOption configures a child beyond its fields.
type ChildOption func(*Child)

// Readiness reports whether a child is ready, and if not, why: a clause for the Ready
// condition. It must not change the object.
type Readiness func(live *unstructured.Unstructured) (ready bool, why string)

// After lets a child be created and changed only when the others, which are declared too,
// are ready, and deletes it before them.
func After(objects ...client.Object) ChildOption {
	return func(c *Child) { c.After = append(c.After, objects...) }
}

// ReadyWhen lets a function report whether the child is ready, instead of kstatus. Of
// several, all have to agree.
func ReadyWhen(ready Readiness) ChildOption {
	return ReadyAs("a function says so", ready)
}

// ReadyAs is ReadyWhen for what can be said in words too, as a golden file shows it.
func ReadyAs(words string, ready Readiness) ChildOption {
	return func(c *Child) { c.Ready, c.ReadyWords = append(c.Ready, ready), append(c.ReadyWords, words) }
}

// Allow adds to what the author allows for a child.
func Allow(policy plan.Policy) ChildOption {
	return func(c *Child) { c.Policy |= policy }
}

// Invalid is an option that cannot be: the object stalls with the reason InvalidChild.
func Invalid(err error) ChildOption {
	return func(c *Child) { c.Err = errors.Join(c.Err, err) }
}

// Agreed asks the author's functions, which all have to agree that a child is ready.
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

// Ask tells what options say of a live object's readiness, for tests of them.
func Ask(live *unstructured.Unstructured, options ...ChildOption) (ready bool, why string, err error) {
	declared := &Child{}
	for _, option := range options {
		option(declared)
	}
	state := Agreed(declared.Ready, live)
	return state.Kind() == outcome.KindDone, state.Message(), declared.Err
}
