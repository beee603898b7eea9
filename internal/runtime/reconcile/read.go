package reconcile

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/apply"
)

// children are those that exist, in the newest state known.
type children struct {
	// live are those that are composed, and all that carry the owner's label.
	live map[plan.ID]*plan.Live
	// owned are those that carry the owner's label.
	owned []*plan.Live
	// unshown are those of them that no watch has shown yet.
	unshown map[plan.ID]bool
}

func (c *children) add(live *plan.Live) {
	c.live[live.ID()] = live
	c.owned = append(c.owned, live)
}

// read reads the children that exist: of the kinds that are
// composed now, and of those that were composed before and are to be pruned.
func (r *Reconciler[T]) read(ctx context.Context, p *pass[T]) (children, outcome.Outcome, error) {
	seen := children{live: map[plan.ID]*plan.Live{}, unshown: map[plan.ID]bool{}}
	kinds, err := r.kindsOf(ctx, p)
	if err != nil {
		return seen, outcome.Done(), err
	}
	writes := r.Memory.View()
	defer writes.End()
	for _, kind := range kinds {
		found, err := r.readKindOfEarlier(ctx, p, writes, kind)
		if err != nil {
			return seen, outcome.Done(), err
		}
		for _, live := range found {
			seen.add(live)
		}
	}
	r.recall(p, &seen, writes)
	for _, child := range p.composed.desired {
		id := plan.Of(child)
		live := writes.Newest(id, seen.live[id])
		if live == nil {
			delete(seen.live, id)
			continue
		}
		seen.live[id] = live
		if !live.Deleting { // or it would be seen once more after it was removed on purpose
			p.known.family.Saw(live)
		}
	}
	return seen, outcome.Done(), nil
}

// readKind reads the children of a kind.
func (r *Reconciler[T]) readKind(ctx context.Context, p *pass[T], writes *apply.View, kind schema.GroupVersionKind) ([]*plan.Live, error) {
	found, err := p.reads.Children(ctx, r.children(kind), p.object.now.GetUID())
	if err != nil {
		return nil, fmt.Errorf("read the children of kind %s: %w", kind.Kind, err)
	}
	var newest []*plan.Live
	for _, live := range found {
		if live = writes.Newest(live.ID(), live); live != nil { // or released by us, which the watch has not shown yet
			newest = append(newest, live)
		}
	}
	return newest, nil
}

// recall adds the children that this process made and that no watch has shown yet: where the object is deleted at once,
// or is changed, they are deleted, too.
func (r *Reconciler[T]) recall(p *pass[T], seen *children, writes *apply.View) {
	for _, id := range p.known.family.Children() {
		if seen.live[id] != nil {
			continue
		}
		live := writes.Newest(id, nil)
		if live == nil || live.Owner != string(p.object.now.GetUID()) {
			continue
		}
		seen.add(live)
		seen.unshown[id] = true
	}
}

// kindsOf are the kinds of which there may be children: those that are composed now, and
// those that were, as far as this process, the object or the operator's record tells.
func (r *Reconciler[T]) kindsOf(ctx context.Context, p *pass[T]) ([]schema.GroupVersionKind, error) {
	kinds := p.known.family.Kinds()
	for _, child := range p.composed.desired {
		if kind := child.GroupVersionKind(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	earlier, err := r.Record.Kinds(ctx, r.kind.GroupKind())
	if err != nil {
		return nil, err
	}
	for _, kind := range append(earlier, plan.ParseGroupKinds(p.object.now.GetAnnotations()[plan.KindsAnnotation])...) {
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

// readKindOfEarlier is readKind where a kind may only have been composed by an earlier version.
// This one may lack the permission to read it: that is logged, once, and stops nothing.
func (r *Reconciler[T]) readKindOfEarlier(ctx context.Context, p *pass[T], writes *apply.View, kind schema.GroupVersionKind) ([]*plan.Live, error) {
	if slices.ContainsFunc(p.composed.desired, func(c *unstructured.Unstructured) bool { return c.GroupVersionKind() == kind }) ||
		slices.Contains(p.known.family.Kinds(), kind) || p.object.deleting() {
		return r.readKind(ctx, p, writes, kind)
	}
	if _, unreadable := r.unreadable.Load(kind); unreadable {
		return nil, nil
	}
	found, err := r.readKind(ctx, p, writes, kind)
	if !apierrors.IsForbidden(err) {
		return found, err
	}
	if _, logged := r.unreadable.LoadOrStore(kind, true); !logged {
		log.FromContext(ctx).Error(err, "children of a kind that an earlier version composed are not looked for until the operator starts again", "kind", kind.Kind)
	}
	return nil, nil
}
