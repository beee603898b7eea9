package reconcile

import (
	"context"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
)

// plan decides what to do.
func (r *Reconciler[T]) plan(_ context.Context, p *pass[T]) ([]plan.Action, outcome.Outcome, error) {
	known, unready := map[plan.ID]bool{}, map[plan.ID]string{}
	for _, child := range p.composed.desired {
		id := plan.Of(child)
		known[id] = p.known.family.Knows(id)
		live := p.seen.live[id]
		if live == nil {
			continue
		}
		state, err := p.composed.readiness(id, live)
		if err != nil {
			return nil, outcome.Done(), err
		}
		if state.Kind() != outcome.KindDone {
			unready[id] = state.Message()
		}
	}
	return plan.Make(plan.Input{
		Owner:      string(p.object.now.GetUID()),
		Manager:    r.Manager,
		Desired:    p.composed.desired,
		Options:    p.composed.options,
		Live:       p.seen.live,
		Unready:    unready,
		Owned:      p.seen.owned,
		Known:      known,
		Incomplete: p.composed.declared.Incomplete,
	}), outcome.Done(), nil
}
