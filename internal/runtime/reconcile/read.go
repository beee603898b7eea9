package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/apply"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/freshness"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// children are the existing children, in the newest known state.
type children struct {
	// live are the composed children, and all that have the owner's label.
	live map[plan.ID]*plan.Live
	// owned are the children that have the owner's label.
	owned []*plan.Live
	// unshown are those of them that no watch has delivered yet.
	unshown map[plan.ID]bool
}

func (c *children) add(live *plan.Live) {
	c.live[live.ID()] = live
	c.owned = append(c.owned, live)
}

// read reads the existing children: of the kinds that are
// composed now, and of those that were composed before and have to be pruned.
func (r *Reconciler[T]) read(ctx context.Context, p *pass[T]) (children, outcome.Outcome, error) {
	seen, err := readerOf(r, p).all(ctx)
	return seen, outcome.Done(), err
}

// reader reads the children of one object.
type reader struct {
	API
	record  *Record
	applier *apply.Applier
	kinds   *kinds
	reads   author.Reads
	family  *apply.Family
	owner   client.Object
	self    schema.GroupKind
	desired []*unstructured.Unstructured
	// claimed are the kinds that only the owner's annotation names.
	claimed []schema.GroupVersionKind
	clock   clock.PassiveClock
}

func readerOf[T client.Object](r *Reconciler[T], p *pass[T]) *reader {
	return &reader{
		API: r.API, record: r.Record, applier: r.applier, kinds: &r.kinds, reads: p.reads, family: &p.known.family,
		owner: p.object.now, self: r.kind.GroupKind(), desired: p.composed.desired, clock: r.Clock,
	}
}

// all returns the existing children.
func (r *reader) all(ctx context.Context) (children, error) {
	seen := children{live: map[plan.ID]*plan.Live{}, unshown: map[plan.ID]bool{}}
	kinds, err := r.allKinds(ctx)
	if err != nil {
		return seen, err
	}
	writes := r.Writes.View()
	defer writes.End()
	for _, kind := range kinds {
		found, err := r.kindOfEarlier(ctx, writes, kind)
		if err != nil {
			return seen, err
		}
		for _, live := range found {
			seen.add(live)
		}
	}
	r.recall(&seen, writes)
	for _, child := range r.desired {
		id := plan.Of(child)
		live := writes.Newest(id, seen.live[id])
		if live == nil {
			delete(seen.live, id)
			continue
		}
		seen.live[id] = live
		if !live.Deleting { // otherwise it would be recorded again after it was removed on purpose
			r.family.Saw(live)
		}
	}
	return seen, nil
}

// kind reads the children of a kind.
func (r *reader) kind(ctx context.Context, writes *freshness.ChildView, kind schema.GroupVersionKind) ([]*plan.Live, error) {
	found, err := r.labeled(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("read the children of kind %s: %w", kind.Kind, err)
	}
	var newest []*plan.Live
	for _, live := range found {
		if live = writes.Newest(live.ID(), live); live != nil { // or released by us, which the watch has not delivered yet
			newest = append(newest, live)
		}
	}
	return newest, nil
}

// labeled returns the children of a kind that watches have delivered. Namespaces that turn out to have children are watched
// before they are read again.
func (r *reader) labeled(ctx context.Context, kind schema.GroupVersionKind) ([]*plan.Live, error) {
	known := r.elsewhere()
	for {
		found, err := r.reads.Children(ctx, r.kinds.children(kind), r.owner.GetUID(), known...)
		if err != nil {
			return nil, err
		}
		own, all := r.own(found, known)
		if len(all) == len(known) {
			return own, nil
		}
		known = all
	}
}

// recall adds the children that this process created and that no watch has delivered yet: if the object is deleted or
// changed right after that, they are deleted, too.
func (r *reader) recall(seen *children, writes *freshness.ChildView) {
	for _, id := range r.family.Children() {
		if seen.live[id] != nil {
			continue
		}
		live := writes.Newest(id, nil)
		if live == nil || live.Owner != string(r.owner.GetUID()) {
			continue
		}
		seen.add(live)
		seen.unshown[id] = true
	}
}

