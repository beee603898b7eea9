package author

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Observed is what an observer can see. What it reads is watched: the object is reconciled
// again when that changes.
type Observed struct {
	reading
	verdict
	child func(context.Context, client.Object) (runtime.Object, error)
	// Unapplied is empty if every declared child is applied.
	Unapplied Unapplied
}

// Unapplied is why not every declared child is applied. Failed means that something failed, as opposed to a wait.
type Unapplied struct {
	Reason, Message string
	Failed          bool
}

// Child reads the live state of a child that was composed, by its kind and name, into
// object. It returns false while the child is not there. Of the kinds that are read so,
// whole objects are held in memory; of others, what plans need.
func (o *Observed) Child(ctx context.Context, object client.Object) (bool, error) {
	live, err := o.child(ctx, object)
	if err != nil || live == nil {
		return false, err
	}
	return true, resourceclient.Copy(live.DeepCopyObject(), object)
}

// NewObserved returns what the observer of an owner sees. child finds a child as a whole, nil where there is none.
func NewObserved(owner client.Object, reads Reads, known map[string][]external.Known[any], child func(context.Context, client.Object) (runtime.Object, error)) *Observed {
	return &Observed{reading: reading{reads: reads, owner: owner, outside: known}, child: child}
}

// NotReady reports why the object is not ready although its children are.
func (o *Observed) NotReady(reason, message string) { o.Wait(reason, message) }

// Degraded sets the condition Degraded to True for this reconcile.
func (o *Observed) Degraded(reason, message string) { o.found.Degraded = &Degraded{reason, message} }

// Seen returns what Observe reported.
func Seen(by *Observed) Verdict { return by.found }
