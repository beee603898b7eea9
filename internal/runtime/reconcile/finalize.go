package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/apply"
)

// ReasonDeleting: the object is being deleted, and children have to go before it.
const ReasonDeleting = "Deleting"

// finalize ends the pass of an object that is being deleted. Garbage collection removes
// most children; the rest is done here, in reverse, what is outside of the cluster at the end.
// Nothing is composed for it: what there is says itself what is to become of it.
func (r *Reconciler[T]) finalize(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	if p.object.GetDeletionTimestamp() == nil {
		return outcome.Done(), nil
	}
	if controllerutil.ContainsFinalizer(p.object, Finalizer) {
		if o, err := r.dismantle(ctx, p); err != nil || o.Kind() != outcome.KindDone {
			return o, err
		}
	}
	if o, err := r.external(ctx, p); err != nil || o.Kind() != outcome.KindDone {
		return o, err
	}
	p.over = true
	return outcome.Done(), client.IgnoreNotFound(r.patchMetadata(ctx, p, func(o client.Object) {
		controllerutil.RemoveFinalizer(o, Finalizer)
		controllerutil.RemoveFinalizer(o, ExternalFinalizer)
	}))
}

// dismantle removes the children that garbage collection does not, the last first.
func (r *Reconciler[T]) dismantle(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	if _, err := r.look(ctx, p); err != nil {
		return outcome.Done(), err
	}
	p.actions = plan.Dismantle(string(p.object.GetUID()), r.Manager, p.owned)
	if len(p.actions) == 0 {
		return outcome.Done(), nil
	}
	o, err := r.carryOut(ctx, p)
	return outcome.Combine(outcome.Wait(ReasonDeleting, beforeIt(p.actions)), o), err
}

// beforeIt says what an object that is being deleted waits for.
func beforeIt(actions []plan.Action) string {
	for _, action := range slices.Backward(actions) {
		if action.Verb != plan.Release {
			return fmt.Sprintf("waits until %s is gone", action.ID())
		}
	}
	return fmt.Sprintf("waits until %s is left behind", actions[len(actions)-1].ID())
}

// hold sets the finalizer before the first child that needs it, and lifts it after the last.
// The same write tells which kinds there are to look for, and makes the owner the parent of
// an ApplySet that kubectl understands.
func (r *Reconciler[T]) hold(ctx context.Context, p *pass[T]) error {
	held := controllerutil.ContainsFinalizer(p.object, Finalizer)
	needed := slices.ContainsFunc(p.desired, p.needsFinalizer) || held && slices.ContainsFunc(p.leftovers(), p.holdsUp)
	if !needed && !held && !r.ApplySets {
		return nil
	}
	return r.patchMetadata(ctx, p, func(o client.Object) {
		if needed {
			controllerutil.AddFinalizer(o, Finalizer)
		}
		if !needed {
			controllerutil.RemoveFinalizer(o, Finalizer)
		}
		if needed || r.ApplySets {
			r.describeSet(p, o)
		}
	})
}

// leftovers are the children that are there and not composed any more.
func (p *pass[T]) leftovers() []*plan.Live {
	return slices.DeleteFunc(slices.Clone(p.owned), func(live *plan.Live) bool {
		_, composed := p.options[live.ID()]
		return composed
	})
}

// needsFinalizer tells whether garbage collection alone will not do for a composed child.
func (p *pass[T]) needsFinalizer(child *unstructured.Unstructured) bool {
	return !apply.Collected(p.object, child) || child.GetAnnotations()[plan.AfterAnnotation] != ""
}

// holdsUp is needsFinalizer for a child that is there.
func (p *pass[T]) holdsUp(live *plan.Live) bool {
	return !live.RefersTo(p.object.GetUID()) || live.After != ""
}

// describeSet writes the labels and annotations of an ApplySet's parent.
func (r *Reconciler[T]) describeSet(p *pass[T], parent client.Object) {
	kinds, namespaces := map[schema.GroupKind]bool{}, map[string]bool{}
	var ids []plan.ID
	for _, child := range p.desired {
		ids = append(ids, plan.Of(child))
	}
	for _, live := range p.owned {
		ids = append(ids, live.ID())
	}
	for _, id := range ids {
		kinds[id.GroupKind] = true
		if id.Namespace != "" && id.Namespace != parent.GetNamespace() {
			namespaces[id.Namespace] = true
		}
	}
	parent.SetLabels(with(parent.GetLabels(), map[string]string{plan.SetLabel: plan.ApplySetID(r.self(parent))}))
	parent.SetAnnotations(with(parent.GetAnnotations(), map[string]string{
		plan.ToolingAnnotation:    r.Manager + "/v1",
		plan.KindsAnnotation:      plan.GroupKinds(kinds),
		plan.NamespacesAnnotation: strings.Join(slices.Sorted(maps.Keys(namespaces)), ","),
	}))
}

// with returns a copy of all with more.
func with[K comparable, V any](all, more map[K]V) map[K]V {
	both := map[K]V{}
	maps.Copy(both, all)
	maps.Copy(both, more)
	return both
}

// patchMetadata writes what edit changes in the metadata of the object, if anything. The
// object itself, as the author's code may have changed it, keeps what it has.
func (r *Reconciler[T]) patchMetadata(ctx context.Context, p *pass[T], edit func(client.Object)) error {
	edited := p.before.DeepCopyObject().(T)
	edit(edited)
	patch := r.over(p.before)
	if unchanged, err := client.MergeFrom(p.before).Data(edited); err != nil || string(unchanged) == "{}" {
		return err
	}
	data, err := patch.Data(edited)
	if err != nil {
		return err
	}
	if err := r.Client.Patch(ctx, edited, client.RawPatch(patch.Type(), data), client.FieldOwner(r.Manager)); err != nil {
		return fmt.Errorf("write the metadata of %s: %w", r.self(p.object), err)
	}
	r.wrote(p, r.kind.Kind, "metadata")
	if r.Mine != nil {
		p.before.SetResourceVersion(edited.GetResourceVersion()) // the status is written over that
	}
	return nil
}
