package reconcile

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operon-framework/operon/internal/core/outcome"
)

// step is one named part of a reconcile.
type step[T client.Object] struct {
	name string
	run  func(context.Context, *pass[T]) (outcome.Outcome, error)
	// last steps run regardless of the outcome of the steps before, unless the reconcile stopped.
	last bool
	// aside steps do not end the reconcile: their outcome is reported with the rest.
	aside bool
}

// steps returns the steps of a reconcile, in order. Each has an outcome; one that is not done
// ends the reconcile, except that the result is still reported.
func (r *Reconciler[T]) steps(p *pass[T]) []step[T] {
	return []step[T]{
		{name: "fetch", run: into(&p.object, r.fetch)},                   // the object, or its absence
		{name: stepPace, run: r.pace},                                    // a delay, if the object is reconciled too often
		{name: "pause", run: r.pause},                                    // nothing, if a user paused the object
		{name: "undo", run: r.undo},                                      // the steps of work on an object that is being deleted
		{name: "finalize", run: r.finalize},                              // an object that is being deleted, and nothing else
		{name: "upgrade", run: into(&p.version, r.upgrade)},              // an object that an older operator reconciled last
		{name: "work", run: r.work, aside: true},                         // the author's steps, each of them once
		{name: "external", run: into(&p.outside, r.external)},            // resources outside the cluster
		{name: "compose", run: into(&p.composed, r.compose)},             // the author declares the children
		{name: "read", run: into(&p.seen, r.read)},                       // the children that exist
		{name: "plan", run: into(&p.actions, r.plan)},                    // what to do, decided without doing it
		{name: "apply", run: into(&p.applied, r.apply)},                  // doing it
		{name: "await", run: r.await},                                    // until the children are ready
		{name: "observe", run: into(&p.observed, r.observe), last: true}, // the author fills the status
		{name: stepReport, run: into(&p.reported, r.report), last: true}, // the only writer of the runtime's conditions
	}
}

// into returns a step from a function whose result becomes a part of the pass.
func into[T client.Object, Part any](part *Part, run func(context.Context, *pass[T]) (Part, outcome.Outcome, error)) func(context.Context, *pass[T]) (outcome.Outcome, error) {
	return func(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
		found, o, err := run(ctx, p)
		*part = found
		return o, err
	}
}

// Reconcile runs the steps for one object. Their outcomes are combined by
// outcome.Combine and reported in three places: the object's status, its events, and the time at which the
// work queue reconciles it again.
func (r *Reconciler[T]) Reconcile(ctx context.Context, request Request) (Result, error) {
	ctx, p, release := r.begin(ctx, request)
	defer release()
	steps := r.steps(p)
	if r.DryRun != nil {
		steps = rehearsal[T]{r}.steps(p)
	}
	for _, s := range steps {
		if p.stopped() || p.ends() && !s.last {
			continue
		}
		p.ended = append(p.ended, r.run(ctx, s, p))
	}
	if p.unreported() && r.DryRun == nil {
		if err := keepJournal(ctx, p.object); err != nil {
			log.FromContext(ctx).Error(outcome.CutError(err), "the journal is not written")
		}
	}
	return r.end(ctx, p)
}
