package reconcile

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/author"
)

// observe lets the author fill the object's status, unless the object is paused or that of a newer operator.
func (r *Reconciler[T]) observe(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	observer, ok := any(r.Composer).(author.Observer[T])
	if !ok || paused(p.object.now) || p.version.newer {
		return outcome.Done(), nil
	}
	child := func(ctx context.Context, object client.Object) (runtime.Object, error) {
		return r.childOf(ctx, p, object)
	}
	return outcome.Done(), observer.Observe(ctx, p.object.now, author.NewObserved(p.object.now, p.reads, p.outside.known, child))
}

// childOf returns a child as a whole, or nil.
func (r *Reconciler[T]) childOf(ctx context.Context, p *pass[T], object client.Object) (runtime.Object, error) {
	id, err := r.applier.Identify(p.object.now, object)
	if err != nil {
		return nil, err
	}
	live := p.live(id)
	if live == nil {
		return nil, nil
	}
	if live.Object == nil {
		if live, err = r.readWhole(ctx, p, live); err != nil || live == nil {
			return nil, err
		}
	}
	return live.Object, nil
}

// readWhole reads a child of a kind of which no whole objects were read until now. From now
// on they are watched as a whole.
func (r *Reconciler[T]) readWhole(ctx context.Context, p *pass[T], live *plan.Live) (*plan.Live, error) {
	r.whole.Store(live.Kind, true)
	writes := r.Memory.View()
	defer writes.End()
	found, err := r.readKind(ctx, p, writes, live.Kind)
	if err != nil {
		return nil, err
	}
	for _, whole := range found {
		if whole.ID() == live.ID() && whole.Object != nil {
			return whole, nil
		}
	}
	// This operator wrote it, and the watch has not shown it yet.
	whole, err := r.applier.Read(ctx, live)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read %s: %w", live.ID(), err)
	}
	return whole, nil
}