// allKinds returns the kinds that may have children: those that are composed now, and
// those that were composed before, as far as this process, the object or the operator's record names them.
func (r *reader) allKinds(ctx context.Context) ([]schema.GroupVersionKind, error) {
	kinds := r.family.Kinds()
	for _, child := range r.desired {
		if kind := child.GroupVersionKind(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	earlier, err := r.record.Kinds(ctx, r.self)
	if err != nil {
		return nil, err
	}
	for _, kind := range earlier {
		if contains(kinds, kind) {
			continue
		}
		mapping, err := r.Direct.RESTMapper().RESTMapping(kind)
		if meta.IsNoMatchError(err) {
			continue // objects are deleted with their kind
		}
		if err != nil {
			return nil, fmt.Errorf("find the kind %s: %w", kind, err)
		}
		kinds = append(kinds, mapping.GroupVersionKind)
	}
	for _, kind := range claimedKinds(r.owner.GetAnnotations()) {
		if contains(kinds, kind) {
			continue
		}
		if found, ok := r.record.claimed.find(r.Direct.RESTMapper(), kind, r.clock.Now()); ok {
			kinds, r.claimed = append(kinds, found), append(r.claimed, found)
		}
	}
	return kinds, nil
}

func contains(kinds []schema.GroupVersionKind, kind schema.GroupKind) bool {
	return slices.ContainsFunc(kinds, func(k schema.GroupVersionKind) bool { return k.GroupKind() == kind })
}

// kindOfEarlier is kind for a kind that may only have been composed earlier. If it was removed from the cluster since then, its
// objects were deleted with it.
func (r *reader) kindOfEarlier(ctx context.Context, writes *freshness.ChildView, kind schema.GroupVersionKind) ([]*plan.Live, error) {
	if slices.ContainsFunc(r.desired, func(c *unstructured.Unstructured) bool { return c.GroupVersionKind() == kind }) {
		found, err := r.kind(ctx, writes, kind)
		if err == nil {
			r.kinds.removed.Delete(kind)
		}
		return found, err
	}
	if now, ok := r.kinds.removed.Load(kind); ok && r.clock.Since(now.(removed).at) < timing.removedFor && r.owner.GetDeletionTimestamp() == nil {
		return r.replaced(ctx, writes, now.(removed).served)
	}
	found, err := r.kindIfReadable(ctx, writes, kind)
	if !is[*resourceclient.MissingKindError](err) || r.Served == nil {
		return found, err
	}
	served, problem := r.Served(ctx, kind.GroupKind())
	if problem != nil || slices.Contains(served, kind) { // it was installed again in the meantime
		return nil, cmp.Or(problem, err)
	}
	r.kinds.removed.Store(kind, removed{served, r.clock.Now()})
	return r.replaced(ctx, writes, served)
}

// replaced returns the children of a kind in a version of those that are served.
func (r *reader) replaced(ctx context.Context, writes *freshness.ChildView, served []schema.GroupVersionKind) ([]*plan.Live, error) {
	if len(served) == 0 {
		return nil, nil
	}
	return r.kindIfReadable(ctx, writes, served[0])
}

// kindIfReadable is kind for a kind that this version of the operator may lack the permission to read: that is logged, once. It stops
// nothing, except a deletion if the operator's own record names the kind.
func (r *reader) kindIfReadable(ctx context.Context, writes *freshness.ChildView, kind schema.GroupVersionKind) ([]*plan.Live, error) {
	if slices.Contains(r.family.Kinds(), kind) || r.owner.GetDeletionTimestamp() != nil && !slices.Contains(r.claimed, kind) {
		return r.kind(ctx, writes, kind)
	}
	if _, unreadable := r.kinds.unreadable.Load(kind); unreadable {
		return nil, nil
	}
	found, err := r.kind(ctx, writes, kind)
	if !apierrors.IsForbidden(err) {
		return found, err
	}
	if _, logged := r.kinds.unreadable.LoadOrStore(kind, true); !logged {
		log.FromContext(ctx).Error(err, "children of a kind that an earlier version declared are not read until the operator restarts", "kind", kind.Kind)
	}
	return nil, nil
}

// whole returns a child as a whole, or nil if it does not exist. If no whole objects of its kind were read until now, they
// are watched as a whole from now on.
func (r *reader) whole(ctx context.Context, live *plan.Live) (runtime.Object, error) {
	if live == nil || live.Object != nil {
		return objectOfLive(live), nil
	}
	r.kinds.readWhole(live.Kind)
	writes := r.Writes.View()
	defer writes.End()
	found, err := r.kind(ctx, writes, live.Kind)
	if err != nil {
		return nil, err
	}
	for _, whole := range found {
		if whole.ID() == live.ID() && whole.Object != nil {
			return whole.Object, nil
		}
	}
	// This operator wrote it, and the watch has not delivered it yet.
	whole, err := r.applier.Read(ctx, live)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read %s: %w", live.ID(), err)
	}
	return objectOfLive(whole), nil
}

func objectOfLive(live *plan.Live) runtime.Object {
	if live == nil {
		return nil
	}
	return live.Object
}

// kinds is what a reconciler knows of the kinds of children. It is safe for concurrent use.
type kinds struct {
	// whole are the kinds of which more is read than plans need.
	whole sync.Map
	// unreadable are the kinds that an earlier version composed and this one may not read.
	unreadable sync.Map
	// removed has a removed for each kind and version that the cluster did not serve any more.
	removed sync.Map
}

// removed are the versions of a kind that were served at a time, instead of another one.
type removed struct {
	served []schema.GroupVersionKind
	at     time.Time
}

// children returns how children of a kind are kept.
func (k *kinds) children(kind schema.GroupVersionKind) resourceclient.Children {
	_, whole := k.whole.Load(kind)
	return resourceclient.Children{Kind: kind, Whole: whole}
}

// readWhole makes whole objects of a kind be read from now on.
func (k *kinds) readWhole(kind schema.GroupVersionKind) { k.whole.Store(kind, true) }
