package reconcile

import (
	"context"

	"github.com/operon-framework/operon/condition"
	"github.com/operon-framework/operon/outcome"
)

// PausedAnnotation, when "true" on an object, stops Operon from doing anything about it but
// to say so, until the annotation goes or the object is deleted.
const PausedAnnotation = "operon.dev/paused"

// pause ends the pass where a user asked for that, and says so once. An object that is being
// deleted is not paused: garbage collection takes most of its children anyway.
func (r *Reconciler[T]) pause(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	paused := p.object.GetAnnotations()[PausedAnnotation] == "true" && p.object.GetDeletionTimestamp() == nil
	conditions, err := condition.Of(p.object)
	if err != nil {
		return outcome.Done(), err
	}
	was := conditions.Paused()
	if !paused {
		conditions.Resume()
		if was {
			p.normal("Resumed", "Reconcile", "the annotation %s was taken off", PausedAnnotation)
		}
		return outcome.Done(), nil
	}
	p.over = true
	conditions.Pause("nothing is done for this object, and nothing of it is looked at, while its annotation "+PausedAnnotation+" is true", p.object.GetGeneration(), r.Clock.Now())
	if was {
		return outcome.Done(), r.writeStatus(ctx, p)
	}
	p.normal("Paused", "Reconcile", "nothing is done until the annotation %s is taken off", PausedAnnotation)
	r.sendEvents(p)
	return outcome.Done(), r.writeStatus(ctx, p)
}
