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
	"github.com/operon-framework/operon/internal/runtime/report"
)

// rehearsal is the dry run of a reconciler.
type rehearsal[T client.Object] struct{ *Reconciler[T] }

// steps returns the steps of a dry run: the steps of a reconcile that only read, and
// instead of the others one that queries the API server and one that shows the preview.
func (r rehearsal[T]) steps(p *pass[T]) []step[T] {
	return []step[T]{
		{name: "fetch", run: into(&p.object, r.fetch)},
		{name: stepPace, run: r.pace},
		{name: "pause", run: r.pause},
		{name: "upgrade", run: r.upgrade},
		{name: "external", run: into(&p.outside, r.external)}, // which only looks,
		{name: "compose", run: into(&p.composed, r.compose)},
		{name: "read", run: into(&p.seen, r.read)},
		{name: "plan", run: into(&p.actions, r.plan)},
		{name: "ask", run: into(&p.actions, r.ask)}, // whether the API server would accept it
		{name: "show", run: r.show, last: true},
	}
}

// pause shows only that the object is paused.
func (r rehearsal[T]) pause(_ context.Context, p *pass[T]) (outcome.Outcome, error) {
	if !paused(p.object.now) {
		return outcome.Done(), nil
	}
	return outcome.Wait("Paused", pausedMessage), nil
}

// upgrade shows no plan for an object of a newer operator.
func (r rehearsal[T]) upgrade(_ context.Context, p *pass[T]) (outcome.Outcome, error) {
	if r.Version == "" || r.WithoutStatus {
		return outcome.Done(), nil
	}
	record, verdict, _, err := judge(p.object.now, r.Version)
	if isNewer(verdict) {
		return newerVersion(record.Version, r.Version), err
	}
	return outcome.Done(), err
}

// compose composes, unless the object is being deleted.
func (r rehearsal[T]) compose(ctx context.Context, p *pass[T]) (composed, outcome.Outcome, error) {
	if p.object.deleting() {
		return composed{}, outcome.Done(), nil
	}
	return r.Reconciler.compose(ctx, p)
}

// plan plans the actions for an object, or for its removal.
func (r rehearsal[T]) plan(ctx context.Context, p *pass[T]) ([]plan.Action, outcome.Outcome, error) {
	if !p.object.deleting() {
		return r.Reconciler.plan(ctx, p)
	}
	if !controllerutil.ContainsFinalizer(p.object.now, Finalizer) {
		return nil, outcome.Done(), nil
	}
	return plan.Dismantle(deletionOf(r.Reconciler, p, p.seen)), outcome.Done(), nil
}

// ask sends the applies as dry runs, which show what a plan cannot know: that a
// name is taken, that a value is refused, that a permission is missing.
func (r rehearsal[T]) ask(ctx context.Context, p *pass[T]) ([]plan.Action, outcome.Outcome, error) {
	combined := outcome.Combine(p.composed.waits...)
	var answers []plan.Action
	for _, action := range p.actions {
		answer, err := r.askFor(ctx, action)
		answers = append(answers, answer)
		if err != nil {
			combined = outcome.Combine(combined, explain(err).With(fmt.Errorf("ask: %w", err)))
		}
	}
	return answers, combined, nil
}

// askFor returns the action as the API server would accept it.
func (r rehearsal[T]) askFor(ctx context.Context, action plan.Action) (plan.Action, error) {
	form := action.Desired
	switch action.Verb {
	case plan.Conflict:
		return action, &apply.ConflictError{ID: action.ID(), Why: action.Why}
	case plan.Create, plan.Recreate:
		form = form.DeepCopy()
		form.SetResourceVersion("1") // no object has it: an existing object is a conflict
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
		action.Verb, action.Why = plan.Conflict, "exists already and was not created by this operator"
		return action, &apply.ConflictError{ID: action.ID(), Why: action.Why}
	case apierrors.IsInvalid(err) && action.Options.Has(plan.MayReplace) && form.GetResourceVersion() == "":
		action.Verb, action.Why = plan.Replace, err.Error()
		return action, nil
	case err != nil:
		return action, fmt.Errorf("apply %s: %w", action.ID(), err)
	}
	return action, nil
}

// show shows the preview if it differs from the last one. It writes nothing.
func (r rehearsal[T]) show(_ context.Context, p *pass[T]) (outcome.Outcome, error) {
	made := report.NewPreview(p.object.id, p.actions, p.outside.deeds, p.outcome())
	if last := p.known.preview; last == nil || !last.Equal(made) {
		p.known.preview = &made
		r.DryRun(made)
	}
	if !p.ends() {
		p.reads.End()
	}
	return outcome.Done(), nil
}
