package reconcile

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/readiness"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

const (
	// ReasonChildNotReady: a child is there but not ready.
	ReasonChildNotReady = "ChildNotReady"
	// ReasonChildFailed: a child says of itself that it failed.
	ReasonChildFailed = "ChildFailed"
)

// await waits for the first child that is not ready.
func (r *Reconciler[T]) await(_ context.Context, p *pass[T]) (outcome.Outcome, error) {
	combined := outcome.Done()
	for _, child := range p.desired {
		id := plan.Of(child)
		live := p.live[id]
		if live == nil {
			return outcome.Wait(ReasonChildNotReady, fmt.Sprintf("%s is not there yet", id)), nil
		}
		state, err := p.readiness(id, live)
		if err != nil {
			return outcome.Done(), err
		}
		if state.Kind() != outcome.KindDone {
			combined = outcome.Combine(combined, outcome.Wait(state.Reason(), fmt.Sprintf("%s: %s", id, state.Message())))
		}
	}
	return combined, nil
}

// readiness tells whether a child is ready: by what the author said, or else by its state.
func (p *pass[T]) readiness(id plan.ID, live *plan.Live) (outcome.Outcome, error) {
	if said := p.ready[id]; len(said) > 0 {
		return p.asked(id, live, said)
	}
	switch live.State.Status {
	case readiness.Ready:
		return outcome.Done(), nil
	case readiness.Failed:
		return outcome.Wait(ReasonChildFailed, live.State.Message), nil
	}
	return outcome.Wait(ReasonChildNotReady, live.State.Message), nil
}

// asked asks the author's functions, which need the whole object.
func (p *pass[T]) asked(id plan.ID, live *plan.Live, said []Readiness) (outcome.Outcome, error) {
	if live.Object == nil {
		return outcome.Wait(ReasonChildNotReady, "it was not read as a whole yet"), nil
	}
	loose, err := resourceclient.LooseOf(live.Object)
	if err != nil {
		return outcome.Done(), fmt.Errorf("tell whether %s is ready: %w", id, err)
	}
	return agreed(said, loose), nil
}

// agreed asks the author's functions, which all have to agree.
func agreed(said []Readiness, live *unstructured.Unstructured) outcome.Outcome {
	for _, ready := range said {
		if ok, why := ready(live); !ok {
			return outcome.Wait(ReasonChildNotReady, why)
		}
	}
	return outcome.Done()
}
