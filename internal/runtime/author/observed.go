package author

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Observed is what an observer can see. Objects that it reads are watched: the object is reconciled again when they change.
type Observed struct {
	reading
	verdict
	child func(context.Context, client.Object) (runtime.Object, error)
	// Unapplied is empty if every declared child is applied.
	Unapplied Unapplied
}

// Unapplied is the reason why not every declared child is applied. Failed distinguishes a failure from waiting.
type Unapplied struct {
	Reason, Message string
	Failed          bool
}

// Child reads the live state of a composed child by its kind and name into object. It returns false if the child does not
// exist. For kinds that are read in this way, whole objects are stored in memory; for others, only the data that plans need.
func (o *Observed) Child(ctx context.Context, object client.Object) (bool, error) {
	live, err := o.child(ctx, object)
	if err != nil || live == nil {
		return false, err
	}
	return true, resourceclient.Copy(live.DeepCopyObject(), object)
}

// NewObserved returns what the observer of an owner can see. child returns a child as a whole, or nil if it does not exist.
func NewObserved(owner client.Object, reads Reads, known map[string][]external.Known[any], child func(context.Context, client.Object) (runtime.Object, error)) *Observed {
	return &Observed{reading: reading{reads: reads, owner: owner, outside: known}, child: child}
}

// NotReady reports why the object is not ready although its children are.
func (o *Observed) NotReady(reason, message string) { o.Wait(reason, message) }

// Degraded sets the condition Degraded to True for this reconcile.
func (o *Observed) Degraded(reason, message string) { o.found.Degraded = &Degraded{reason, message} }

// Seen returns what Observe reported.
func Seen(by *Observed) Verdict { return by.found }
