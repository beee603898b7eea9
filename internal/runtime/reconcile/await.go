package reconcile

import (
	"context"
	"fmt"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/author"
)

const (
	// ReasonChildNotReady: a child exists but is not ready.
	ReasonChildNotReady = author.ReasonChildNotReady
	// ReasonChildFailed: a child reports that it failed.
	ReasonChildFailed = "ChildFailed"
)

// await waits for the first child that is not ready.
func (r *Reconciler[T]) await(_ context.Context, p *pass[T]) (outcome.Outcome, error) {
	combined := outcome.Done()
	for _, child := range p.composed.desired {
		id := plan.Of(child)
		live := p.live(id)
		if live == nil {
			return outcome.Wait(ReasonChildNotReady, fmt.Sprintf("%s does not exist yet", id)), nil
		}
		state, err := p.composed.readiness(id, live)
		if err != nil {
			return outcome.Done(), err
		}
		if state.Kind() != outcome.KindDone {
			combined = outcome.Combine(combined, outcome.Wait(state.Reason(), fmt.Sprintf("%s: %s", id, state.Message())))
		}
	}
	return combined, nil
}
