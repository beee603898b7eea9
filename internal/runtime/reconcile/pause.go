package reconcile

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
)

// PausedAnnotation, when "true" on an object, makes Operon do nothing for it except
// reporting the pause, until the annotation is removed or the object is deleted.
const PausedAnnotation = "operon.dev/paused"

const pausedMessage = "reconciliation is paused by annotation " + PausedAnnotation + "=true"

// paused reports whether a user paused the object. An object that is being
// deleted is not paused: garbage collection deletes most of its children anyway.
func paused(object client.Object) bool {
	return object.GetAnnotations()[PausedAnnotation] == "true" && object.GetDeletionTimestamp() == nil
}

// pause ends the reconcile if a user paused the object. The report writes it.
func (r *Reconciler[T]) pause(_ context.Context, p *pass[T]) (outcome.Outcome, error) {
	conditions, err := p.object.conditions()
	if err != nil {
		return outcome.Done(), err
	}
	switch was, is := conditions.Paused(), paused(p.object.now); {
	case was && !is && !p.object.deleting():
		p.entry.Events.Normal("Resumed", "Reconcile", "annotation %s was removed", PausedAnnotation)
	case is && !was:
		p.entry.Events.Normal("Paused", "Reconcile", "reconciliation is paused; remove annotation %s to resume", PausedAnnotation)
	}
	if !paused(p.object.now) {
		return outcome.Done(), nil
	}
	return outcome.Wait("Paused", pausedMessage), nil
}
