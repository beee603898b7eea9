package reconcile

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// PausedAnnotation, when "true" on an object, stops Operon from doing anything about it but
// to say so, until the annotation goes or the object is deleted.
const PausedAnnotation = "operon.dev/paused"

const pausedMessage = "nothing is done for this object, and nothing of it is looked at, while its annotation " + PausedAnnotation + " is true"

func paused(object client.Object) bool {
	return object.GetAnnotations()[PausedAnnotation] == "true" && object.GetDeletionTimestamp() == nil
}

// pause ends the pass where a user asked for that, and says so once. An object that is being
// deleted is not paused: garbage collection takes most of its children anyway.
func (r *Reconciler[T]) pause(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	conditions, err := condition.Of(p.object)
	if err != nil {
		return outcome.Done(), err
	}
	was := conditions.Paused()
	if !paused(p.object) {
		conditions.Resume()
		if was {
			p.normal("Resumed", "Reconcile", "the annotation %s was taken off", PausedAnnotation)
		}
		return outcome.Done(), nil
	}
	p.over = true
	conditions.Pause(pausedMessage, p.object.GetGeneration(), r.Clock.Now())
	if was {
		return outcome.Done(), r.writeStatus(ctx, p)
	}
	p.normal("Paused", "Reconcile", "nothing is done until the annotation %s is taken off", PausedAnnotation)
	r.sendEvents(p)
	return outcome.Done(), r.writeStatus(ctx, p)
}
