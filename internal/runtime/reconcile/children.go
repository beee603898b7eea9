package reconcile

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/apply"
)

// Finalizer holds an object until the children are gone that garbage collection does not
// reach. Objects without such children do not get it.
const Finalizer = "operon.dev/children"

// fetch reads the object. One that is gone ends the pass.
func (r *Reconciler[T]) fetch(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	object, err := r.newObject()
	if err != nil {
		return outcome.Done(), err
	}
	err = r.Client.Get(ctx, p.request.NamespacedName, object)
	if apierrors.IsNotFound(err) {
		p.over = true
		r.forget(p.request.NamespacedName)
		r.pending.hold(p.request.NamespacedName, false, r.Clock.Now())
		r.buckets.forget(p.request.NamespacedName)
		r.previews.forget(p.request.NamespacedName)
		return outcome.Done(), p.reads.End(ctx) // nobody reads for it any more
	}
	if err != nil {
		p.over = true // without the object there is nothing to report on
		return outcome.Retry(0, ReasonFailed, err.Error()), err
	}
	p.object, p.before = object, object.DeepCopyObject().(T)
	p.over = r.Mine != nil && !r.Mine(ctx, object.GetUID())
	return outcome.Done(), r.fill(ctx, p)
}

// fill gives the object the defaults that it was stored without. One that goes is left as it is.
func (r *Reconciler[T]) fill(ctx context.Context, p *pass[T]) error {
	defaulter, ok := any(r.Composer).(Defaulter[T])
	if !ok || p.over || p.object.GetDeletionTimestamp() != nil {
		return nil
	}
	if err := defaulter.Default(ctx, p.object); err != nil {
		return fmt.Errorf("fill in defaults: %w", err)
	}
	return nil
}

// look reads the children that there are, newest state known: of the kinds that are
// composed now, and of those that were composed before and are to be pruned.
func (r *Reconciler[T]) look(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	p.owned, p.unshown = nil, nil
	kinds, err := r.kindsOf(ctx, p)
	if err != nil {
		return outcome.Done(), err
	}
	writes := r.Memory.View()
	defer writes.End()
	for _, kind := range kinds {
		if err := r.lookForEarlier(ctx, p, writes, kind); err != nil {
			return outcome.Done(), err
		}
	}
	r.recall(p, writes)
	for _, child := range p.desired {
		id := plan.Of(child)
		if live := writes.Newest(id, p.live[id]); live != nil {
			p.live[id] = live
			if !live.Deleting { // or it would be seen once more after it was removed on purpose
				r.family.Saw(p.request.NamespacedName, live)
			}
			continue
		}
		delete(p.live, id)
	}
	return outcome.Done(), nil
}

// lookFor reads the children of a kind.
func (r *Reconciler[T]) lookFor(ctx context.Context, p *pass[T], writes *apply.View, kind schema.GroupVersionKind) error {
	found, err := p.reads.Children(ctx, r.children(kind), p.object.GetUID())
	if err != nil {
		return fmt.Errorf("read the children of kind %s: %w", kind.Kind, err)
	}
	for _, live := range found {
		newest := writes.Newest(live.ID(), live)
		if newest == nil {
			continue // released by us, which the watch has not shown yet
		}
		p.live[live.ID()] = newest
		p.owned = append(p.owned, newest)
	}
	return nil
}

// recall adds the children that this process made and that no watch has shown yet: where the object goes at once, or
// is changed, they go, too.
func (r *Reconciler[T]) recall(p *pass[T], writes *apply.View) {
	for _, id := range r.family.Children(p.request.NamespacedName) {
		if p.live[id] != nil {
			continue
		}
		live := writes.Newest(id, nil)
		if live == nil || live.Owner != string(p.object.GetUID()) {
			continue
		}
		p.live[id] = live
		p.owned = append(p.owned, live)
		if p.unshown == nil {
			p.unshown = map[plan.ID]bool{}
		}
		p.unshown[id] = true
	}
}

// forget drops what is known of an object that is gone.
func (r *Reconciler[T]) forget(owner types.NamespacedName) {
	for _, child := range r.family.Forget(owner) {
		r.Memory.Forget(child)
	}
	r.own.forget(owner)
	r.keeper.Forget(owner)
}

// kindsOf are the kinds of which there may be children: those that are composed now, and
// those that were, as far as this process, the object or the operator's record tells.
func (r *Reconciler[T]) kindsOf(ctx context.Context, p *pass[T]) ([]schema.GroupVersionKind, error) {
	kinds := r.family.Kinds(p.request.NamespacedName)
	for _, child := range p.desired {
		if kind := child.GroupVersionKind(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	earlier, err := r.Record.Kinds(ctx, r.kind.GroupKind())
	if err != nil {
		return nil, err
	}
	for _, kind := range append(earlier, plan.ParseGroupKinds(p.object.GetAnnotations()[plan.KindsAnnotation])...) {
		if slices.ContainsFunc(kinds, func(k schema.GroupVersionKind) bool { return k.GroupKind() == kind }) {
			continue
		}
		mapping, err := r.Direct.RESTMapper().RESTMapping(kind)
		if meta.IsNoMatchError(err) {
			continue // a kind that the cluster lost took its objects along
		}
		if err != nil {
			return nil, fmt.Errorf("find the kind %s: %w", kind, err)
		}
		kinds = append(kinds, mapping.GroupVersionKind)
	}
	return kinds, nil
}

// lookForEarlier is lookFor where a kind may only have been composed by an earlier version.
// This one may lack the permission to read it: that is logged, once, and stops nothing.
func (r *Reconciler[T]) lookForEarlier(ctx context.Context, p *pass[T], writes *apply.View, kind schema.GroupVersionKind) error {
	if slices.ContainsFunc(p.desired, func(c *unstructured.Unstructured) bool { return c.GroupVersionKind() == kind }) ||
		slices.Contains(r.family.Kinds(p.request.NamespacedName), kind) || p.object.GetDeletionTimestamp() != nil {
		return r.lookFor(ctx, p, writes, kind)
	}
	if _, unreadable := r.unreadable.Load(kind); unreadable {
		return nil
	}
	err := r.lookFor(ctx, p, writes, kind)
	if !apierrors.IsForbidden(err) {
		return err
	}
	if _, told := r.unreadable.LoadOrStore(kind, true); !told {
		log.FromContext(ctx).Error(err, "children of a kind that an earlier version composed are not looked for until the operator starts again", "kind", kind.Kind)
	}
	return nil
}
