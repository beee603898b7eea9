package reconcile

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/apply"
	"github.com/operon-framework/operon/outcome"
	"github.com/operon-framework/operon/plan"
	"github.com/operon-framework/operon/track"
)

const (
	// PausedAnnotation, when "true" on an object, stops Operon from doing anything about it.
	PausedAnnotation = "operon.dev/paused"
	// Finalizer holds an object until the children are gone that garbage collection does
	// not reach. Objects without such children do not get it.
	Finalizer = "operon.dev/children"
)

// fetch reads the object. One that is gone ends the pass.
func (r *Reconciler[T]) fetch(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	object, err := r.newObject()
	if err != nil {
		return outcome.Done(), err
	}
	err = r.Client.Get(ctx, p.request.NamespacedName, object)
	if apierrors.IsNotFound(err) {
		p.over = true
		r.applier.Forget(p.request.NamespacedName)
		return outcome.Done(), p.reads.End(ctx) // nobody reads for it any more
	}
	if err != nil {
		p.over = true // without the object there is nothing to report on
		return outcome.Retry(0, ReasonFailed, err.Error()), err
	}
	p.object, p.before = object, object.DeepCopyObject().(T)
	return outcome.Done(), nil
}

// pause ends the pass where a user asked for that.
func (r *Reconciler[T]) pause(_ context.Context, p *pass[T]) (outcome.Outcome, error) {
	if p.object.GetAnnotations()[PausedAnnotation] == "true" && p.object.GetDeletionTimestamp() == nil {
		p.over = true
	}
	return outcome.Done(), nil
}

// finalize ends the pass of an object that is being deleted. Garbage collection removes
// most children; those that it does not reach are deleted here, in reverse.
func (r *Reconciler[T]) finalize(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	if p.object.GetDeletionTimestamp() == nil {
		return outcome.Done(), nil
	}
	if !controllerutil.ContainsFinalizer(p.object, Finalizer) {
		p.over = true
		return outcome.Done(), nil
	}
	left, err := r.removeUncollected(ctx, p)
	if err != nil {
		return outcome.Done(), err
	}
	if len(left) > 0 {
		return outcome.Wait("Deleting", fmt.Sprintf("waits until %s is gone", left[0])), nil
	}
	p.over = true
	base := p.object.DeepCopyObject().(T)
	controllerutil.RemoveFinalizer(p.object, Finalizer)
	return outcome.Done(), client.IgnoreNotFound(r.Client.Patch(ctx, p.object, client.MergeFrom(base)))
}

