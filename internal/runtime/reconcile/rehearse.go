package reconcile

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/apply"
)

// rehearsal are the steps of a dry run: those of a reconcile that only read, and in the
// place of the others one that asks the API server and one that shows.
func (r *Reconciler[T]) rehearsal() []step[T] {
	return []step[T]{
		{name: "fetch", run: r.fetch},
		{name: stepPace, run: r.pace},
		{name: "pause", run: r.rehearsePause},
		{name: "upgrade", run: r.rehearseUpgrade},
		{name: "external", run: r.external}, // which only looks,
		{name: "compose", run: r.rehearseCompose},
		{name: "observe", run: r.look},
		{name: "plan", run: r.rehearsePlan},
		{name: "ask", run: r.ask}, // whether the API server would do it
		{name: "show", run: r.show, last: true},
	}
}

// rehearsePause shows nothing but that the object is paused.
func (r *Reconciler[T]) rehearsePause(_ context.Context, p *pass[T]) (outcome.Outcome, error) {
	if !paused(p.object) {
		return outcome.Done(), nil
	}
	return outcome.Wait("Paused", pausedMessage), nil
}

// rehearseCompose composes, unless the object is being deleted.
func (r *Reconciler[T]) rehearseCompose(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	if p.object.GetDeletionTimestamp() != nil {
		return outcome.Done(), nil
	}
	return r.compose(ctx, p)
}

// rehearsePlan plans what is to be done for an object, or for its removal.
func (r *Reconciler[T]) rehearsePlan(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	if p.object.GetDeletionTimestamp() == nil {
		return r.plan(ctx, p)
	}
	if controllerutil.ContainsFinalizer(p.object, Finalizer) {
		p.actions = plan.Dismantle(string(p.object.GetUID()), r.Manager, p.owned)
	}
	return outcome.Done(), nil
}

// ask sends what would be applied as dry runs, which tell what a plan cannot know: that a
// name is taken, that a value is refused, that a permission is missing.
func (r *Reconciler[T]) ask(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	combined := outcome.Combine(p.waits...)
	for i, action := range p.actions {
		asked, err := r.askFor(ctx, action)
		p.actions[i] = asked
		if err != nil {
			combined = outcome.Combine(combined, explain(err))
			p.errored(ctx, "ask", err)
		}
	}
	return combined, nil
}

// askFor returns the action as the API server would let it be.
func (r *Reconciler[T]) askFor(ctx context.Context, action plan.Action) (plan.Action, error) {
	form := action.Desired
	switch action.Verb {
	case plan.Conflict:
		return action, &apply.ConflictError{ID: action.ID(), Why: action.Why}
	case plan.Create, plan.Recreate:
		form = form.DeepCopy()
		form.SetResourceVersion("1") // no object has it: one that is there is a conflict
	case plan.Update, plan.Repair, plan.Adopt:
		form = form.DeepCopy()
	default:
		return action, nil
	}
	err := r.Direct.Apply(ctx, client.ApplyConfigurationFromUnstructured(form), client.DryRunAll, client.FieldOwner(r.Manager), client.ForceOwnership)
	switch {
	case apierrors.IsConflict(err) && action.Options.Has(plan.MayAdopt):
		action.Verb, action.Why = plan.Adopt, "exists already"
		return action, nil
	case apierrors.IsConflict(err):
		action.Verb, action.Why = plan.Conflict, "exists already and was not made by this operator"
		return action, &apply.ConflictError{ID: action.ID(), Why: action.Why}
	case apierrors.IsInvalid(err) && action.Options.Has(plan.MayReplace) && form.GetResourceVersion() == "":
		action.Verb, action.Why = plan.Replace, err.Error()
		return action, nil
	case err != nil:
		return action, fmt.Errorf("apply %s: %w", action.ID(), err)
	}
	return action, nil
}

// show shows the preview, if it is another one than before. It writes nothing.
func (r *Reconciler[T]) show(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	if made := r.preview(p); r.previews.news(p.request.NamespacedName, made) {
		r.DryRun(made)
	}
	if p.failed() {
		return outcome.Done(), nil
	}
	return outcome.Done(), p.reads.End(ctx)
}
