package reconcile

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/apply"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// compose asks the author for the children and prepares them. A child of a kind that the
// cluster lacks does not stop the others.
func (r *Reconciler[T]) compose(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	composition := NewComposition(p.object, p.reads)
	composition.outside = p.known
	if err := r.Composer.Compose(ctx, p.object, composition); err != nil {
		return outcome.Done(), err
	}
	p.composed, p.waits = composition.children, composition.waits
	p.incomplete = len(p.waits) > 0 || composition.partial
	p.aside = append(p.aside, outcome.Again(composition.again))
	p.desired, p.options, p.ready = nil, map[plan.ID]plan.Options{}, map[plan.ID][]Readiness{}
	for _, declared := range composition.children {
		err := r.prepare(p, declared)
		var missing *resourceclient.MissingKindError
		if errors.As(err, &missing) {
			p.waits = append(p.waits, explain(err))
			p.errored(ctx, "compose", err)
			continue
		}
		if err != nil {
			return outcome.Done(), err
		}
	}
	ordered, err := plan.Order(p.desired, p.options)
	if err != nil {
		return outcome.Done(), err
	}
	p.desired = ordered
	return outcome.Done(), nil
}

// prepare adds a child to the pass.
func (r *Reconciler[T]) prepare(p *pass[T], declared *child) error {
	if declared.err != nil {
		return &apply.InvalidError{Message: fmt.Sprintf("child %s: %v", declared.object.GetName(), declared.err)}
	}
	options := plan.Options{Policy: declared.policy}
	for _, before := range declared.after {
		id, err := r.applier.Identify(p.object, before)
		if err != nil {
			return fmt.Errorf("what comes before %s: %w", declared.object.GetName(), err)
		}
		options.After = append(options.After, id)
	}
	prepared, err := r.applier.Prepare(p.object, r.kind, declared.object, options)
	if err != nil {
		return err
	}
	id := plan.Of(prepared)
	if _, twice := p.options[id]; twice {
		return &DuplicateError{ID: id}
	}
	if len(declared.ready) > 0 {
		r.whole.Store(prepared.GroupVersionKind(), true) // the author's function gets the object
	}
	p.desired = append(p.desired, prepared)
	p.options[id], p.ready[id] = options, declared.ready
	return nil
}

// DuplicateError says that two children were composed under one name.
type DuplicateError struct{ ID plan.ID }

func (e *DuplicateError) Error() string { return fmt.Sprintf("two children are composed as %s", e.ID) }

// self names the object that is reconciled.
func (r *Reconciler[T]) self(object client.Object) plan.ID {
	return plan.ID{GroupKind: r.kind.GroupKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
}
