package reconcile

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// undo reverts the work that was done on an object that is being deleted.
func (r *Reconciler[T]) undo(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	if !p.object.deleting() || !controllerutil.ContainsFinalizer(p.object.now, StepsFinalizer) {
		return outcome.Done(), nil
	}
	work := func(context.Context, T, *durable.Run) error { return nil }
	if r.Roles.RunWorkflow != nil {
		work = r.Roles.RunWorkflow
	}
	o, err := r.carry(ctx, p, work, "the object is being deleted")
	if err != nil || o.Kind() == outcome.KindStop {
		return o, err
	}
	if j := *journalOf(p.object.now); j != nil && !j.Phase.Over() {
		return o, nil
	}
	// It may also have been held for a step that never began.
	return outcome.Done(), p.object.releaseSteps(ctx)
}
