package reconcile

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/runtime/author"
)

// observe calls the author's code that fills the object's status, unless the object is paused or belongs to a newer operator.
func (r *Reconciler[T]) observe(ctx context.Context, p *pass[T]) (author.Verdict, outcome.Outcome, error) {
	if r.Roles.Observe == nil || paused(p.object.now) || p.version.newer {
		return author.Verdict{}, outcome.Done(), nil
	}
	children := readerOf(r, p)
	child := func(ctx context.Context, object client.Object) (runtime.Object, error) {
		id, err := r.applier.Identify(p.object.now, object)
		if err != nil {
			return nil, err
		}
		return children.whole(ctx, p.live(id))
	}
	observed := author.NewObserved(p.object.now, p.reads, p.outside.known, child)
	if o := p.outcome(); !p.applied.complete {
		observed.Unapplied = author.Unapplied{Reason: o.Reason(), Message: o.Message(), Failed: o.Kind() > outcome.KindWait}
	}
	if err := r.Roles.Observe(ctx, p.object.now, observed); err != nil {
		return author.Verdict{}, outcome.Done(), err
	}
	found := author.Seen(observed)
	p.announce("Observe", found.Events)
	return found, found.Outcome(), nil
}
