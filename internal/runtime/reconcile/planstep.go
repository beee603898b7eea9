package reconcile

import (
	"context"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
)

// plan decides what to do.
func (r *Reconciler[T]) plan(_ context.Context, p *pass[T]) (outcome.Outcome, error) {
	known, unready := map[plan.ID]bool{}, map[plan.ID]string{}
	for _, child := range p.desired {
		id := plan.Of(child)
		known[id] = r.family.Knows(p.request.NamespacedName, id)
		if p.live[id] == nil {
			continue
		}
		state, err := p.readiness(id, p.live[id])
		if err != nil {
			return outcome.Done(), err
		}
		if state.Kind() != outcome.KindDone {
			unready[id] = state.Message()
		}
	}
	p.actions = plan.Make(plan.Input{
		Owner:      string(p.object.GetUID()),
		Manager:    r.Manager,
		Desired:    p.desired,
		Options:    p.options,
		Live:       p.live,
		Unready:    unready,
		Owned:      p.owned,
		Known:      known,
		Incomplete: p.incomplete,
	})
	return outcome.Done(), nil
}
