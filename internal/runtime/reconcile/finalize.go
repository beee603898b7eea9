package reconcile

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
)

// Finalizer holds an object until the children are gone that garbage collection does not
// reach. Objects without such children do not get it.
const Finalizer = "operon.dev/children"

// ReasonDeleting: the object is being deleted, and children have to go before it.
const ReasonDeleting = "Deleting"

// finalize ends the pass of an object that is being deleted. Garbage collection removes
// most children; the rest is done here, in reverse, what is outside of the cluster at the end.
// Nothing is composed for it: what there is says itself what is to become of it.
func (r *Reconciler[T]) finalize(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	if !p.object.deleting() {
		return outcome.Done(), nil
	}
	if controllerutil.ContainsFinalizer(p.object.now, Finalizer) {
		if o, err := dismantle(ctx, r, p); err != nil || o.Kind() != outcome.KindDone {
			return o, err
		}
	}
	if _, o, err := r.external(ctx, p); err != nil || o.Kind() != outcome.KindDone {
		return o, err
	}
	return outcome.Stop(0), client.IgnoreNotFound(p.object.patchMetadata(ctx, func(o client.Object) {
		controllerutil.RemoveFinalizer(o, Finalizer)
		controllerutil.RemoveFinalizer(o, ExternalFinalizer)
	}))
}

// dismantle removes the children that garbage collection does not, the last first.
func dismantle[T client.Object](ctx context.Context, r *Reconciler[T], p *pass[T]) (outcome.Outcome, error) {
	seen, _, err := r.read(ctx, p)
	if err != nil {
		return outcome.Done(), err
	}
	actions := plan.Dismantle(string(p.object.now.GetUID()), r.Manager, seen.owned)
	if len(actions) == 0 {
		return outcome.Done(), nil
	}
	_, o := carrierOf(r, p).carryOut(ctx, seen, actions)
	return outcome.Combine(outcome.Wait(ReasonDeleting, beforeIt(actions)), o), nil
}

// beforeIt says what an object that is being deleted waits for.
func beforeIt(actions []plan.Action) string {
	for _, action := range slices.Backward(actions) {
		if action.Verb != plan.Release {
			return fmt.Sprintf("waits until %s is gone", action.ID())
		}
	}
	return fmt.Sprintf("waits until %s is left behind", actions[len(actions)-1].ID())
}
