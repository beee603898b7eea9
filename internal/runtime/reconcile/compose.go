package reconcile

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/readiness"
	"github.com/operon-framework/operon/internal/runtime/apply"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// composed are the children that the author declared, prepared to be applied.
type composed struct {
	// declared is what the author declared, unchanged.
	declared author.Composed
	desired  []*unstructured.Unstructured
	options  map[plan.ID]plan.Options
	ready    map[plan.ID][]author.Readiness
	// waits are the reasons for which composing waits.
	waits []outcome.Outcome
}

// compose calls the author's code for the children and prepares them. A child of a kind or version that the cluster lacks does not stop the
// others, but while it is not known which object it is, nothing is pruned: it may exist in another version, as after an upgrade of the cluster.
func (r *Reconciler[T]) compose(ctx context.Context, p *pass[T]) (composed, outcome.Outcome, error) {
	object := p.object.now
	composition := author.NewCompositionWith(object, p.reads, r.Direct, p.outside.known)
	if r.DryRun != nil {
		composition.SetDryRun()
	}
	if err := r.Roles.Compose(ctx, object, composition); err != nil {
		return composed{}, outcome.Done(), err
	}
	found := composed{declared: author.Declared(composition), options: map[plan.ID]plan.Options{}, ready: map[plan.ID][]author.Readiness{}}
	found.waits = found.declared.Outcomes
	p.announce("Compose", found.declared.Events)
	skipped := map[plan.ID]bool{}
	for _, child := range found.declared.Children {
		err := found.add(r.applier, object, r.kind, child)
		if is[*resourceclient.MissingKindError](err) {
			found.waits = append(found.waits, explain(err).With(fmt.Errorf("compose: %w", err)))
			found.declared.Incomplete = true
			if id, err := r.applier.Identify(object, child.Object); err == nil { // only the kind before it is missing
				skipped[id] = true
			}
			continue
		}
		if err != nil {
			return found, outcome.Done(), err
		}
	}
	found.skipAfter(skipped)
	ordered, err := plan.Order(found.desired, found.options)
	if err != nil {
		return found, outcome.Done(), err
	}
	found.desired = ordered
	for _, child := range ordered {
		if len(found.ready[plan.Of(child)]) > 0 {
			r.kinds.readWhole(child.GroupVersionKind()) // the author's function gets the object
		}
	}
	return found, outcome.Again(found.declared.Again), nil
}

// add prepares a child of an owner, and adds it.
func (c *composed) add(applier *apply.Applier, owner client.Object, kind schema.GroupVersionKind, child *author.Child) error {
	if child.Err != nil {
		return &apply.InvalidError{Message: fmt.Sprintf("child %s: %v", child.Object.GetName(), child.Err)}
	}
	options := plan.Options{Policy: child.Policy}
	for _, before := range child.After {
		id, err := applier.Identify(owner, before)
		if err != nil {
			return fmt.Errorf("what comes before %s: %w", child.Object.GetName(), err)
		}
		options.After = append(options.After, id)
	}
	prepared, err := applier.Prepare(owner, kind, child.Object, options)
	if err != nil {
		return err
	}
	id := plan.Of(prepared)
	if _, twice := c.options[id]; twice {
		return &DuplicateError{ID: id}
	}
	c.desired = append(c.desired, prepared)
	c.options[id], c.ready[id] = options, child.Ready
	return nil
}

// skipAfter removes the children that come after children that are skipped.
func (c *composed) skipAfter(skipped map[plan.ID]bool) {
	for before := -1; before != len(skipped); {
		before = len(skipped)
		c.desired = slices.DeleteFunc(c.desired, func(child *unstructured.Unstructured) bool {
			id := plan.Of(child)
			if slices.ContainsFunc(c.options[id].After, func(first plan.ID) bool { return skipped[first] }) {
				skipped[id] = true
				delete(c.options, id)
				delete(c.ready, id)
			}
			return skipped[id]
		})
	}
}

// readiness returns whether a child is ready: by the author's functions, which need the whole object, or else by
// its state.
func (c composed) readiness(id plan.ID, live *plan.Live) (outcome.Outcome, error) {
	asked := c.ready[id]
	switch {
	case len(asked) == 0 && live.State.Status == readiness.Ready:
		return outcome.Done(), nil
	case len(asked) == 0 && live.State.Status == readiness.Failed:
		return outcome.Wait(ReasonChildFailed, live.State.Message), nil
	case len(asked) == 0:
		return outcome.Wait(ReasonChildNotReady, live.State.Message), nil
	case live.Object == nil:
		return outcome.Wait(ReasonChildNotReady, "it has not been read completely yet"), nil
	}
	loose, err := resourceclient.LooseOf(live.Object)
	if err != nil {
		return outcome.Done(), fmt.Errorf("check whether %s is ready: %w", id, err)
	}
	return author.Agreed(asked, loose), nil
}

// DuplicateError reports that two children were composed under one name.
type DuplicateError struct{ ID plan.ID }

func (e *DuplicateError) Error() string { return fmt.Sprintf("two children are declared as %s", e.ID) }
