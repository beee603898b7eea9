package reconcile

import (
	"context"
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/outcome"
	"github.com/operon-framework/operon/plan"
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
		live := r.applier.Newest(id, p.live[id])
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

// readiness tells whether a child is ready: by what the author said, or else by kstatus,
// which knows the built-in kinds and reads the conditions of others.
func (p *pass[T]) readiness(id plan.ID, live *unstructured.Unstructured) (outcome.Outcome, error) {
	if said := p.ready[id]; len(said) > 0 {
		return agreed(said, live), nil
	}
	found, err := status.Compute(live)
	if err != nil {
		return outcome.Done(), fmt.Errorf("tell whether %s is ready: %w", id, err)
	}
	switch found.Status {
	case status.CurrentStatus:
		return outcome.Done(), nil
	case status.FailedStatus:
		return outcome.Wait(ReasonChildFailed, found.Message), nil
	}
	return outcome.Wait(ReasonChildNotReady, found.Message), nil
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
