package reconcile

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/author"
)

// Finalizer holds an object until the children are deleted that garbage collection does not
// reach. Objects without such children do not get it.
const Finalizer = "operon.dev/children"

// CleanupFinalizer holds an object until the author's Finalize has succeeded. Only objects of composers that have that
// method get it.
const CleanupFinalizer = "operon.dev/cleanup"

// ReasonDeleting: the object is being deleted, and children have to be deleted before it.
const ReasonDeleting = "Deleting"

// finalize ends the reconcile of an object that is being deleted. The author's Finalize runs first, while all children
// exist. Garbage collection removes most children; the rest is removed here, in reverse, and external resources last.
// Nothing is composed: each child's metadata says what has to be done with it.
func (r *Reconciler[T]) finalize(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	if !p.object.deleting() {
		return outcome.Done(), holdCleanup(ctx, r, p.object)
	}
	warnOfForeground(p)
	if o, err := cleanUp(ctx, r, p); err != nil || o.Kind() != outcome.KindDone {
		return o, err
	}
	if controllerutil.ContainsFinalizer(p.object.now, Finalizer) {
		if o, err := dismantle(ctx, r, p); err != nil || o.Kind() != outcome.KindDone {
			return o, err
		}
	}
	if _, o, err := r.external(ctx, p); err != nil || o.Kind() != outcome.KindDone {
		return o, err
	}
	p.entry.Events.Send(r.Events, p.object.now) // there is nothing else to report
	return outcome.Stop(0), client.IgnoreNotFound(p.object.patchMetadata(ctx, func(o client.Object) {
		controllerutil.RemoveFinalizer(o, Finalizer)
		controllerutil.RemoveFinalizer(o, ExternalFinalizer)
		retire(o, r.Retired)
	}))
}

// warnOfForeground announces that garbage collection does not wait for the finalizers of an object that is deleted in the foreground.
func warnOfForeground[T client.Object](p *pass[T]) {
	held := func(name string) bool { return controllerutil.ContainsFinalizer(p.object.now, name) }
	if held(metav1.FinalizerDeleteDependents) && (held(Finalizer) || held(CleanupFinalizer)) {
		p.announce("Delete", []author.Event{{Type: corev1.EventTypeWarning, Reason: "ForegroundDeletion", Message: "garbage collection deletes children at once, " +
			"regardless of their order and of cleanup, because the object is deleted with --cascade=foreground"}})
	}
}

// holdCleanup sets the finalizer before anything is made for the object, and removes it if the composer no longer
// has a Finalize that it could wait for.
func holdCleanup[T client.Object](ctx context.Context, r *Reconciler[T], object *object[T]) error {
	held, wanted := controllerutil.ContainsFinalizer(object.now, CleanupFinalizer), r.Roles.Finalize != nil
	if held == wanted {
		return nil
	}
	return object.patchMetadata(ctx, func(o client.Object) {
		if !wanted {
			controllerutil.RemoveFinalizer(o, CleanupFinalizer)
			return
		}
		controllerutil.AddFinalizer(o, CleanupFinalizer)
	})
}

// cleanUp calls the author's Finalize until it succeeds, and then removes the finalizer. An object that only has the finalizer of
// an earlier operator was deleted before this one was started, and has not been cleaned up either. The API server is asked first whether the
// finalizer is still there, which no other object of the name can exist before: an old cache may show it when there is another one, whose
// children Finalize would delete by name.
func cleanUp[T client.Object](ctx context.Context, r *Reconciler[T], p *pass[T]) (outcome.Outcome, error) {
	held := func(name string) bool { return controllerutil.ContainsFinalizer(p.object.now, name) }
	if !held(CleanupFinalizer) && (r.Roles.Finalize == nil || !slices.ContainsFunc(r.Retired, held)) {
		return outcome.Done(), nil
	}
	if r.Roles.Finalize != nil && !p.known.cleanedUp { // a stale cache may still show the finalizer
		if waits, err := p.object.holds(ctx, slices.Concat(r.Retired, []string{CleanupFinalizer})...); err != nil || !waits {
			return outcome.Stop(timing.lookAgain), err // until the cache shows that, too
		}
		out := author.NewFinalization(p.object.now, p.reads, r.Direct)
		if err := r.Roles.Finalize(ctx, p.object.now, out); err != nil {
			return outcome.Done(), err
		}
		found := author.Finalized(out)
		p.announce("Finalize", found.Events)
		if o := found.Outcome(); o.Kind() != outcome.KindDone || o.After() > 0 {
			return outcome.Combine(o, outcome.Wait(ReasonDeleting, "cleanup has not finished")), nil
		}
		p.known.cleanedUp = true
	}
	return outcome.Done(), client.IgnoreNotFound(p.object.patchMetadata(ctx, func(o client.Object) {
		controllerutil.RemoveFinalizer(o, CleanupFinalizer)
		retire(o, r.Retired)
	}))
}

// dismantle removes the children that garbage collection does not, the last first.
func dismantle[T client.Object](ctx context.Context, r *Reconciler[T], p *pass[T]) (outcome.Outcome, error) {
	seen, _, err := r.read(ctx, p)
	if err != nil {
		return outcome.Done(), err
	}
	actions := plan.Dismantle(deletionOf(r, p, seen))
	if len(actions) == 0 {
		return outcome.Done(), nil
	}
	_, o := carrierOf(r, p).carryOut(ctx, seen, actions)
	return outcome.Combine(outcome.Wait(ReasonDeleting, beforeIt(actions)), o), nil
}

// deletionOf returns how an object is deleted.
func deletionOf[T client.Object](r *Reconciler[T], p *pass[T], seen children) plan.Input {
	owner := p.object.now
	d := plan.Input{Owner: string(owner.GetUID()), Namespace: owner.GetNamespace(), Manager: r.Manager, Owned: seen.owned}
	if orphans(owner) || d.Orphaned() {
		r.objects.orphan(p.request.NamespacedName, owner.GetUID())
	}
	d.Orphans = r.objects.orphaned(p.request.NamespacedName, owner.GetUID())
	return d
}

// orphans reports whether a user deleted an object without its children, as kubectl delete --cascade=orphan does, and garbage collection
// has not removed their references yet.
func orphans(object client.Object) bool {
	return object.GetDeletionTimestamp() != nil && controllerutil.ContainsFinalizer(object, metav1.FinalizerOrphanDependents)
}

// beforeIt describes what an object that is being deleted waits for.
func beforeIt(actions []plan.Action) string {
	for _, action := range slices.Backward(actions) {
		if action.Verb != plan.Release {
			return fmt.Sprintf("waits until %s is gone", action.ID())
		}
	}
	return fmt.Sprintf("waits until %s is released", actions[len(actions)-1].ID())
}
