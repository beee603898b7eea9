package reconcile

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
)

// step is one named part of a reconcile.
type step[T client.Object] struct {
	name string
	run  func(context.Context, *pass[T]) (outcome.Outcome, error)
	// last steps run however the ones before ended.
	last bool
	// aside steps end nothing: what they come to is told with the rest.
	aside bool
}

// steps are a reconcile, from top to bottom. Each ends in an outcome; one that is not done
// ends the pass, except that what was found out is still reported.
func (r *Reconciler[T]) steps() []step[T] {
	return []step[T]{
		{name: "fetch", run: r.fetch},            // the object, or its absence
		{name: stepPace, run: r.pace},            // later, if it is reconciled too often
		{name: "pause", run: r.pause},            // nothing, if a user asked for nothing
		{name: "undo", run: r.undo},              // the steps of work on an object that is being deleted
		{name: "finalize", run: r.finalize},      // an object that is being deleted, and nothing else
		{name: "upgrade", run: r.upgrade},        // an object that an older operator took care of last
		{name: "work", run: r.work, aside: true}, // the author's steps, each of them once
		{name: "external", run: r.external},      // what is outside of the cluster is kept as declared
		{name: "compose", run: r.compose},        // the author declares the children
		{name: "observe", run: r.look},           // the children that there are
		{name: "plan", run: r.plan},              // what to do, decided without doing it
		{name: "apply", run: r.apply},            // doing it
		{name: "await", run: r.await},            // until the children are ready
		{name: "status", run: r.status, last: true},
		{name: stepReport, run: r.report, last: true},
	}
}

// Reconcile runs the steps for one object. The outcomes that they end in are combined by
// outcome.Combine and told in three places: the object's status, its events, and when the
// work queue brings it back.
func (r *Reconciler[T]) Reconcile(ctx context.Context, request Request) (Result, error) {
	ctx, p := r.begin(ctx, request)
	steps := r.steps()
	if r.DryRun != nil {
		steps = r.rehearsal()
	}
	for _, s := range steps {
		if p.over || (p.failed() && !s.last) {
			continue
		}
		p.note(s, r.timed(ctx, s, p))
	}
	return r.end(ctx, p)
}