// removeUncollected deletes the last child first and one after the other, and returns
// those that are left.
func (r *Reconciler[T]) removeUncollected(ctx context.Context, p *pass[T]) ([]plan.ID, error) {
	if _, err := r.compose(ctx, p); err != nil {
		return nil, err
	}
	if _, err := r.look(ctx, p); err != nil {
		return nil, err
	}
	var left []plan.ID
	for _, child := range slices.Backward(p.desired) {
		live := p.live[plan.Of(child)]
		if live == nil || live.GetLabels()[plan.OwnerLabel] != string(p.object.GetUID()) || apply.Collected(p.object, child) {
			continue
		}
		left = append(left, plan.Of(child))
		if len(left) > 1 || live.GetDeletionTimestamp() != nil {
			continue
		}
		if err := r.applier.Do(ctx, plan.Action{Verb: plan.Delete, Live: live}); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// compose asks the author for the children and prepares them.
func (r *Reconciler[T]) compose(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	var composition Composition
	if err := r.Composer.Compose(ctx, p.object, &composition); err != nil {
		return outcome.Done(), err
	}
	p.desired = nil
	seen := map[plan.ID]bool{}
	for _, child := range composition.Children() {
		prepared, err := r.applier.Prepare(p.object, r.kind, child)
		if err != nil {
			return outcome.Done(), err
		}
		id := plan.Of(prepared)
		if seen[id] {
			return outcome.Stalled("DuplicateChild", fmt.Sprintf("two children are composed as %s", id)), nil
		}
		seen[id] = true
		p.desired = append(p.desired, prepared)
	}
	return outcome.Done(), nil
}

// look reads the children that there are, newest state known: of the kinds that are
// composed now, and of those that were composed before and are to be pruned.
func (r *Reconciler[T]) look(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	p.owned = nil
	for _, kind := range r.kindsOf(p) {
		if err := r.lookFor(ctx, p, kind); err != nil {
			return outcome.Done(), err
		}
	}
	for _, child := range p.desired {
		id := plan.Of(child)
		if live := r.applier.Newest(id, p.live[id]); live != nil {
			p.live[id] = live
			r.applier.Saw(p.request.NamespacedName, live)
			continue
		}
		delete(p.live, id)
	}
	return outcome.Done(), nil
}

func (r *Reconciler[T]) lookFor(ctx context.Context, p *pass[T], kind schema.GroupVersionKind) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	mine := track.Selection{Labels: map[string]string{plan.OwnerLabel: string(p.object.GetUID())}}
	if err := p.reads.List(ctx, list, mine); err != nil {
		return fmt.Errorf("read the children of kind %s: %w", kind.Kind, err)
	}
	for i := range list.Items {
		live := &list.Items[i]
		if r.applier.Newest(plan.Of(live), live) == nil {
			continue // deleted by us, which the cache has not seen yet
		}
		p.live[plan.Of(live)] = live
		p.owned = append(p.owned, live)
	}
	return nil
}

func (r *Reconciler[T]) kindsOf(p *pass[T]) []schema.GroupVersionKind {
	kinds := r.applier.Kinds(p.request.NamespacedName)
	for _, child := range p.desired {
		if kind := child.GroupVersionKind(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// plan decides what to do.
func (r *Reconciler[T]) plan(_ context.Context, p *pass[T]) (outcome.Outcome, error) {
	known := map[plan.ID]bool{}
	for _, child := range p.desired {
		id := plan.Of(child)
		known[id] = r.applier.Known(p.request.NamespacedName, id)
	}
	p.actions = plan.Make(plan.Input{
		Owner:   string(p.object.GetUID()),
		Manager: r.Manager,
		Desired: p.desired,
		Live:    p.live,
		Owned:   p.owned,
		Known:   known,
	})
	return outcome.Done(), nil
}

// apply carries the plan out. One child that fails does not stop the others.
func (r *Reconciler[T]) apply(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	if err := r.holdUncollected(ctx, p); err != nil {
		return outcome.Done(), err
	}
	combined := outcome.Done()
	for _, action := range p.actions {
		err := r.applier.Do(ctx, action)
		if err == nil && action.Verb == plan.Await {
			combined = outcome.Combine(combined, outcome.Wait("ChildDeleting", fmt.Sprintf("%s %s", action.ID(), action.Why)))
		}
		if err != nil {
			combined = outcome.Combine(combined, explain(err))
			p.errored(ctx, string(action.Verb), err)
			continue
		}
		if action.Verb == plan.Delete {
			r.applier.Unsee(p.request.NamespacedName, action.ID())
		}
		p.tell(action)
	}
	return combined, nil
}

// holdUncollected adds the finalizer before the first child that needs it.
func (r *Reconciler[T]) holdUncollected(ctx context.Context, p *pass[T]) error {
	collected := func(child *unstructured.Unstructured) bool { return apply.Collected(p.object, child) }
	unneeded := !slices.ContainsFunc(p.desired, func(c *unstructured.Unstructured) bool { return !collected(c) })
	if unneeded || controllerutil.ContainsFinalizer(p.object, Finalizer) {
		return nil
	}
	base := p.before.DeepCopyObject().(T)
	held := p.before.DeepCopyObject().(T)
	controllerutil.AddFinalizer(held, Finalizer)
	return r.Client.Patch(ctx, held, client.MergeFrom(base))
}

// idOf names an object of any type.
func (r *Reconciler[T]) idOf(object client.Object) (plan.ID, error) {
	kind, err := apiutil.GVKForObject(object, r.Client.Scheme())
	if err != nil {
		return plan.ID{}, err
	}
	return plan.ID{GroupKind: kind.GroupKind(), Namespace: object.GetNamespace(), Name: object.GetName()}, nil
}

func fromUnstructured(live *unstructured.Unstructured, object client.Object) error {
	if loose, ok := object.(*unstructured.Unstructured); ok {
		live.DeepCopyInto(loose)
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, object)
}
